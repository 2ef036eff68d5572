// What an operator's run means: a pure decision over facts.
#pragma once

#include <string>

#include "audit/finding.h"

namespace device_audit {

struct Judgement {
  Verdict verdict = Verdict::none;
  std::string legal_because;  // for what ran: the rule by which PyTorch allowed the mix
};

// The verdict on an operator that raised `failure`, whose error left every enclosing operator.
Judgement judge_raised(const Failure& failure);

// The verdict on an operator that ran with operands on several devices. `moved_inside`: an operator that it called
// copied data between devices, so that a composite operator is known to have read across.
Judgement judge_ran(const OperatorCall& call, bool composite, bool moved_inside);

}  // namespace device_audit
