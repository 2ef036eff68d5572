#include "report/diagnosis.h"

#include <algorithm>
#include <string_view>

#include "audit/settings.h"

namespace device_audit::report {
namespace {

using Mark = Check::Mark;

// As a word of a shell.
std::string word(const std::string& text) {
  const bool plain = std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) || std::string_view("/._-+=:@%").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (plain && !text.empty()) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string joined(const std::vector<std::string>& all) {
  std::string text;
  for (const std::string& each : all) text += (text.empty() ? "" : ", ") + each;
  return text;
}

std::string major(const std::string& version) {
  return version.substr(0, version.find('.'));
}

std::string set_up(const PythonEnvironment& python) {
  return "run: device-audit setup --python " + word(python.path);
}

Check check_python(const PythonEnvironment& python) {
  if (!python.problem.empty()) {
    return {Mark::stop, "Python", python.problem, "activate an environment, or name its Python with --python"};
  }
  return {Mark::ok, "Python", python.version + " at " + python.path};
}

Check check_torch(const PythonEnvironment& python) {
  const TorchPackage& torch = python.torch;
  if (torch.folder.empty()) {
    return {Mark::stop, "torch", "none in that Python", "install torch there, or name another Python with --python"};
  }
  const std::string found = (torch.version.empty() ? "unknown version" : torch.version) + " in " + torch.folder;
  if (torch.library.empty()) {
    return {Mark::stop, "torch", found + " has no lib/libtorch_cpu.so", "install torch again"};
  }
  if (torch.build_id.empty()) {
    return {Mark::stop, "torch", found + " has no build-id to tell it from others",
            "link its libtorch_cpu.so with --build-id, or use another build of torch"};
  }
  const std::string abi = !torch.cxx11_abi   ? "C++ ABI unknown"
                          : *torch.cxx11_abi ? "C++11 ABI"
                                             : "C++ ABI before C++11";
  return {Mark::ok, "torch", found + ", " + abi + ", build-id " + torch.build_id};
}

Check check_adapter(const Facts& facts) {
  std::string found;
  for (const AdapterFile& each : facts.adapters) {
    if (each.problem.empty()) return {Mark::ok, "adapter", each.path + ", built for that torch"};
    found += (found.empty() ? "" : "; ") + each.path + " " + each.problem;
  }
  return {Mark::stop, "adapter", found.empty() ? "none for that torch" : found, set_up(facts.python)};
}

Check check_cuda(const TorchPackage& torch) {
  if (!torch.cuda.empty()) return {Mark::ok, "CUDA", torch.cuda + ", which that torch is built with"};
  return {Mark::stop, "CUDA", "that torch is built without", "install a build of torch with CUDA; it needs no GPU"};
}

bool can_simulate(const Facts& facts) {
  const std::string& cuda = facts.python.torch.cuda;
  return !facts.simulated.empty() && (cuda.empty() || major(cuda) == facts.simulated_cuda);
}

Check check_gpus(const Facts& facts) {
  if (!facts.gpus.empty()) {
    return {Mark::ok, "GPUs", std::to_string(facts.gpus.size()) + " real: " + joined(facts.gpus)};
  }
  if (can_simulate(facts)) return {Mark::ok, "GPUs", "no real one; run --simulate N gives N simulated ones"};
  return {Mark::stop, "GPUs", "no real one, and no simulated ones that would do", "see the next line"};
}

Check check_simulated(const Facts& facts) {
  const PythonEnvironment& python = facts.python;
  if (facts.simulated.empty()) {
    return {Mark::gap, "simulated GPUs", "not built",
            python.cuda_headers ? set_up(python)
                                : "install torch's own CUDA wheels into a Python, they have the headers; then run: "
                                  "device-audit setup --python PYTHON"};
  }
  const std::string found = "for CUDA " + facts.simulated_cuda + ", in " + facts.simulated;
  if (can_simulate(facts)) return {Mark::ok, "simulated GPUs", found};
  return {Mark::gap, "simulated GPUs", found + ", but that torch is built with CUDA " + python.torch.cuda,
          "use a torch built with CUDA " + facts.simulated_cuda};
}

Check check_cupti(const PythonEnvironment& python) {
  if (!python.cupti.empty()) return {Mark::ok, "CUPTI", python.cupti};
  return {Mark::gap, "CUPTI", "no libcupti among the wheels of that Python",
          "needed for --cupti 1 alone: install the CUPTI wheel of that torch's CUDA"};
}

Check check_core(const Facts& facts) {
  if (facts.core_problem.empty()) return {Mark::ok, "core", facts.core + " can be preloaded"};
  return {Mark::stop, "core", facts.core + ": " + facts.core_problem,
          "build device-audit on this machine, or install it again"};
}

void check_preloads(const std::vector<PreloadEntry>& preloads, std::vector<Check>& checks) {
  if (preloads.empty()) checks.push_back({Mark::ok, "LD_PRELOAD", "no library of others"});
  for (const PreloadEntry& each : preloads) {
    if (each.missing) {
      checks.push_back({Mark::gap, "LD_PRELOAD", each.text + " is not there: the loader says so in every process",
                        "take it out of LD_PRELOAD"});
    } else {
      checks.push_back({Mark::ok, "LD_PRELOAD", each.text + " is kept, behind device-audit's own"});
    }
  }
}

bool holds(const Setting& setting, const std::string& value) {
  return setting.id == SettingId::run ? value.empty() || value.front() == '/' : accepts(setting, value);
}

void check_settings(const std::vector<Variable>& variables, std::vector<Check>& checks) {
  std::vector<std::string> given;
  for (const auto& [name, value] : variables) {
    const Setting* known = find_setting(name);
    const std::string shown = name + "=" + value;
    if (!known) {
      checks.push_back(
          {Mark::gap, "settings", shown + " is ignored: no such setting", "see: device-audit doctor --env"});
    } else if (!holds(*known, value)) {
      checks.push_back({Mark::gap, "settings", shown + " is ignored: accepted is " + std::string(known->accepted),
                        "used is " + (known->standard.empty() ? "none" : std::string(known->standard))});
    } else if (known->id == SettingId::enabled && value == "0") {
      checks.push_back({Mark::stop, "settings", shown + ": nothing is recorded", "unset " + name});
    } else {
      given.push_back(shown);
    }
  }
  if (variables.empty()) given.emplace_back("the defaults; see: device-audit doctor --env");
  if (!given.empty()) checks.push_back({Mark::ok, "settings", joined(given)});
}

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}

std::string shown(std::string_view value) {
  return value.empty() ? "\"\"" : std::string(value);
}

}  // namespace

