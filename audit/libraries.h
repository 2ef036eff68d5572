// Whose a native library is, told by its file name.
#pragma once

#include <string_view>

namespace device_audit {

enum class LibraryOwner { user, torch, python, runtime, device_audit };

// `path`: as the loader names it. The program's own executable is the user's, unless it is a Python.
LibraryOwner owner_of_library(std::string_view path);

}  // namespace device_audit
