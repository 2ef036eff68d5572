// Which operands cross devices.
#pragma once

#include <vector>

#include "audit/finding.h"

namespace device_audit {

// The devices of `operands`, each once: accelerators by name first, then cpu, then meta.
std::vector<Device> devices_of(const std::vector<Operand>& operands);

// The pairs of operands on different devices, in the order of the arguments. Each operand on another device than the
// largest group is paired with the first operand of that group, so that a list of n tensors gives at most n - 1 pairs.
std::vector<Pair> crossing_pairs(const std::vector<Operand>& operands);

// The device of most operands; a tie goes to the accelerator, then to the first met. Empty without operands.
Device common_device(const std::vector<Operand>& operands);

}  // namespace device_audit
