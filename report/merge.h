// From the journals of a run's processes to the one report of the run.
#pragma once

#include "report/journal.h"
#include "report/json.h"

namespace device_audit::report {

// The report's data, not yet shaped by the schema. Native frames are as recorded: {library, build_id, offset}.
//
// One finding is what has the same verdict, operator, site, names of operands and devices. In processes that each work
// on a device of their own the numbers of the devices differ: there only their order counts.
Json merge(const Recording& recording);

}  // namespace device_audit::report
