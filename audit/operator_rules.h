// What single operators do with operands on several devices, where their schema does not tell: a table with reasons.
#pragma once

#include <string_view>

namespace device_audit {

enum class OperandUse {
  shape_only,  // asks an operand only for its shape, type or identity: no data crosses
  copy,        // copying across devices is what it was called for
  index,       // takes indices from the CPU and copies them to the data's device
  host_data,   // reads operands on the CPU by design (lengths, step counters)
};

struct OperatorRule {
  std::string_view name;  // without overload
  OperandUse use;
  std::string_view reason;  // as a sentence for `legal_because`
};

// The rule of an operator, or null: nothing special is known.
const OperatorRule* find_operator_rule(std::string_view name);

}  // namespace device_audit
