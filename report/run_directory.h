// The directory of a run, and the journal in which `device-audit run` writes what it sees itself.
#pragma once

#include <string>
#include <string_view>

#include "report/json.h"

namespace device_audit::report {

struct RunDirectory {
  std::string path;      // absolute; empty: none could be made
  std::string problem;   // why
  bool renamed = false;  // the one asked for holds something already: this is it with -2, -3, ... behind
};

// `pattern` with %p, %h, %r, %t and %% replaced, as the core does it (docs/settings.md).
std::string expanded(std::string_view pattern);

// Makes the directory that `pattern` names, and the folders above it; what is made is 0700.
RunDirectory make_run_directory(std::string_view pattern);

// `run.jsonl`. A record that cannot be written is lost, and the sequence numbers tell.
class RunJournal {
 public:
  explicit RunJournal(const std::string& directory);
  ~RunJournal();
  RunJournal(const RunJournal&) = delete;
  RunJournal& operator=(const RunJournal&) = delete;

  // `members` follow `seq` and `type`.
  void write(std::string_view type, const Report& members);

 private:
  int file_;
  std::uint64_t sequence_ = 0;
};

// The name of this machine.
std::string host();

}  // namespace device_audit::report
