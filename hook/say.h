// What the user is told: whole lines to stderr or to the log file.
#pragma once

#include <string_view>

#include "hook/bridge.h"

namespace device_audit::core {

// Before main: a descriptor 2 that is closed then and open later is a file of the program's, not its stderr.
void remember_stderr();

// Opens the log file, if one is set.
void open_log();

// `text` may be several lines; none is cut off.
void say_line(device_audit_level level, std::string_view text);

}  // namespace device_audit::core
