// Python strings as bytes.
#pragma once

#include <optional>
#include <string>

#include "hook/python/compat.h"

namespace device_audit::python {

// In UTF-8, with the bytes of an undecodable file name as they were (so that the file can be opened). "" for what is no
// string. Under the GIL; leaves no error.
std::string text_of(const Api& python, Object* string);

// Whether `object` is of exactly this type: then its C code alone runs when it is asked.
bool is_exactly(const Api& python, Object* object, Object* type);

}  // namespace device_audit::python
