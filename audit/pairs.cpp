#include "audit/pairs.h"

#include <algorithm>
#include <map>

namespace device_audit {
namespace {

int rank_of(const Device& device) {
  return device == "meta" ? 2 : device == "cpu" ? 1 : 0;
}

}  // namespace

std::vector<Device> devices_of(const std::vector<Operand>& operands) {
  std::vector<Device> devices;
  for (const Operand& operand : operands) {
    if (std::find(devices.begin(), devices.end(), operand.device) == devices.end()) devices.push_back(operand.device);
  }
  std::sort(devices.begin(), devices.end(),
            [](const Device& a, const Device& b) { return std::pair(rank_of(a), a) < std::pair(rank_of(b), b); });
  return devices;
}

Device common_device(const std::vector<Operand>& operands) {
  Device common;
  std::ptrdiff_t most = 0;
  for (const Device& device : devices_of(operands)) {
    const auto count =
        std::count_if(operands.begin(), operands.end(), [&](const Operand& o) { return o.device == device; });
    if (count > most) {
      common = device;
      most = count;
    }
  }
  return common;
}

std::vector<Pair> crossing_pairs(const std::vector<Operand>& operands) {
  const Device common = common_device(operands);
  const auto first =
      std::find_if(operands.begin(), operands.end(), [&](const Operand& o) { return o.device == common; });
  std::vector<Pair> pairs;
  for (auto odd = operands.begin(); odd != operands.end(); ++odd) {
    if (odd->device == common) continue;
    if (odd < first) {
      pairs.push_back({odd->argument, first->argument});
    } else {
      pairs.push_back({first->argument, odd->argument});
    }
  }
  return pairs;
}

}  // namespace device_audit
