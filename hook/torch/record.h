// Findings as records of the journal (docs/journal.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "audit/finding.h"
#include "hook/python/stack.h"

namespace device_audit::hook {

// A Python stack in the terms of the domain.
std::vector<Frame> frames_of(const std::vector<python::Frame>& stack);

// The members of a `finding` record, without braces. `slot`: of its counters, none: counted by `counts` records.
std::string record_of(const Finding& finding, std::optional<std::uint32_t> slot);

// The members of an `uncaught` record. `finding`: the one whose error it is.
std::string record_of(const python::Uncaught& error, std::optional<std::uint32_t> finding);

}  // namespace device_audit::hook