std::vector<Check> check(const Facts& facts) {
  const PythonEnvironment& python = facts.python;
  std::vector<Check> checks = {check_python(python)};
  if (python.problem.empty()) {
    checks.push_back(check_torch(python));
    if (!python.torch.build_id.empty()) checks.push_back(check_adapter(facts));
    if (!python.torch.library.empty()) {
      checks.push_back(check_cuda(python.torch));
      if (!python.torch.cuda.empty()) checks.push_back(check_cupti(python));
    }
  }
  checks.push_back(check_gpus(facts));
  checks.push_back(check_simulated(facts));
  checks.push_back(check_core(facts));
  check_preloads(facts.preloads, checks);
  check_settings(facts.variables, checks);
  return checks;
}

bool run_would_work(const std::vector<Check>& checks) {
  return std::none_of(checks.begin(), checks.end(), [](const Check& each) { return each.mark == Mark::stop; });
}

std::string diagnosis(const Facts& facts) {
  const std::vector<Check> checks = check(facts);
  std::size_t width = 0;
  for (const Check& each : checks) width = std::max(width, each.what.size() + 2);
  std::string text;
  std::vector<std::string> stopped;
  for (const Check& each : checks) {
    text += padded(each.mark == Mark::ok ? "ok" : "gap", 5) + padded(each.what, width) + each.found;
    text += each.remedy.empty() ? "\n" : "; " + each.remedy + "\n";
    if (each.mark == Mark::stop) stopped.push_back(each.what);
  }
  if (!stopped.empty()) return text + "A run would not work yet, for want of: " + joined(stopped) + "\n";
  const std::string python = word(facts.python.path);
  return text + "A run works: device-audit run " + (facts.gpus.empty() ? "--simulate 2 " : "") + "-- " + python +
         " train.py\n";
}

std::string settings_in_force(const std::vector<Variable>& variables) {
  std::size_t name = 0;
  std::size_t value = std::string_view("in force").size();
  std::vector<std::pair<std::string, std::string>> rows;  // value in force, what is to be said of it
  for (const Setting& each : settings) {
    const auto given = std::find_if(variables.begin(), variables.end(),
                                    [&](const Variable& variable) { return variable.first == each.variable; });
    const bool taken = given != variables.end() && holds(each, given->second);
    rows.emplace_back(shown(taken ? given->second : each.standard), given == variables.end() ? ""
                                                                    : taken
                                                                        ? "set"
                                                                        : shown(given->second) + " is not accepted");
    name = std::max(name, each.variable.size());
    value = std::max(value, rows.back().first.size());
  }
  const auto line = [&](std::string_view variable, const std::string& now, std::string_view standard,
                        const std::string& remark) {
    std::string text = padded(std::string(variable), name + 2) + padded(now, value + 2);
    return text + (remark.empty() ? std::string(standard) : padded(std::string(standard), 30) + remark) + "\n";
  };
  std::string text = line("variable", "in force", "default", "");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    text += line(settings[i].variable, rows[i].first, shown(settings[i].standard), rows[i].second);
  }
  for (const Variable& each : variables) {
    if (!find_setting(each.first)) text += padded(each.first, name + 2) + "no such setting\n";
  }
  return text;
}

}  // namespace device_audit::report
