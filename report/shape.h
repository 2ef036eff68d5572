// A report that keeps its schema, whatever the journals held.
#pragma once

#include "report/json.h"

namespace device_audit::report {

// report/schema.json, as parsed.
const Report& schema();

// `value` in the form that `part` of `root` describes: the members that are described, in that order and of their
// types. What is missing or of another type becomes the `default` of its description, else null where that is
// accepted, else the empty value of its type; list elements of another type are left out.
Report shaped(const Json& value, const Report& part, const Report& root);

}  // namespace device_audit::report
