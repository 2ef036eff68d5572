// What a run came to, in one line.
#pragma once

#include <string>

#include "report/json.h"

namespace device_audit::report {

// "1 mismatch at train.py:42 (aten::nll_loss_forward, cuda:0 and cpu)", or that there was none, or why nothing is
// known. `report` is shaped by the schema.
std::string verdict_line(const Report& report);

}  // namespace device_audit::report
