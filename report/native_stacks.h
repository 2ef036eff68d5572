// From recorded addresses to functions and lines, and from those to the site of a finding in C++.
#pragma once

#include "report/json.h"
#include "report/symbols.h"

namespace device_audit::report {

// Resolves the native stack of each finding of a merged report, gives findings that have no site the user's innermost
// line, and says in `coverage` what could not be resolved.
void resolve_native_stacks(Json& report, Symbols& symbols);

}  // namespace device_audit::report
