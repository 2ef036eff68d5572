// __cxa_throw.
#pragma once

namespace device_audit::core {

// Before main: what stands behind us then is in the global scope, and is a C++ runtime or another preloaded hook.
void note_throw_at_start();

}  // namespace device_audit::core
