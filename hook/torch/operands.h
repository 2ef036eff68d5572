// An operator's arguments as the dispatcher boxed them, turned into the operands of the domain.
#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include <cstdint>
#include <string>
#include <vector>

#include "audit/finding.h"

namespace device_audit::hook {

// The devices met by a walk over arguments.
struct DevicesMet {
  bool several = false;  // operands on more than one device
  bool opaque = false;   // an operand whose device only Python code can tell (a fake tensor): it is not asked
  bool any = false;
  c10::Device first{c10::DeviceType::CPU};
  std::uint64_t seen = 0;  // a bit per device met, see `device_bit`
};

// The bit of a device in `DevicesMet::seen`: cuda:0 to cuda:31, then a bit per other type.
std::uint64_t device_bit(c10::Device device);

// The name of the device that owns bit `index` of a `seen` mask.
std::string device_of_bit(int index);

// Walks tensors, generators, and lists of them, to any depth. Python numbers, which arrive as 0-dim CPU tensors, are
// not operands. Takes no reference, lock or memory.
DevicesMet devices_met(c10::ArrayRef<const c10::IValue> arguments);

// The operands among `arguments`, named by `schema`.
std::vector<Operand> operands_of(const c10::FunctionSchema& schema, c10::ArrayRef<const c10::IValue> arguments);

// The storage of a tensor's Python object, as Operand::storage has it; null where it has none. Under the GIL.
const void* storage_of_object(const void* tensor_object);

// The devices of the tensors among `results`.
std::vector<Device> devices_of_results(const std::vector<c10::IValue>& results);

}  // namespace device_audit::hook
