// The forms in which a report is rendered. A new one is a function in a file of its own and a row of the table.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "report/json.h"

namespace device_audit::report {

struct Format {
  std::string_view name;                 // as the setting FORMAT names it
  std::string_view file;                 // its file in the run's directory
  std::string (*render)(const Report&);  // null: not built yet
  bool for_reading;                      // it is shown on stdout, where the others name their file
};

std::span<const Format> formats();

// `report` is shaped by the schema.
std::string as_json(const Report& report);
std::string as_text(const Report& report);

}  // namespace device_audit::report
