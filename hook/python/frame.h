// Python's frames and code objects, read. Under the GIL.
#pragma once

#include "hook/python/compat.h"
#include "hook/python/owner.h"
#include "hook/python/stack.h"

namespace device_audit::python {

// Calls `visit(frame, code)` for this thread's frames, innermost first, until it returns false.
template <class Visit>
void visit_frames(const Api& python, Visit visit) {
  Reference frame(python, python.PyThreadState_GetFrame(python.PyGILState_GetThisThreadState()));
  while (frame) {
    const Reference code(python, python.PyFrame_GetCode(frame.get()));
    if (!visit(frame.get(), code.get())) return;
    frame = Reference(python, python.PyFrame_GetBack(frame.get()));
  }
}

// What the names in a frame's code stand for: its variables, then those of its module that it mentions.
std::vector<Variable> names_in_sight(const Api& python, Object* frame, Object* code);

// A frame whose source line is still to be read, which needs no GIL.
Frame describe(const Api& python, Object* code, int line);

// Of the file and line that a frame is at. Builds no string.
std::size_t hash_of_line(const Api& python, Object* frame, Object* code);

// Of a code object.
Owner owner_of_code(const Api& python, Object* code);

// Reads the source lines. Without the GIL.
void read_code(std::vector<Frame>& frames);

}  // namespace device_audit::python
