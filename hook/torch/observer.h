// The RecordFunction callbacks: every dispatched operator, before and after it runs.
#pragma once

#include "hook/torch/thread.h"

namespace device_audit::hook {

// Observes every operator of every thread from now on.
void observe();

// Called on the throwing thread, before the error leaves.
void error_thrown(void* object, const void* type);

// Called on a thread that is about to abort. An error that nobody catches ends a C++ program where it was thrown: the
// stack is not unwound, and the operators that it would have left never end.
void program_aborts();

}  // namespace device_audit::hook
