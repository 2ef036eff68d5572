#include "hook/torch/observer.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include <cxxabi.h>

#include <algorithm>
#include <exception>
#include <functional>
#include <utility>
#include <variant>

#include "audit/operator_rules.h"
#include "audit/verdict.h"
#include "hook/torch/core.h"
#include "hook/torch/findings.h"
#include "hook/torch/operands.h"

namespace device_audit::hook {
namespace {

// Two members of RecordFunction that are private: an explicit instantiation may name them.
template <auto StepCallbacks, auto Name>
struct Reach {
  friend at::StepCallbacks& step_callbacks(at::RecordFunction& function) { return function.*StepCallbacks; }
  // Whether it is no operator but a stretch that somebody named: a node of backward, a compiled region.
  friend bool is_stretch(const at::RecordFunction& function) {
    return std::holds_alternative<std::string>(function.*Name);
  }
};
template struct Reach<&at::RecordFunction::step_callbacks_, &at::RecordFunction::fn_>;
at::StepCallbacks& step_callbacks(at::RecordFunction& function);
bool is_stretch(const at::RecordFunction& function);

// RecordFunction decides about outputs for all calls alike, which would cost every operator. It reads the flag after
// the start callbacks, so one call can still be asked for its outputs.

void ask_for_outputs(const at::RecordFunction& function) {
  step_callbacks(const_cast<at::RecordFunction&>(function)).needs_outputs_ = true;
}

std::optional<c10::OperatorHandle> handle_of(const at::RecordFunction& function) {
  const auto name = function.operator_name();
  return name ? c10::Dispatcher::singleton().findSchema(*name) : std::nullopt;
}

// What an operator was called with. Only while its start callback runs are the arguments there.
std::unique_ptr<OperatorCall> describe_call(const at::RecordFunction& function) {
  auto call = std::make_unique<OperatorCall>();
  call->name = function.name();
  call->overload = function.overload_name();
  if (const auto handle = handle_of(function); handle && handle->hasSchema()) {
    call->operands = operands_of(handle->schema(), function.inputs());
  }
  return call;
}

bool is_composite(const at::RecordFunction& function) {
  const auto handle = handle_of(function);
  return handle && handle->hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd);
}

std::vector<std::string> chain_to(const ThreadState& thread, std::size_t depth) {
  std::vector<std::string> chain;
  for (std::size_t i = 0; i <= depth; ++i) {
    if (!thread.open[i].stretch || i == depth) chain.emplace_back(thread.open[i].function->name());
  }
  return chain;
}

// The name of an operator is its schema's; the one of a stretch is made for each.
const void* identity_of(const at::RecordFunction& function) {
  if (!is_stretch(function)) return function.name();
  return reinterpret_cast<const void*>(std::hash<std::string_view>{}(function.name()));
}

std::unique_ptr<at::ObserverContext> started(const at::RecordFunction& function) {
  ThreadState& thread = this_thread();
  if (*thread.guard != 0) return nullptr;
  const bool stretch = is_stretch(function);
  if (!stretch) thread.observed.store(thread.observed.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  if (thread.depth >= kOpenOperators) return nullptr;
  OpenOperator& open = thread.open[thread.depth++];
  open.function = &function;
  open.uncaught = std::uncaught_exceptions();
  open.moved_inside = open.reported = false;
  open.stretch = stretch;
  if (stretch) return nullptr;
  const DevicesMet met = devices_met(function.inputs());
  thread.seen |= met.seen;
  if (!met.several || met.opaque) return nullptr;

  const Unobserved unobserved;
  open.call = describe_call(function);
  if (met.seen & device_bit(c10::Device(c10::DeviceType::Meta))) ask_for_outputs(function);
  return nullptr;
}

// Whether the error in flight is the draft's. In between Python may have had it: a kernel in Python, called by the
// operator around, passes it on as an error of Python's.
bool is_of_same_error(const Draft& draft, const Thrown& thrown) {
  return draft.thrown == thrown.serial ||
         (thrown.of_python && thrown.within == draft.around && thrown.failure.text == draft.failure.text);
}

// The innermost operator that an error left is the one that raised it; the draft is kept while the error goes on
// outwards.
void keep_draft(ThreadState& thread, std::size_t depth, OpenOperator& open) {
  const at::RecordFunction& function = *open.function;
  if (!thread.draft || !is_of_same_error(*thread.draft, thread.thrown)) {
    Draft& draft = thread.draft.emplace();
    draft.identity = identity_of(function);
    draft.failure = thread.thrown.failure;
    draft.native = thread.thrown.native;
    if (open.call) {
      draft.call = std::move(*open.call);
    } else {
      draft.call.name = function.name();
      draft.call.overload = function.overload_name();
    }
    draft.call.chain = chain_to(thread, depth);
  }
  thread.draft->thrown = thread.thrown.serial;
  thread.draft->around = depth ? thread.open[depth - 1].function : nullptr;
}

// Whether an error that leaves the operator at `depth` is out of every operator: what is named around it may be the
// user's code (a hook of backward, compiled code), which can handle it.
bool is_outermost(const ThreadState& thread, std::size_t depth) {
  return std::all_of(thread.open.begin(), thread.open.begin() + static_cast<std::ptrdiff_t>(depth),
                     [](const OpenOperator& around) { return around.stretch; });
}

// The error has left every operator. Returns the finding's id, if it is one that was not seen before.
std::optional<std::uint32_t> settle_draft(ThreadState& thread) {
  Draft& draft = *thread.draft;
  if (std::exchange(draft.settled, true)) return std::nullopt;
  const Judgement judgement = judge_raised(draft.failure);
  return judgement.verdict == Verdict::none ? std::nullopt : report_raised(draft, judgement);
}

void ran(ThreadState& thread, std::size_t depth, OpenOperator& open, const at::RecordFunction& function) {
  thread.draft.reset();
  if (!open.call) return;
  OperatorCall& call = *open.call;
  if (const OperatorRule* rule = find_operator_rule(call.name); rule && rule->use == OperandUse::copy) {
    for (std::size_t i = 0; i < depth; ++i) thread.open[i].moved_inside = true;
  }
  if (open.reported) return;
  call.outputs = devices_of_results(function.outputs());
  const Judgement judgement = judge_ran(call, is_composite(function), open.moved_inside);
  if (judgement.verdict == Verdict::none) return;
  call.chain = chain_to(thread, depth);
  for (std::size_t i = 0; i < depth; ++i) thread.open[i].reported = true;
  report_ran(thread, call, function.name(), judgement);
}

void ended(const at::RecordFunction& function, at::ObserverContext*) {
  ThreadState& thread = this_thread();
  if (*thread.guard != 0) return;
  // Operators that end on another thread than they began on leave their entry behind; it goes with the first one below
  // it.
  std::size_t depth = thread.depth;
  while (depth > 0 && thread.open[depth - 1].function != &function) --depth;
  if (depth == 0) return;
  thread.depth = --depth;
  OpenOperator& open = thread.open[depth];
  const bool has_raised = std::uncaught_exceptions() > open.uncaught;
  if (!has_raised && !open.call && !thread.draft) return;

  const Unobserved unobserved;
  if (has_raised) {
    keep_draft(thread, depth, open);
    if (is_outermost(thread, depth)) settle_draft(thread);
  } else {
    ran(thread, depth, open, function);
  }
  open.call.reset();
}

}  // namespace

void observe() {
  at::addGlobalCallback(
      at::RecordFunctionCallback(&started, &ended).needsInputs(true).scopes({at::RecordScope::FUNCTION}));
}

void error_thrown(void* object, const void* type) {
  ThreadState& thread = this_thread();
  keep(thread.thrown, object, type);
  thread.thrown.within = thread.depth ? thread.open[thread.depth - 1].function : nullptr;
}

void program_aborts() {
  // std::terminate has caught the exception by the time it aborts; any other abort is not ours to look at.
  if (abi::__cxa_current_exception_type() == nullptr) return;
  ThreadState& thread = this_thread();
  if (thread.depth == 0) return;
  OpenOperator& open = thread.open[thread.depth - 1];
  if (thread.thrown.within != open.function) return;
  keep_draft(thread, thread.depth - 1, open);
  if (const auto id = settle_draft(thread)) write_outcome(*id, /*caught=*/false);
}

}  // namespace device_audit::hook
