#include "report/conclusion.h"

#include <cstring>

#include "report/journal.h"
#include "report/printable.h"
#include "report/render.h"
#include "report/verdict_line.h"

namespace device_audit::report {

int conclude(const std::string& directory, const std::string& formats, bool formats_named, bool quiet) {
  const Report report = make_report(read_recording(directory));
  std::string see;
  for (const Rendered& each : render(report, directory, formats)) {
    if (each.path.empty() && formats_named) say(std::string(each.format->name) + ": not built yet, left out");
    if (each.error) say("cannot write " + each.path + ": " + std::strerror(each.error));
    if (see.empty() && !each.path.empty() && !each.error) see = each.path;
  }
  if (quiet) return 0;
  say(verdict_line(report) + "; " + (see.empty() ? "" : "see " + see + " or ") + "run: device-audit report " +
      directory + " --format text");
  return 0;
}

}  // namespace device_audit::report
