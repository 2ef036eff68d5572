// From a recording to the files of its report.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/formats.h"
#include "report/journal.h"

namespace device_audit::report {

// Merged, with native stacks resolved, in the form of the schema.
Report make_report(const Recording& recording);

struct Rendered {
  const Format* format;
  std::string path;  // of its file; empty: the form is not built yet
  std::string content;
  int error = 0;  // errno: the file could not be written
};

// Renders `report` into the run's directory in each form of the comma list `names`, each of which is a known one.
std::vector<Rendered> render(const Report& report, const std::string& directory, std::string_view names);

}  // namespace device_audit::report
