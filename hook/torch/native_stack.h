// Native stacks: raw return addresses, and the libraries that they lie in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "audit/finding.h"

namespace device_audit::hook {

constexpr std::size_t kNativeDepth = 128;

// Return addresses of the calling thread, innermost first; frames of our own libraries at the inner end are left out.
// Takes no lock of ours; allocates only the result.
std::vector<std::uintptr_t> native_stack();

// Fills `native` and `libraries` of `finding` from addresses taken in this process: path, build-id, offset from the
// load base and the exported name, which is all that can be known without reading files.
void locate(const std::vector<std::uintptr_t>& addresses, Finding& finding);

}  // namespace device_audit::hook
