// The verbs of `device-audit`. Each adds itself to the command line and returns what runs it once that is parsed; its
// result is the exit code.
#pragma once

#include <CLI/App.hpp>
#include <functional>
#include <string>
#include <vector>

namespace device_audit::report {

constexpr int kUsage = 2;  // exit code: the command line, or what it names, is wrong

// `program`: what stands behind `--`.
std::function<int()> add_run(CLI::App& app, const std::vector<std::string>& program);
std::function<int()> add_report(CLI::App& app);
std::function<int()> add_doctor(CLI::App& app);
std::function<int()> add_setup(CLI::App& app);

// Makes an option accept what the setting accepts, and say so where it does not.
void check_by_setting(CLI::Option& option, const struct Setting& setting);

}  // namespace device_audit::report
