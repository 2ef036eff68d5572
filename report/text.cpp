// The report as text: the run, each finding as it is said on stderr with what only the report knows, and what is not
// known.
#include <algorithm>
#include <cctype>
#include <cstring>
#include <filesystem>

#include "audit/explanation.h"
#include "report/formats.h"
#include "report/printable.h"
#include "report/verdict_line.h"

namespace device_audit::report {
namespace {

constexpr std::size_t kLabel = 12;

std::string labelled(const std::string& label, const std::string& what) {
  return what.empty() ? "" : "  " + label + std::string(kLabel - std::min(label.size(), kLabel - 1), ' ') + what + "\n";
}

int line_of(const Report& place) {
  return static_cast<int>(std::min<std::uint64_t>(number(place, "line").value_or(0), INT32_MAX));
}

Place place_of(const Report& json) {
  return {text(json, "file"), line_of(json), text(json, "function"), text(json, "code")};
}

std::optional<Place> place_or_none(const Report& json) {
  return json.is_null() ? std::nullopt : std::optional(place_of(json));
}

Operand operand_of(const Report& json) {
  Operand operand;
  operand.argument = text(json, "argument");
  operand.name = text(json, "name");
  operand.module_path = text(json, "module_path");
  operand.device = text(json, "device");
  operand.dtype = text(json, "dtype");
  operand.stray = json["stray"].get<bool>();
  if (json["shape"].is_array()) {
    operand.shape.emplace();
    for (const Report& size : json["shape"]) operand.shape->push_back(size.get<std::int64_t>());
  }
  if (!json["origin"].is_null()) operand.origin = Origin{place_of(json["origin"]), text(json["origin"], "operator")};
  operand.moved = place_or_none(json["moved"]);
  return operand;
}

Verdict verdict_of(const std::string& name) {
  for (const Verdict each :
       {Verdict::mismatch, Verdict::implicit, Verdict::transfer, Verdict::sync, Verdict::invalid}) {
    if (name == to_string(each)) return each;
  }
  return Verdict::none;
}

// The facts of a finding in the terms of the domain; the native stack is not among them, ours has more to say.
Finding facts_of(const Report& json) {
  Finding finding;
  finding.verdict = verdict_of(text(json, "verdict"));
  finding.call.name = text(json, "operator");
  finding.call.overload = text(json, "overload");
  finding.call.chain = texts(json, "chain");
  for (const Report& operand : json["operands"]) finding.call.operands.push_back(operand_of(operand));
  finding.site = place_or_none(json["site"]);
  for (const Report& frame : json["stack"]["python"]) {
    finding.python.push_back({place_of(frame), frame["library"].get<bool>()});
  }
  if (json["error"].is_string()) finding.failure = Failure{text(json, "error_type"), text(json, "error")};
  finding.legal_because = text(json, "legal_because");
  return finding;
}

std::string fix_of(const Report& fix, const std::string& folder) {
  if (fix.is_null()) return "";
  const std::string where = shown_path(text(fix, "file"), folder) + ":" + std::to_string(line_of(fix));
  const std::string after = text(fix, "after");
  if (after.empty()) return text(fix, "text");
  return (fix["before"].is_null() ? "insert before " : "change ") + where + ": " + after;
}

std::string native_frame(const Report& frame, const std::string& folder) {
  const std::string library = std::filesystem::path(text(frame, "library")).filename().string();
  const std::string where = frame["file"].is_string()
                                ? shown_path(text(frame, "file"), folder) + ":" + std::to_string(line_of(frame))
                                : (library.empty() ? "" : library + "+") + text(frame, "offset");
  const std::string function = text(frame, "function");
  return function.empty() ? where : where + "  " + function;
}

// Nothing where all of it is the library's: operator and chain say as much in fewer words.
std::string native_stack(const Report& frames, const std::string& folder) {
  if (std::none_of(frames.begin(), frames.end(), [](const Report& frame) { return frame["user"].get<bool>(); }))
    return "";
  std::string all;
  std::size_t folded = 0;
  const auto add = [&](const std::string& what) { all += labelled(all.empty() ? "native" : "", what); };
  const auto unfold = [&] {
    if (folded) add("... " + std::to_string(folded) + (folded == 1 ? " frame" : " frames") + " not of the program");
    folded = 0;
  };
  for (const Report& frame : frames) {
    if (!frame["user"].get<bool>()) {
      ++folded;
      continue;
    }
    unfold();
    add(native_frame(frame, folder));
  }
  unfold();
  return all;
}

std::string who(const Report& process) {
  const auto rank = number(process, "rank");
  return rank ? "rank " + std::to_string(*rank) : "process " + std::to_string(number(process, "pid").value_or(0));
}

std::string seen(const Report& finding, const Report& processes) {
  const std::uint64_t count = number(finding, "count").value_or(0);
  std::string line = count == 1 ? "once" : std::to_string(count) + " times";
  if (const auto bytes = number(finding, "bytes"); bytes && *bytes) line += ", " + std::to_string(*bytes) + " bytes";
  if (processes.size() > 1) {
    std::string in;
    for (const Report& index : finding["processes"]) {
      in += (in.empty() ? " in " : ", ") + who(processes[index.get<std::size_t>()]);
    }
    line += in;
  }
  if (!finding["ended"].empty()) return line + "; it ended the program";
  if (finding["caught"] == true) return line + "; the program handled it";
  return line;
}

std::string finding_text(const Report& finding, const Report& report) {
  const std::string folder = text(report["run"], "cwd");
  std::string all = explain(facts_of(finding), folder);
  // Its first line has our name in front: on stderr it stands among the program's own.
  constexpr std::string_view kOurs = "device-audit: ";
  if (all.starts_with(kOurs)) all.replace(0, kOurs.size(), text(finding, "id") + " ");
  const std::string cause = text(finding, "cause");
  const std::string explanation = text(finding, "explanation");
  return all + native_stack(finding["stack"]["native"], folder) +
         labelled("cause", cause + (cause.empty() || explanation.empty() ? "" : ": ") + explanation) +
         labelled("fix", fix_of(finding["fix"], folder)) + labelled("legal", text(finding, "legal_because")) +
         labelled("seen", seen(finding, report["processes"]));
}

std::string quoted(const std::string& argument) {
  const bool plain = !argument.empty() && std::all_of(argument.begin(), argument.end(), [](unsigned char c) {
    return std::isalnum(c) || std::strchr("_-./=:,+@%", c);
  });
  if (plain) return argument;
  std::string all = "'";
  for (const char c : argument) all += c == '\'' ? "'\\''" : std::string(1, c);
  return all + "'";
}

std::string signal_name(std::uint64_t signal) {
  const char* name = sigabbrev_np(static_cast<int>(signal));
  return name ? std::string("SIG") + name : std::to_string(signal);
}

std::string ending(const Report& process) {
  if (const auto signal = number(process, "signal")) return "ended by " + signal_name(*signal);
  if (const auto code = number(process, "exit_code")) return "exit code " + std::to_string(*code);
  return text(process, "ended") == "exit" ? "ended" : "its end is not known";
}

std::string process_text(const Report& process) {
  std::string line = "process " + std::to_string(number(process, "pid").value_or(0));
  if (const auto rank = number(process, "rank")) line += ", rank " + std::to_string(*rank);
  if (process["torch"].is_string()) line += ", torch " + text(process, "torch");
  std::string devices;
  for (const std::string& device : texts(process, "devices")) devices += (devices.empty() ? ", on " : " ") + device;
  return line + devices + ", " + ending(process) + "\n";
}

std::string head(const Report& report) {
  const Report& run = report["run"];
  std::string command;
  for (const std::string& argument : texts(run, "command")) command += (command.empty() ? "" : " ") + quoted(argument);
  std::string all = "device-audit " + text(report["generator"], "version") + ": " + verdict_line(report) + "\n";
  if (!command.empty()) all += "$ " + command + "\n";
  if (run["started"].is_string()) {
    all += text(run, "started") + (run["ended"].is_string() ? " to " + text(run, "ended") : "");
    if (run["host"].is_string()) all += " on " + text(run, "host");
    if (const auto gpus = number(run, "simulated"); gpus && *gpus) all += ", GPUs simulated: " + std::to_string(*gpus);
    all += "\n";
  }
  for (const Report& process : report["processes"]) all += process_text(process);
  return all;
}

std::string gaps(const Report& coverage) {
  std::string all;
  for (const Report& each : coverage["switched_off"]) {
    all += "  switched off: " + text(each, "what") + ": " + text(each, "why") + "\n";
  }
  for (const Report& each : coverage["unseen"]) all += "  " + text(each, "what") + ": " + text(each, "why") + "\n";
  return all.empty() ? "" : "\nnot known\n" + all;
}

}  // namespace

std::string as_text(const Report& report) {
  std::string all = head(report);
  for (const Report& finding : report["findings"]) all += "\n" + finding_text(finding, report);
  return printable(all + gaps(report["coverage"]));
}

}  // namespace device_audit::report
