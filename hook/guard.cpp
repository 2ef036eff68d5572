#include "hook/guard.h"

namespace device_audit::core {

constinit thread_local int guard = 0;

}  // namespace device_audit::core
