// What on a native stack is the user's own.
#pragma once

#include <string_view>

namespace device_audit::report {

// False for PyTorch, CUDA, Python, the C and C++ runtimes and device-audit, by the name of the file.
bool is_user_library(std::string_view path);

// False for headers of those: their functions are compiled into the user's program.
bool is_user_source(std::string_view file);

}  // namespace device_audit::report
