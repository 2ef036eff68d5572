#include "report/formats.h"

#include <array>

namespace device_audit::report {

std::span<const Format> formats() {
  static constexpr std::array<Format, 4> table{{
      {"html", "report.html", nullptr, false},
      {"json", "report.json", as_json, false},
      {"text", "report.txt", as_text, true},
      {"sarif", "report.sarif", nullptr, false},
  }};
  return table;
}

}  // namespace device_audit::report
