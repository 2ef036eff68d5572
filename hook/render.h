// The report at the end of the process that the run's directory belongs to.
#pragma once

#include <string_view>

namespace device_audit::core {

// Runs `device-audit report DIRECTORY --format FORMAT` and waits for it, but not for ever. Nothing where FORMAT is
// empty.
void render_report();

// Says how the report can be had later, where FORMAT asks for one. Calls nothing but the kernel.
void say_not_rendered(std::string_view why);

}  // namespace device_audit::core
