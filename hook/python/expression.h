// The expressions by which a user reaches a tensor: `batch['labels'][0]`, `model.layers[3].weight`.
#pragma once

#include <string>

#include "hook/python/walk.h"

namespace device_audit::python {

// What is written after an object for a member of it: ".weight", "[3]", "['labels']"; "[...]" for a key that is neither
// an integer nor a short string of printable characters. Under the GIL.
std::string step_to(const Api& python, const Member& member);

// Whether `expression` stands in a source line as a whole, with quotes of either kind.
bool stands_in(std::string line, std::string expression);

}  // namespace device_audit::python
