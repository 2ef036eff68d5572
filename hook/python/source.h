// Lines of source files, as they are on disk.
#pragma once

#include <string>

namespace device_audit::python {

// Line `number` (from 1) of `file`, without its indent and line break, at most 1000 bytes of it. "" where there is no
// such line or no such regular file: `<stdin>`, a notebook's cell, a module in a zip file, a pipe (which reading would
// empty).
std::string source_line(const std::string& file, int number);

}  // namespace device_audit::python
