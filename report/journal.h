// What the processes of a run wrote (docs/journal.md), as far as it can be read. Whatever the bytes are, nothing here
// throws or crashes: a hostile journal is at worst an empty one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/json.h"

namespace device_audit::report {

struct Counters {
  std::uint64_t count = 0, last_seen = 0, bytes = 0, duration_ns = 0;
};

// The slots of a counts file; empty where there is none or it is not one.
class Counts {
 public:
  Counts() = default;
  explicit Counts(std::string_view bytes);

  // The four counters from `slot`; nothing where they do not lie in the file.
  std::optional<Counters> at(std::uint64_t slot) const;
  std::uint64_t operators() const { return slots_.size() > 2 ? slots_[2] : 0; }
  std::uint64_t self_ns() const { return slots_.size() > 3 ? slots_[3] : 0; }

 private:
  std::vector<std::uint64_t> slots_;
};

struct Journal {
  std::string file;           // its name in the directory, "41279.jsonl"
  std::vector<Json> records;  // the readable ones, in the order written; each an object with a `type`
  std::size_t bytes = 0;      // size of the file
  std::size_t damaged = 0;    // lines that are no record
  std::uint64_t missing = 0;  // sequence numbers below the highest that no readable line has
  bool torn = false;          // the last line is cut off
  std::string problem;        // why the file could not be read; empty: it was
  Counts counts;

  // The last record of a type; null: none.
  const Json* last(std::string_view type) const;
};

// A directory of a run.
struct Recording {
  std::string directory;
  std::string problem;             // why the directory could not be read; empty: it was
  std::optional<Journal> run;      // written by `device-audit run`
  std::vector<Journal> processes;  // by file name
};

// One line of a journal, with its line break. `record` has `seq` as its first member.
std::string journal_line(const Report& record);

Journal parse_journal(std::string_view content);
Recording read_recording(const std::string& directory);

}  // namespace device_audit::report
