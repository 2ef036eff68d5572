// From Python's frames and code objects to ours. Under the GIL.
#pragma once

#include "hook/python/compat.h"
#include "hook/python/owner.h"
#include "hook/python/stack.h"

namespace device_audit::python {

// A frame whose source line is still to be read, which needs no GIL.
Frame describe(const Api& python, Object* code, int line);

// Of a code object.
Owner owner_of_code(const Api& python, Object* code);

// Reads the source lines. Without the GIL.
void read_code(std::vector<Frame>& frames);

}  // namespace device_audit::python
