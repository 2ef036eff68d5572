// The report as JSON: report/schema.json describes it.
#include "report/json.h"

#include "report/formats.h"

namespace device_audit::report {

std::string as_json(const Report& report) {
  return dumped(report, 1) + "\n";
}

}  // namespace device_audit::report
