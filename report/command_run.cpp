// device-audit run [settings] -- program arguments...
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/Option.hpp>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>

#include "audit/settings.h"
#include "report/commands.h"
#include "report/conclusion.h"
#include "report/preload.h"
#include "report/printable.h"
#include "report/render.h"
#include "report/run_directory.h"
#include "report/supervise.h"
#include "report/time.h"
#include "report/verdict_line.h"

namespace device_audit::report {
namespace {

constexpr const char* kPreload = "LD_PRELOAD";
constexpr const char* kCore = "libdevice_audit.so";
constexpr const char* kSimulated[] = {"libdevice_audit_simulate.so", "libdevice_audit_simulate_cupti.so"};

struct Arguments {
  std::map<const Setting*, std::string> settings;
  bool quiet = false;
};

// What holds for a setting: the flag, else the environment, else the default.
std::string value_of(const Arguments& arguments, SettingId id) {
  const Setting& wanted = setting(id);
  const auto given = arguments.settings.find(&wanted);
  if (given != arguments.settings.end()) return given->second;
  return std::string(effective(wanted, std::getenv(wanted.variable.data())));
}

// The folder of the libraries: beside that of this program.
std::filesystem::path library_folder() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path().parent_path() / "lib";
}

std::string flag_of(const Setting& setting) {
  std::string flag = "--" + std::string(setting.name);
  for (char& c : flag) c = c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return flag;
}

Report settings_given(const Arguments& arguments) {
  Report given = Report::object();
  for (const Setting& each : settings) {
    const std::string variable(each.variable);
    const auto flag = arguments.settings.find(&each);
    const char* value = flag != arguments.settings.end() ? flag->second.c_str() : std::getenv(variable.c_str());
    if (value && each.id != SettingId::run) given[variable] = value;
  }
  return given;
}

// The libraries that are to be in the program, by full path; `missing` gets the first that is not there.
std::vector<std::string> libraries(const std::filesystem::path& folder, bool record, bool simulate,
                                   std::string& missing) {
  std::vector<std::string> all;
  const auto add = [&](const char* name) {
    all.push_back((folder / name).string());
    if (missing.empty() && access(all.back().c_str(), R_OK) != 0) missing = all.back();
  };
  if (record) add(kCore);
  if (simulate) {
    for (const char* name : kSimulated) add(name);
  }
  return all;
}

void give_environment(const Arguments& arguments, const std::vector<std::string>& libraries,
                      const std::string& directory) {
  for (const auto& [setting, value] : arguments.settings) setenv(setting->variable.data(), value.c_str(), 1);
  const std::string& variable = std::string(setting(SettingId::run).variable);
  if (directory.empty()) {
    unsetenv(variable.c_str());
  } else {
    setenv(variable.c_str(), directory.c_str(), 1);
  }
  const char* given = std::getenv(kPreload);
  const std::string preload = preload_value(libraries, given ? given : "");
  if (!preload.empty()) {
    setenv(kPreload, preload.c_str(), 1);
  } else if (given && *given) {
    unsetenv(kPreload);
  }
}

int could_not_start(const std::string& program, int error) {
  const bool not_found = error == ENOENT || error == ENOTDIR;
  const bool by_name = program.find('/') == std::string::npos;
  std::string why = std::strerror(error);
  if (not_found && by_name) why = "no such program in PATH";
  // An interpreter that its first line names, or the loader of another machine.
  if (not_found && !by_name && access(program.c_str(), F_OK) == 0) why = "its interpreter is not there";
  if (error == EACCES && !by_name) why = "it is not executable";
  say("cannot start " + program + ": " + why);
  return not_found ? 127 : 126;
}

int run(const Arguments& arguments, const std::vector<std::string>& program) {
  if (program.empty()) {
    say("no program: device-audit run [settings] -- program arguments...");
    return kUsage;
  }
  const StandardStreams streams;
  Supervisor supervisor;
  const bool simulate = value_of(arguments, SettingId::simulate) != "0";
  const PlainPath folder(library_folder());
  std::string missing;
  libraries(folder.path(), false, simulate, missing);
  if (!folder.problem().empty() && simulate) missing = folder.problem();
  if (!missing.empty()) {
    say("no simulated GPUs: " + missing + " cannot be read; the program is not started, it would use the real ones");
    return kUsage;
  }

  RunDirectory directory;
  std::string problem = folder.problem();
  if (problem.empty()) libraries(folder.path(), true, false, missing);
  if (problem.empty() && !missing.empty()) problem = missing + " cannot be read: build it, or install it again";
  if (problem.empty()) {
    directory = make_run_directory(value_of(arguments, SettingId::output));
    if (!directory.problem.empty()) problem = directory.problem + ": name another directory with --output";
  }
  if (!problem.empty()) {
    say("nothing is recorded, the program runs by itself: " + problem);
  } else if (!arguments.quiet) {
    say("recording into " + directory.path + (directory.renamed ? ", since the one asked for is not empty" : ""));
  }

  std::unique_ptr<RunJournal> journal;
  if (!directory.path.empty()) {
    journal = std::make_unique<RunJournal>(directory.path);
    std::error_code error;
    journal->write("run", {{"journal", 1},
                           {"version", DEVICE_AUDIT_VERSION},
                           {"pid", getpid()},
                           {"command", program},
                           {"cwd", std::filesystem::current_path(error).string()},
                           {"started", now()},
                           {"host", host()},
                           {"simulated", std::stoull(value_of(arguments, SettingId::simulate))},
                           {"settings", settings_given(arguments)}});
  }
  give_environment(arguments, libraries(folder.path(), problem.empty(), simulate, missing), directory.path);
  // Triton looks for the driver among files, not among what is loaded.
  if (simulate) setenv("TRITON_LIBCUDA_PATH", (folder.path() / "simulated").c_str(), /*overwrite=*/0);

  int child = 0;
  const Ending ending = supervisor.program(program, streams, [&](int pid) { child = pid; });
  if (ending.error) {
    if (journal) {
      std::error_code error;
      std::filesystem::remove(directory.path + "/run.jsonl", error);
      std::filesystem::remove(directory.path, error);
    }
    return could_not_start(program.front(), ending.error);
  }
  if (!journal) return ending.code;
  journal->write("ended", {{"pid", child},
                           {"ended", now()},
                           {"exit", ending.code},
                           {"signal", ending.signal ? Report(ending.signal) : Report()}});
  // In a process of its own, so that neither a damaged library nor an impatient user changes the program's exit code.
  const std::string formats = value_of(arguments, SettingId::format);
  const bool named = arguments.settings.contains(&setting(SettingId::format));
  const Ending rendered = supervisor.aside([&] { return conclude(directory.path, formats, named, arguments.quiet); });
  if (rendered.error || rendered.code) {
    say("the report was not finished; the journal is kept: device-audit report " + directory.path);
  }
  return ending.code;
}

}  // namespace

std::function<int()> add_run(CLI::App& app, const std::vector<std::string>& program) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* verb = app.add_subcommand("run",
                                      "Run a program, record its devices, and report at the end:\n"
                                      "  device-audit run [settings] -- program arguments...");
  verb->add_flag("-q,--quiet", arguments->quiet, "Say nothing at start and end");
  for (const Setting& each : settings) {
    if (each.id == SettingId::enabled || each.id == SettingId::run) continue;
    CLI::Option* option = verb->add_option_function<std::string>(
        flag_of(each), [arguments, &each](const std::string& value) { arguments->settings[&each] = value; },
        std::string(each.purpose) + " [" + std::string(each.standard) + "]");
    option->type_name(std::string(each.accepted))->group("Settings");
    check_by_setting(*option, each);
  }
  verb->footer(
      "Each setting is also an environment variable, DEVICE_AUDIT_MODE and so on.\n"
      "Exit code: that of the program, 128 + n where signal n ended it; 127 it was not found, 126 it could not be\n"
      "started, 2 wrong usage.");
  return [arguments, &program] { return run(*arguments, program); };
}

}  // namespace device_audit::report
