// The right to ask Python on this thread, for a scope: the one gate through which every question goes.
#pragma once

#include <atomic>
#include <optional>

#include "hook/python/compat.h"

namespace device_audit::python {

// While one lives and is true: the GIL is held, no error is pending, the collector is off, and Python does not
// finalise. All of that, and errno, is as before afterwards. It is false on a thread that has no Python thread state:
// none is ever made, since an extension may keep the GIL while threads of its own run operators.
class Session {
 public:
  Session();
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  explicit operator bool() const { return state_.has_value(); }
  const Api& python() const { return *python_; }
  // The error that was pending and will be again, null: none. Before Python 3.12 it may be the text of one.
  Object* pending_error() const { return state_->error.value(); }

 private:
  // Counts the threads that are inside, so that the gate closes behind the last one.
  struct Inside {
    Inside();
    ~Inside();
  };
  struct Gil {
    explicit Gil(const Api& python) : python(python), state(python.PyGILState_Ensure()) {}
    ~Gil() { python.PyGILState_Release(state); }
    const Api& python;
    const int state;
  };
  struct State {
    explicit State(const Api& python) : gil(python), error(python), collection(python) {}
    Gil gil;
    PendingError error;
    NoCollection collection;
  };

  const int errno_;
  Inside inside_;
  const Api* python_ = nullptr;
  std::optional<State> state_;
};

// The Python that a Session would ask now on this thread, null: none. Takes nothing, changes nothing.
const Api* askable();

// Has `function` called once, before Python finalises, on the finalising thread without the GIL; then the gate is
// closed for good. Imports `atexit`, so it is called where an import is no surprise; without a Python, the first
// Session that finds `atexit` imported does the rest.
void before_the_gate_closes(void (*function)());

// In a forked child, on its only thread, before it asks.
void renew_in_child();

}  // namespace device_audit::python
