// The end of the process: the `end` record, and the report.
#pragma once

namespace device_audit::core {

// Registers for the end. After what the libtorch has registered, so that it comes before: its objects are still alive
// (P16).
void watch_ending();

}  // namespace device_audit::core
