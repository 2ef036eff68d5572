// The run's directory: one for all processes of a job, found or made when a libtorch comes.
#pragma once

#include <climits>

#include "hook/text.h"

namespace device_audit::core {

struct RunDirectory {
  char path[PATH_MAX];  // absolute; empty: there is none, and no journal
  bool owned;           // by this process, which renders the report at its end
  bool oldest;          // no ancestor is in this run: what concerns the whole run is said here and only here
};

extern RunDirectory run_directory;

// DEVICE_AUDIT_RUN, else the one of the oldest ancestor that has one, else a new one after the pattern
// DEVICE_AUDIT_OUTPUT. `why` gets what the user is told where none could be had.
void find_directory(Text& why);

// `pattern` with %p, %h, %r, %t and %% replaced, as an absolute path.
void expand_pattern(std::string_view pattern, Text& path);

// Makes `path` and what is missing above it, 0700. Returns null, or what is wrong with it: not a folder, a symbolic
// link, or another user's.
const char* make_directory(const char* path);

// The directory of the run that process `pid` writes to; empty where it does not, or is another user's.
void directory_of_process(int pid, Text& path);

}  // namespace device_audit::core
