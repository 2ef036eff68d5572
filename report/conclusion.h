// The end of a run, as the user sees it.
#pragma once

#include <string>

namespace device_audit::report {

// Renders what was recorded in `directory` and says on stderr what it came to and where to read on; `quiet`: renders
// only. `formats_named`: the user asked for them, so one that cannot be rendered is worth a line. Returns 0: the
// program's own exit code stands.
int conclude(const std::string& directory, const std::string& formats, bool formats_named, bool quiet);

}  // namespace device_audit::report
