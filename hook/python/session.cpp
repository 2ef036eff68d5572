#include "hook/python/session.h"

#include <cerrno>
#include <chrono>
#include <thread>

namespace device_audit::python {
namespace {

using namespace std::chrono_literals;

// A thread inside needs the GIL for microseconds. One that does not get it within this has met an extension that keeps
// it, and would be ended by Python in any case.
constexpr auto kPatience = 500ms;

constinit std::atomic<bool> open{true};
constinit std::atomic<bool> registered{false};
constinit std::atomic<int> inside{0};
constinit std::atomic<void (*)()> last_question{nullptr};

// A thread that waits for the GIL when finalisation begins never comes back (pitfall P36): let those finish first.
void close_behind_the_last() {
  open = false;  // sequentially consistent, as is the count: a thread either sees the gate closed or is seen inside
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (inside != 0 && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(50us);
}

// Without the GIL, as threads inside need it, and the function may take locks that are held while others wait for it.
Object* at_python_exit(Object* /*module*/, Object* /*none*/) {
  const Api& python = *api();
  ThreadState* state = python.PyEval_SaveThread();
  if (auto function = last_question.exchange(nullptr)) function();
  close_behind_the_last();
  python.PyEval_RestoreThread(state);
  return python.Py_BuildValue("");  // None
}

// Only with the `atexit` that is imported already: an import could run a finder of the user's.
void register_with_atexit(const Api& python) {
  if (registered.load(std::memory_order_relaxed)) return;
  Object* modules = python.PySys_GetObject("modules");
  Object* module = modules ? python.PyDict_GetItemString(modules, "atexit") : nullptr;
  if (!module || registered.exchange(true)) return;
  static Method method{"device_audit_close", &at_python_exit, kNoArguments, nullptr};
  static constinit Attribute register_name{"register"};
  Reference add = register_name.of(python, module);
  Reference function(python, add ? python.PyCFunction_NewEx(&method, nullptr, nullptr) : nullptr);
  const Reference done(python,
                       function ? python.PyObject_CallFunctionObjArgs(add.get(), function.get(), nullptr) : nullptr);
  python.PyErr_Clear();  // then Py_IsFinalizing alone keeps the gate
}

}  // namespace

Session::Inside::Inside() {
  ++inside;
}
Session::Inside::~Inside() {
  --inside;
}

Session::Session() : errno_(errno) {
  python_ = askable();
  if (!python_) return;
  state_.emplace(*python_);
  register_with_atexit(*python_);
}

Session::~Session() {
  state_.reset();
  errno = errno_;
}

const Api* askable() {
  if (!open) return nullptr;
  const Api* python = api();
  return python && may_ask(*python) ? python : nullptr;
}

void before_the_gate_closes(void (*function)()) {
  last_question = function;
  Session session;
  if (!session || registered) return;
  const Api& python = session.python();
  const Reference module(python, python.PyImport_ImportModuleLevel("atexit", nullptr, nullptr, nullptr, 0));
  python.PyErr_Clear();
  register_with_atexit(python);
}

void renew_in_child() {
  inside = 0;
  // Python's own fork holds the GIL over it. After another the GIL may belong to a thread that is not in this process.
  const Api* python = known_api();
  if (python && python->Py_IsInitialized() && !python->PyGILState_Check()) open = false;
}

}  // namespace device_audit::python
