#include "hook/python/compat.h"

#include <dlfcn.h>
#include <link.h>

#include <charconv>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

namespace device_audit::python {
namespace {

constinit std::atomic<const Api*> found{nullptr};

constexpr int kOldest = 9;  // Python 3.9: the first with PyThreadState_GetFrame

int minor_of(std::string_view version) {
  int minor = 0;
  if (version.starts_with("3.")) std::from_chars(version.data() + 2, version.data() + version.size(), minor);
  return minor;
}

void* find(void* library, const char* name, const char* older) {
  void* found = dlsym(library, name);
  return found || !*older ? found : dlsym(library, older);
}

// The C API as seen from one library (or RTLD_DEFAULT), null where it is not there or not whole.
std::unique_ptr<const Api> load(void* library) {
  auto get_version = reinterpret_cast<const char* (*)()>(dlsym(library, "Py_GetVersion"));
  if (!get_version) return nullptr;
  auto python = std::make_unique<Api>();
  python->minor = minor_of(get_version());
  if (python->minor < kOldest) return nullptr;
#define DEVICE_AUDIT_PYTHON_FIND(since, type, name, older)                                  \
  python->name = reinterpret_cast<std::type_identity_t<type>>(find(library, #name, older)); \
  if (!python->name && since <= python->minor) return nullptr;
  DEVICE_AUDIT_PYTHON_API(DEVICE_AUDIT_PYTHON_FIND)
#undef DEVICE_AUDIT_PYTHON_FIND
  return python;
}

// How many libraries were ever mapped: changes when a Python may have come.
unsigned long long libraries_mapped() {
  unsigned long long count = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* out) {
        *static_cast<unsigned long long*>(out) = info->dlpi_adds;
        return 1;
      },
      &count);
  return count;
}

// Collected first and opened afterwards: nothing of ours is held while the loader's lock is (pitfall P4).
std::vector<std::string> mapped_libraries() {
  std::vector<std::string> names;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* out) {
        if (*info->dlpi_name) static_cast<std::vector<std::string>*>(out)->emplace_back(info->dlpi_name);
        return 0;
      },
      &names);
  return names;
}

// In the global scope, as in the `python` program; else in a libpython that a program opened for itself alone
// (RTLD_LOCAL).
std::unique_ptr<const Api> search() {
  if (auto python = load(RTLD_DEFAULT)) return python;
  for (const std::string& name : mapped_libraries()) {
    void* library = dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
    if (!library) continue;
    if (auto python = load(library)) return python;  // and stays open: its functions are kept
    dlclose(library);
  }
  return nullptr;
}

}  // namespace

const Api* known_api() {
  return found.load(std::memory_order_acquire);
}

const Api* api() {
  static constinit std::atomic<unsigned long long> searched_at{0};
  if (const Api* python = known_api()) return python;
  const unsigned long long now = libraries_mapped();
  if (searched_at.load(std::memory_order_relaxed) == now) return nullptr;
  std::unique_ptr<const Api> python = search();
  searched_at.store(now, std::memory_order_relaxed);
  if (!python) return nullptr;
  const Api* expected = nullptr;
  if (found.compare_exchange_strong(expected, python.get(), std::memory_order_acq_rel)) return python.release();
  return expected;
}

bool may_ask(const Api& python) {
  // PyGILState_Ensure ends or hangs a thread that asks while Python finalises (pitfall P36).
  if (!python.Py_IsInitialized() || python.Py_IsFinalizing()) return false;
  ThreadState* own = python.PyGILState_GetThisThreadState();
  if (!own || python.PyThreadState_GetInterpreter(own) != python.PyInterpreterState_Main()) return false;
  // Ensure knows one state per thread. Where the thread runs a subinterpreter and holds the GIL, it would wait for
  // itself.
  if (python.minor >= 12) {
    ThreadState* attached = python.PyThreadState_GetUnchecked();  // this thread's
    return !attached || attached == own;
  }
  return python.PyInterpreterState_Head() ==
         python.PyInterpreterState_Main();  // attached is any thread's: no subinterpreter at all
}

Reference Attribute::of(const Api& python, Object* object) {
  Object* string = string_.load(std::memory_order_acquire);
  if (!string) {
    string = python.PyUnicode_InternFromString(name_);
    if (string) string_.store(string, std::memory_order_release);
  }
  Reference value(python, string ? python.PyObject_GetAttr(object, string) : nullptr);
  if (!value) python.PyErr_Clear();
  return value;
}

PendingError::PendingError(const Api& python) : python_(python) {
  if (python.PyErr_GetRaisedException) {
    value_ = python.PyErr_GetRaisedException();
  } else {
    python.PyErr_Fetch(&type_, &value_, &traceback_);
  }
}

PendingError::~PendingError() {
  if (python_.PyErr_SetRaisedException) {
    if (value_) {
      python_.PyErr_SetRaisedException(value_);
    } else {
      python_.PyErr_Clear();
    }
  } else {
    python_.PyErr_Restore(type_, value_, traceback_);
  }
}

NoCollection::NoCollection(const Api& python) : python_(python) {
  if (python.PyGC_Disable) was_enabled_ = python.PyGC_Disable() != 0;
}

NoCollection::~NoCollection() {
  if (was_enabled_) python_.PyGC_Enable();
}

int instruction_of(const Api& python, Object* frame) {
  return python.PyFrame_GetLasti ? python.PyFrame_GetLasti(frame) : python.PyFrame_GetLineNumber(frame);
}

Reference function_of(const Api& python, Object* code) {
  static constinit Attribute qualified{"co_qualname"};  // 3.11
  static constinit Attribute plain{"co_name"};
  return (python.minor >= 11 ? qualified : plain).of(python, code);
}

Reference last_exception(const Api& python) {
  Object* error = python.minor >= 12 ? python.PySys_GetObject("last_exc") : nullptr;
  if (!error) error = python.PySys_GetObject("last_value");  // before 3.12, and where only this one was set
  if (!error) return {};
  Reference type(python, python.PyObject_Type(error));
  if (!python.PyType_IsSubtype(type.get(), *python.PyExc_BaseException)) return {};
  return Reference::of(python, error);
}

}  // namespace device_audit::python
