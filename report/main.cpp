// The command `device-audit`.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <exception>
#include <string>
#include <string_view>

#include "audit/settings.h"
#include "report/commands.h"
#include "report/files.h"
#include "report/printable.h"

namespace device_audit::report {

void check_by_setting(CLI::Option& option, const Setting& setting) {
  option.check(
      [&setting](const std::string& value) {
        return accepts(setting, value) ? "" : "'" + value + "' is not accepted, but: " + std::string(setting.accepted);
      },
      "", "accepted");
}

namespace {

// How the command line is wrong, and what would be right.
std::string complaint(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& verb = app.get_subcommands().empty() ? app : *app.get_subcommands().front();
  const std::string what = error.what();
  const std::string see = "; see " + std::string(&verb == &app ? "" : "device-audit ") + verb.get_name() + " --help";
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error)) {
    const std::string name = what.substr(0, what.find(':'));
    if (const CLI::Option* option = verb.get_option_no_throw(name)) {
      return name + " needs a value: " + option->get_type_name();
    }
  }
  if (!dynamic_cast<const CLI::ExtrasError*>(&error)) return what + see;
  std::string unknown = "not expected:";
  for (const std::string& each : verb.remaining()) unknown += " " + each;
  return unknown + (verb.get_name() == "run" ? "; the program and its arguments stand behind --" : "") + see;
}

int command(std::vector<std::string> arguments) {
  // What stands behind `--` is the program's, untouched.
  std::vector<std::string> program;
  if (!arguments.empty() && arguments.front() == "run") {
    const auto mark = std::find(arguments.begin(), arguments.end(), "--");
    if (mark != arguments.end()) program.assign(mark + 1, arguments.end());
    arguments.erase(mark, arguments.end());
  }

  CLI::App app("Says which tensor strayed to another device, why, and which line to change.", "device-audit");
  app.set_version_flag("--version", "device-audit " DEVICE_AUDIT_VERSION, "Print the version");
  app.require_subcommand(1);
  app.footer(
      "  device-audit run -- python train.py\n"
      "  device-audit run --simulate 2 -- python train.py     two simulated GPUs\n"
      "  device-audit report DIR --format text");
  const auto run = add_run(app, program);
  const auto report = add_report(app);
  const auto doctor = add_doctor(app);
  const auto setup = add_setup(app);
  try {
    std::reverse(arguments.begin(), arguments.end());
    app.parse(arguments);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    say(complaint(app, error));
    return kUsage;
  }
  if (app.got_subcommand("doctor")) return doctor();
  if (app.got_subcommand("setup")) return setup();
  return app.got_subcommand("run") ? run() : report();
}

}  // namespace
}  // namespace device_audit::report

int main(int count, char** values) {
  try {
    return device_audit::report::command({values + 1, values + count});
  } catch (const std::exception& error) {
    device_audit::report::say(error.what());
    return 1;
  }
}
