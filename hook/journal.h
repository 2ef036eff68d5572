// This process's pair of files in the run's directory, as docs/journal.md describes them.
#pragma once

#include <cstdint>
#include <string_view>

#include "hook/text.h"

namespace device_audit::core {

// What is written after the `process` record of every journal of this process and of its forked children: the members
// of the `runtime` record. Copied.
void set_runtime_record(std::string_view members);

// Appends one record; the first one of a process opens the files. `members` as in bridge.h. Returns 0 or an errno.
int append_record(std::string_view members);

// Whether this very process has written a record.
bool has_journal();

// `count` adjacent counters, zero; null where there are none. *slot: the index of the first.
std::uint64_t* take_counters(std::uint32_t count, std::uint32_t* slot);

void journal_before_fork();
void journal_after_fork(bool in_child);

}  // namespace device_audit::core
