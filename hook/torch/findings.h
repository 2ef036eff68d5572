// From a judged operator to a finding: where it happened, seen before or new, counted, written, said.
#pragma once

#include "audit/verdict.h"
#include "hook/python/stack.h"
#include "hook/torch/thread.h"

namespace device_audit::hook {

// In the process that the audit starts in, before anything is observed.
void findings_start();

// An operator whose error left it and every enclosing one. Returns the finding's id where it was not seen before.
std::optional<std::uint32_t> report_raised(const Draft& draft, const Judgement& judgement);

// An operator that ran with operands on several devices. `identity`: a pointer that is the operator's alone.
void report_ran(ThreadState& thread, const OperatorCall& call, const void* identity, const Judgement& judgement);

// Whether somebody handled the error of a finding.
void write_outcome(std::uint32_t finding, bool caught);

// What Python says at its end: the error that ended the program, or null. Errors of findings that it is not were
// handled.
void program_ended(const python::Uncaught* error);

// Writes what is only known at the end: operators observed, devices met.
void write_totals();

// Around fork: findings of the parent are not the child's.
void findings_fork_prepare();
void findings_fork_parent();
void findings_fork_child();

}  // namespace device_audit::hook
