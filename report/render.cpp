#include "report/render.h"

#include "audit/settings.h"
#include "report/files.h"
#include "report/merge.h"
#include "report/native_stacks.h"
#include "report/shape.h"

namespace device_audit::report {

Report make_report(const Recording& recording) {
  Json merged = merge(recording);
  Symbols symbols;
  resolve_native_stacks(merged, symbols);
  return shaped(merged, schema(), schema());
}

std::vector<Rendered> render(const Report& report, const std::string& directory, std::string_view names) {
  std::vector<Rendered> all;
  for (const Format& format : formats()) {
    if (!has_item(names, format.name)) continue;
    Rendered& rendered = all.emplace_back(Rendered{&format, "", "", 0});
    if (!format.render) continue;
    rendered.path = directory + "/" + std::string(format.file);
    rendered.content = format.render(report);
    rendered.error = replace_file(rendered.path, rendered.content);
  }
  return all;
}

}  // namespace device_audit::report
