// device-audit report DIR... [--format LIST]
#include <CLI/Option.hpp>
#include <cstring>
#include <memory>

#include "audit/settings.h"
#include "report/commands.h"
#include "report/conclusion.h"
#include "report/files.h"
#include "report/printable.h"
#include "report/render.h"

namespace device_audit::report {
namespace {

struct Arguments {
  std::vector<std::string> directories;
  std::string formats;
  bool at_exit = false;
};

void say_damage(const Journal& journal) {
  if (!journal.problem.empty()) say(journal.file + " cannot be read: " + journal.problem);
  if (journal.damaged || journal.missing) {
    say(journal.file + ": " + std::to_string(journal.damaged) + " damaged lines skipped, " +
        std::to_string(journal.missing) + " sequence numbers missing");
  }
  if (journal.torn) say(journal.file + ": the last line is cut off");
}

int report_on(const std::string& directory, const std::string& formats) {
  const Recording recording = read_recording(directory);
  if (recording.processes.empty() && !recording.run) {
    say(recording.directory + ": " +
        (recording.problem.empty() ? "no journal (<pid>.jsonl) lies there" : recording.problem) +
        "; give the directory of a run, as `device-audit run` names it");
    return kUsage;
  }
  for (const Journal& journal : recording.processes) say_damage(journal);
  int result = 0;
  for (const Rendered& each : render(make_report(recording), recording.directory, formats)) {
    if (each.path.empty()) {
      say(std::string(each.format->name) + ": not built yet, left out");
      continue;
    }
    if (each.error) {
      say("cannot write " + each.path + ": " + std::strerror(each.error));
      result = 1;
    }
    if (each.error && !each.format->for_reading) continue;
    if (write_all(1, each.format->for_reading ? each.content : each.path + "\n")) result = 1;
  }
  return result;
}

}  // namespace

std::function<int()> add_report(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  const Setting& format = setting(SettingId::format);
  arguments->formats = format.standard;
  CLI::App* verb = app.add_subcommand("report", "Render the report of a run from its journals");
  verb->add_option("DIR", arguments->directories, "Directory of a run")->required();
  check_by_setting(*verb->add_option("--format", arguments->formats, "Comma list of html, json, text, sarif")
                        ->type_name("LIST")
                        ->capture_default_str(),
                   format);
  // The preloaded library's, at the end of a program that `run` did not start.
  verb->add_flag("--at-exit", arguments->at_exit)->group("");
  verb->footer(
      "text is also printed; of the others the file is named.\n"
      "Exit code: 0 done, 1 something could not be written, 2 wrong usage, or no journal in DIR.");
  return [arguments, standard = std::string(format.standard)] {
    int result = 0;
    if (arguments->at_exit) {
      return conclude(arguments->directories.front(), arguments->formats, arguments->formats != standard,
                      /*quiet=*/false);
    }
    for (const std::string& directory : arguments->directories) {
      result = std::max(result, report_on(directory, arguments->formats));
    }
    return result;
  };
}

}  // namespace device_audit::report
