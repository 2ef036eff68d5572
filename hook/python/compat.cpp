#include "hook/python/compat.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "hook/elf.h"
#include "hook/object_list.h"

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
  hook::ObjectList::walk([&](const dl_phdr_info& info) {
    count = info.dlpi_adds;
    return false;
  });
  return count;
}

// The mapped files that have the C API, "" for the program itself; collected first and opened afterwards (pitfall P4).
// Without one the loader is not asked at all: it may be in the middle of a dlopen whose constructors wait for this
// thread.
std::vector<std::string> mapped_pythons() {
  std::vector<std::string> names;
  hook::ObjectList::walk([&](const dl_phdr_info& info) {
    if (core::exported_function(core::loaded_object(info), "Py_GetVersion")) names.emplace_back(info.dlpi_name);
    return true;
  });
  return names;
}

// In the global scope, as in the `python` program; else in a libpython that a program opened for itself alone
// (RTLD_LOCAL).
std::unique_ptr<const Api> search() {
  const std::vector<std::string> names = mapped_pythons();
  if (names.empty()) return nullptr;
  if (auto python = load(RTLD_DEFAULT)) return python;
  for (const std::string& name : names) {
    if (name.empty()) continue;
    void* library = dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
    if (!library) continue;
    if (auto python = load(library)) return python;  // and stays open: its functions are kept
    dlclose(library);
  }
  return nullptr;
}

// Where a frame has the slots of its variables: byte offsets. `inner`: of the pointer to the part that has them, 0: the
// frame itself.
struct FrameLayout {
  int minor;
  long size;  // of the frame object without its variables, as its type has it
  std::ptrdiff_t inner, code, globals, slots;
};
constexpr FrameLayout kFrameLayouts[] = {
    {.minor = 9, .size = 368, .inner = 0, .code = 32, .globals = 48, .slots = 360},
    {.minor = 10, .size = 360, .inner = 0, .code = 32, .globals = 48, .slots = 352},
    {.minor = 11, .size = 120, .inner = 24, .code = 32, .globals = 8, .slots = 72},
};

void* pointer_at(const void* address, std::ptrdiff_t offset) {
  void* pointer;
  std::memcpy(&pointer, static_cast<const char*>(address) + offset, sizeof pointer);
  return pointer;
}

// Null where this Python's frames are not as the table has them: of another size, or this one's code and globals are
// not where they should be.
const void* slots_in(const Api& python, Object* frame, Object* code) {
  static constinit Attribute size_name{"__basicsize__"};
  const auto* layout = std::ranges::find(kFrameLayouts, python.minor, &FrameLayout::minor);
  if (layout == std::end(kFrameLayouts)) return nullptr;
  const Reference size = size_name.of(python, python.PyFrame_Type);
  if (!size || python.PyLong_AsLong(size.get()) != layout->size) return nullptr;
  const void* at = layout->inner ? pointer_at(frame, layout->inner) : frame;
  const Reference globals = globals_of(python, frame);
  const bool agrees = pointer_at(at, layout->code) == code && pointer_at(at, layout->globals) == globals.get();
  return agrees ? static_cast<const char*>(at) + layout->slots : nullptr;
}

struct Slot {
  Object* name;
  bool cell;  // the value is in a cell, which other functions share
};

// In the order in which a frame has them.
std::vector<Slot> slots_of(const Api& python, Object* code) {
  static constinit Attribute own_names{"co_varnames"};
  static constinit Attribute cell_names{"co_cellvars"};
  static constinit Attribute outer_names{"co_freevars"};
  const auto names_of = [&](Attribute& attribute) {
    std::vector<Object*> names;
    const Reference tuple = attribute.of(python, code);
    const std::ptrdiff_t count = tuple ? python.PyTuple_Size(tuple.get()) : 0;
    for (std::ptrdiff_t i = 0; i < count; ++i) names.push_back(python.PyTuple_GetItem(tuple.get(), i));
    return names;
  };
  const std::vector<Object*> own = names_of(own_names);
  const std::vector<Object*> cells = names_of(cell_names);
  const auto is_among = [](const std::vector<Object*>& names, Object* name) {
    return std::ranges::find(names, name) != names.end();
  };
  // An argument that other functions share is in both lists. Before 3.11 it has two slots and is in the second.
  const bool one_slot = python.minor >= 11;
  std::vector<Slot> slots;
  for (Object* name : own) slots.push_back({name, one_slot && is_among(cells, name)});
  for (Object* name : cells) {
    if (!one_slot || !is_among(own, name)) slots.push_back({name, true});
  }
  for (Object* name : names_of(outer_names)) slots.push_back({name, true});
  return slots;
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

Object* member_of_module(const Api& python, const char* module, const char* name) {
  Object* modules = python.PySys_GetObject("modules");
  Object* object = modules ? python.PyDict_GetItemString(modules, module) : nullptr;
  Object* members = object ? python.PyModule_GetDict(object) : nullptr;
  Object* member = members ? python.PyDict_GetItemString(members, name) : nullptr;
  python.PyErr_Clear();
  return member;
}

bool has_gil(const Api& python) {
  return std::strstr(python.Py_GetVersion(), "free-threading") == nullptr;
}

std::vector<Variable> variables_of(const Api& python, Object* frame, Object* code) {
  std::vector<Variable> variables;
  const std::vector<Slot> slots = slots_of(python, code);
  if (slots.empty()) return variables;
  const bool by_name = python.PyFrame_GetVar != nullptr;
  const void* values = by_name ? nullptr : slots_in(python, frame, code);
  if (!by_name && !values) return variables;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    Object* name = slots[i].name;
    Reference value;
    if (by_name) {
      value = Reference(python, python.PyFrame_GetVar(frame, name));
      if (!value) python.PyErr_Clear();
    } else {
      const auto offset = static_cast<std::ptrdiff_t>(i * sizeof(void*));
      value = Reference::of(python, static_cast<Object*>(pointer_at(values, offset)));
      if (slots[i].cell && value && Reference(python, python.PyObject_Type(value.get())).get() == python.PyCell_Type) {
        value = Reference(python, python.PyCell_Get(value.get()));
      }
    }
    if (value) variables.push_back({name, value.get()});
  }
  return variables;
}

Reference namespace_of(const Api& python, Object* frame, Object* code) {
  static constinit Attribute flags_name{"co_flags"};
  static constinit Attribute locals_name{"f_locals"};
  constexpr long kOptimized = 0x0001;
  const Reference flags = flags_name.of(python, code);
  if (!flags || (python.PyLong_AsLong(flags.get()) & kOptimized) != 0 || !slots_of(python, code).empty()) return {};
  Reference locals =
      python.PyFrame_GetLocals ? Reference(python, python.PyFrame_GetLocals(frame)) : locals_name.of(python, frame);
  if (!locals) python.PyErr_Clear();
  const Reference type(python, locals ? python.PyObject_Type(locals.get()) : nullptr);
  return type && python.PyType_IsSubtype(type.get(), python.PyDict_Type) ? std::move(locals) : Reference();
}

Reference globals_of(const Api& python, Object* frame) {
  static constinit Attribute globals_name{"f_globals"};
  return python.PyFrame_GetGlobals ? Reference(python, python.PyFrame_GetGlobals(frame))
                                   : globals_name.of(python, frame);
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
