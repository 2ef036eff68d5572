// What `device-audit doctor` makes of what it found.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "report/places.h"
#include "report/python_environment.h"

namespace device_audit::report {

using Variable = std::pair<std::string, std::string>;  // name and value

struct PreloadEntry {
  std::string text;
  bool missing = false;  // a path at which nothing lies
};

struct Facts {
  PythonEnvironment python;
  std::vector<AdapterFile> adapters;   // in the order in which the core looks
  std::vector<std::string> gpus;       // the names of the real ones
  std::string simulated;               // folder of the simulated runtime; empty: it is not built
  std::string simulated_cuda;          // the major version that it is made for
  std::string core;                    // path
  std::string core_problem;            // why it cannot be preloaded; empty: it can
  std::vector<PreloadEntry> preloads;  // those of LD_PRELOAD that are not ours
  std::vector<Variable> variables;     // those with our prefix
};

struct Check {
  enum class Mark { ok, gap, stop };  // stop: a gap with which a run would observe nothing, or have no GPU
  Mark mark;
  std::string what;
  std::string found;
  std::string remedy = {};  // of a gap: what to do
};

// One for each thing that a run needs or is changed by; what depends on something that is missing is left out.
std::vector<Check> check(const Facts& facts);

bool run_would_work(const std::vector<Check>& checks);

// One line for each, and one that sums up.
std::string diagnosis(const Facts& facts);

// Every setting with the value in force and its default.
std::string settings_in_force(const std::vector<Variable>& variables);

}  // namespace device_audit::report
