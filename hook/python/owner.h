// Whose code a source file is: the user's, torch's, or Python's own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hook/python/compat.h"

namespace device_audit::python {

enum class Owner : unsigned char { user, torch, python };

struct Folders {
  std::vector<std::string> torch;  // torch's package folders, without a slash at the end
  std::string python;              // of the standard library
};

// `file` as a code object names it. A library of others (site-packages) is the user's: its lines are shown; so is what
// has no file (`<stdin>`, `<string>`, a notebook's cell).
Owner owner_of(std::string_view file, const Folders& folders);

// The same for the file name that code objects hold, remembered: no string is built for one that was asked before.
// Under the GIL. At most 1024 names are remembered; they are kept alive, so that another string cannot take the place
// of one.
Owner owner_of(const Api& python, Object* file);

}  // namespace device_audit::python
