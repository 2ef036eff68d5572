// Other programs that a verb asks for something.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace device_audit::report {

struct Answer {
  int error = 0;  // errno where it could not be started
  int code = 0;   // exit code; 128 + signal where a signal ended it
  bool late = false;
  std::string output, errors;  // of its standard streams; errors are in `output` where both go into a file
};

// The environment of this process without preloads, settings of ours, and what changes how a Python starts.
std::vector<std::string> clean_environment();

// Runs `arguments`, found in PATH, with `environment` ("NAME=VALUE") and no input. After `limit` it is killed.
Answer ask(const std::vector<std::string>& arguments, const std::vector<std::string>& environment,
           std::chrono::seconds limit);

// The same without a limit; both streams are appended to the file `log`.
Answer run_into(const std::string& log, const std::vector<std::string>& arguments,
                const std::vector<std::string>& environment);

// The path of the program `name` as a shell finds it; empty: none.
std::string find_program(const std::string& name);

}  // namespace device_audit::report
