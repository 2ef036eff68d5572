#include "audit/verdict.h"

#include <algorithm>

#include "audit/device_errors.h"
#include "audit/operator_rules.h"
#include "audit/pairs.h"

namespace device_audit {
namespace {

bool on_meta(const Device& device) {
  return device == "meta";
}

// Whether only operands that PyTorch exempts are away from the others: 0-dim CPU tensors.
bool only_cpu_scalars_differ(const std::vector<Operand>& operands) {
  Device others;
  for (const Operand& operand : operands) {
    if (operand.device == "cpu" && operand.is_scalar() && !operand.written) continue;
    if (others.empty()) others = operand.device;
    if (operand.device != others) return false;
  }
  return true;
}

}  // namespace

Judgement judge_raised(const Failure& failure) {
  // Not the operands: a legal mix in a call that raised for shapes or indices is none, and an operator may want
  // operands that agree elsewhere (lengths, a kernel of one backend).
  return {is_device_error(failure.text) ? Verdict::mismatch : Verdict::none, {}};
}

Judgement judge_ran(const OperatorCall& call, bool composite, bool moved_inside) {
  if (devices_of(call.operands).size() < 2) return {};
  const OperatorRule* rule = find_operator_rule(call.name);
  if (rule && (rule->use == OperandUse::shape_only || rule->use == OperandUse::copy)) return {};

  const bool meta =
      std::any_of(call.operands.begin(), call.operands.end(), [](const Operand& o) { return on_meta(o.device); });
  if (meta) {
    // A real result cannot have been computed from a tensor without data; a result on meta claims nothing.
    const bool real =
        std::any_of(call.outputs.begin(), call.outputs.end(), [](const Device& d) { return !on_meta(d); });
    return real && !composite ? Judgement{Verdict::invalid, {}} : Judgement{};
  }
  // A composite operator only hands its operands on: what it calls is judged, unless it moved them itself.
  if (composite && !moved_inside) return {};
  if (rule) return {Verdict::implicit, std::string(rule->reason)};
  if (only_cpu_scalars_differ(call.operands)) {
    return {Verdict::implicit, "a 0-dim CPU tensor may meet operands on another device: its value is read by the host"};
  }
  return {Verdict::implicit, {}};
}

}  // namespace device_audit
