#include "report/verdict_line.h"

#include <map>

#include "audit/explanation.h"

namespace device_audit::report {
namespace {

std::string joined(const std::vector<std::string>& items, const char* last) {
  std::string all;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i) all += i + 1 == items.size() ? last : ", ";
    all += items[i];
  }
  return all;
}

std::string counted(std::size_t count, const std::string& verdict) {
  static const std::map<std::string, std::string> plurals{{"mismatch", "mismatches"},
                                                          {"invalid", "invalid results"},
                                                          {"implicit", "implicit crossings"},
                                                          {"sync", "syncs"},
                                                          {"transfer", "transfers"}};
  static const std::map<std::string, std::string> singulars{{"invalid", "invalid result"},
                                                            {"implicit", "implicit crossing"}};
  const auto& names = count == 1 ? singulars : plurals;
  const auto name = names.find(verdict);
  return std::to_string(count) + " " + (name == names.end() ? verdict : name->second);
}

std::string place(const Report& finding, const std::string& folder) {
  const Report& site = finding["site"];
  const std::string facts = text(finding, "operator") + ", " + joined(texts(finding, "devices"), " and ");
  if (site.is_null()) return " in " + facts;
  const auto line = static_cast<int>(number(site, "line").value_or(0));
  return " at " + shown_place({text(site, "file"), line, "", ""}, folder) + " (" + facts + ")";
}

std::string nothing_found(const Report& report) {
  std::uint64_t operators = 0;
  std::string why;
  bool observed = false;
  for (const Report& process : report["processes"]) {
    operators += number(process["overhead"], "operators").value_or(0);
    observed = observed || process["adapter"].is_string();
    if (why.empty()) why = text(process, "adapter_why");
  }
  if (report["processes"].empty()) {
    const bool switched_off = text(report["run"]["settings"], "DEVICE_AUDIT") == "0";
    return switched_off ? "nothing recorded: DEVICE_AUDIT=0" : "nothing recorded: no PyTorch was seen in any process";
  }
  if (!observed) return "nothing observed: " + (why.empty() ? "there is no adapter for this PyTorch" : why);
  return "no mismatch; " + std::to_string(operators) + " operators observed";
}

}  // namespace

std::string verdict_line(const Report& report) {
  const Report& findings = report["findings"];
  if (findings.empty()) return nothing_found(report);
  std::map<std::string, std::size_t> counts;
  for (const Report& finding : findings) ++counts[text(finding, "verdict")];
  const std::string first = text(findings[0], "verdict");
  std::string line = counted(counts[first], first) + (counts[first] > 1 ? ", first" : "") +
                     place(findings[0], text(report["run"], "cwd"));
  std::vector<std::string> others;
  for (const char* verdict : {"mismatch", "invalid", "implicit", "sync", "transfer"}) {
    if (verdict != first && counts[verdict]) others.push_back(counted(counts[verdict], verdict));
  }
  if (!others.empty()) line += "; also " + joined(others, " and ");
  return first == "mismatch" ? line : "no mismatch; " + line;
}

}  // namespace device_audit::report
