// device-audit doctor [--python PYTHON] [--env]
#include <unistd.h>

#include <CLI/Option.hpp>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

#include "audit/settings.h"
#include "report/child.h"
#include "report/commands.h"
#include "report/diagnosis.h"
#include "report/elf_file.h"
#include "report/files.h"
#include "report/preload.h"
#include "report/printable.h"

namespace device_audit::report {
namespace {

struct Arguments {
  std::string python;
  bool env = false;
};

// The names that the driver gives, else those of nvidia-smi, where the driver has no folder in /proc.
std::vector<std::string> real_gpus() {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& each : std::filesystem::directory_iterator("/proc/driver/nvidia/gpus", error)) {
    const std::string text = read_file((each.path() / "information").string(), Links::follow, 4096).value_or("");
    const std::size_t model = text.find("Model:");
    const std::size_t start = model == std::string::npos ? model : text.find_first_not_of(" \t", model + 6);
    names.push_back(start == std::string::npos ? "unknown" : text.substr(start, text.find('\n', start) - start));
  }
  if (!names.empty() || find_program("nvidia-smi").empty()) return names;
  const Answer answer =
      ask({"nvidia-smi", "--query-gpu=name", "--format=csv,noheader"}, clean_environment(), std::chrono::seconds(30));
  if (answer.error || answer.code || answer.late) return names;
  std::string_view rest = answer.output;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (!line.empty()) names.emplace_back(line);
  }
  return names;
}

// "libcupti.so.13" -> "13"
std::string simulated_cuda(const std::string& folder) {
  const std::string name = folder.empty() ? "" : elf_soname(folder + "/" + kSimulatedLibraries[1]);
  const std::size_t dot = name.rfind('.');
  return dot == std::string::npos ? "" : name.substr(dot + 1);
}

// Why the core cannot be preloaded into that Python; without one, into this program. The loader itself says it.
std::string core_problem(const std::string& core, const PythonEnvironment& python) {
  if (access(core.c_str(), R_OK) != 0) return std::strerror(errno);
  const PlainPath folder(library_folder());
  if (!folder.problem().empty()) return folder.problem();
  std::vector<std::string> environment = clean_environment();
  environment.push_back("LD_PRELOAD=" + (folder.path() / kCoreLibrary).string());
  const std::vector<std::string> program = python.problem.empty()
                                               ? std::vector<std::string>{python.path, "-I", "-S", "-c", ""}
                                               : std::vector<std::string>{"/proc/self/exe", "--version"};
  const Answer answer = ask(program, environment, std::chrono::seconds(60));
  if (answer.error) return std::strerror(answer.error);
  if (answer.late) return "a program with it does not end";
  const std::size_t complaint = answer.errors.find("ERROR: ld.so: ");
  if (complaint != std::string::npos) {
    return answer.errors.substr(complaint, answer.errors.find('\n', complaint) - complaint);
  }
  return answer.code ? "a program with it ends with exit code " + std::to_string(answer.code) : "";
}

std::vector<PreloadEntry> other_preloads() {
  const char* given = std::getenv("LD_PRELOAD");
  std::vector<PreloadEntry> others;
  std::string value = preload_value({}, given ? given : "");
  for (std::size_t at = 0; at < value.size();) {
    const std::string entry = value.substr(at, value.find(':', at) - at);
    at += entry.size() + 1;
    // A bare name is looked for by the loader, and `$` stands for something that it puts there.
    const bool path = entry.find('/') != std::string::npos && entry.find('$') == std::string::npos;
    others.push_back({entry, path && access(entry.c_str(), R_OK) != 0});
  }
  return others;
}

std::vector<Variable> our_variables() {
  std::vector<Variable> ours;
  const std::string prefix(settings_prefix);
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) continue;
    const std::string name = text.substr(0, equals);
    if (name == prefix || name.starts_with(prefix + "_")) ours.emplace_back(name, text.substr(equals + 1));
  }
  return ours;
}

Facts gather(const std::string& named) {
  Facts facts;
  facts.python = python_environment(named);
  facts.adapters = find_adapters(facts.python.torch.build_id);
  facts.gpus = real_gpus();
  facts.simulated = simulated_folder().string();
  facts.simulated_cuda = simulated_cuda(facts.simulated);
  facts.core = (library_folder() / kCoreLibrary).string();
  facts.core_problem = core_problem(facts.core, facts.python);
  facts.preloads = other_preloads();
  facts.variables = our_variables();
  return facts;
}

int doctor(const Arguments& arguments) {
  if (arguments.env) return write_all(1, printable(settings_in_force(our_variables()))) ? 1 : 0;
  const Facts facts = gather(arguments.python);
  const int error = write_all(1, printable(diagnosis(facts)));
  return error || !run_would_work(check(facts)) ? 1 : 0;
}

}  // namespace

std::function<int()> add_doctor(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* verb = app.add_subcommand("doctor", "Say what a run needs and finds here, and what to do about gaps");
  verb->add_option("--python", arguments->python, "A Python, or the folder of its venv [the active one]")
      ->type_name("PYTHON");
  verb->add_flag("--env", arguments->env, "Print every setting with the value in force and its default, and no more");
  verb->footer("Exit code: 0 a run works, with real or simulated GPUs; 1 a gap stops it; 2 wrong usage.");
  return [arguments] { return doctor(*arguments); };
}

}  // namespace device_audit::report
