// What is kept per thread: the operators that are open on it, and the error it threw last.
#pragma once

#include <ATen/record_function.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "audit/finding.h"
#include "hook/torch/thrown.h"

namespace device_audit::hook {

// A finding that waits for its error to leave every enclosing operator: an error that is handled inside is none.
struct Draft {
  std::uint64_t thrown = 0;  // Thrown::serial of the error
  Failure failure;
  std::vector<std::uintptr_t> native;
  OperatorCall call;
  const void* identity = nullptr;  // of the operator, for the key of its findings
  const void* around = nullptr;    // the operator or stretch that it goes through next, null: none
  bool settled = false;            // it left every operator, and is judged
};

struct OpenOperator {
  const at::RecordFunction* function = nullptr;
  int uncaught = 0;                    // exceptions in flight when it began
  bool stretch = false;                // it is no operator, but a name for what runs inside
  bool moved_inside = false;           // something that it called copied data between devices
  bool reported = false;               // something that it called has a finding already
  std::unique_ptr<OperatorCall> call;  // only where its operands are on several devices
};

// Deeper nesting than this is counted but not looked at.
constexpr std::size_t kOpenOperators = 96;

struct ThreadState {
  std::array<OpenOperator, kOpenOperators> open;
  std::size_t depth = 0;
  int* guard = nullptr;
  std::uint64_t seen = 0;                  // devices met, bits of operands.h
  std::atomic<std::uint64_t> observed{0};  // written by its thread alone
  Thrown thrown;
  std::optional<Draft> draft;
  std::atomic<bool> taken{false};
  ThreadState* next = nullptr;  // of all states ever made
};

// The calling thread's state; the first call on a thread allocates it, or takes over one of a thread that ended.
ThreadState& this_thread();

// Calls `visit` for each state ever made, of living and ended threads alike.
void for_each_thread(void (*visit)(ThreadState&, void* context), void* context);

}  // namespace device_audit::hook
