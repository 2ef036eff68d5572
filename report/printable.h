// Text that can be shown on a terminal.
#pragma once

#include <string>
#include <string_view>

namespace device_audit::report {

// `text` with control characters, line breaks and tabs excepted, written as \xNN, so that names from a recording
// cannot steer the terminal.
std::string printable(std::string_view text);

// Writes "device-audit: TEXT" and a line break to stderr, whole and in one write.
void say(std::string_view text);

}  // namespace device_audit::report
