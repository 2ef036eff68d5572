// The error that a thread threw last, kept at the throw: the only moment at which its text and the whole native stack
// are there.
#pragma once

#include <cstdint>
#include <vector>

#include "audit/finding.h"

namespace device_audit::hook {

struct Thrown {
  std::uint64_t serial = 0;      // counts this thread's throws, 0: none yet
  const void* within = nullptr;  // the operator that was innermost then, null: none was open
  bool of_python = false;        // it carries a Python exception
  Failure failure;
  std::vector<std::uintptr_t> native;
};

// Keeps what is known of `object`, which is about to be thrown as `type` (a std::type_info of the thrower's C++
// runtime). The text of a std::exception of another runtime than torch's is not asked for.
void keep(Thrown& thrown, void* object, const void* type);

}  // namespace device_audit::hook
