// The RecordFunction callbacks: every dispatched operator, before and after it runs.
#pragma once

#include "hook/torch/thread.h"

namespace device_audit::hook {

// Observes every operator of every thread from now on.
void observe();

// Called on the throwing thread, before the error leaves.
void error_thrown(void* object, const void* type);

}  // namespace device_audit::hook
