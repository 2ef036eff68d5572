// The report at the end of the process that the run's directory belongs to.
#pragma once

namespace device_audit::core {

// Runs `device-audit report DIRECTORY --format FORMAT` and waits for it, but not for ever. Nothing where FORMAT is
// empty.
void render_report();

}  // namespace device_audit::core
