#include "hook/torch/findings.h"

#include <sys/syscall.h>
#include <torch/csrc/autograd/node.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <new>
#include <unordered_map>

#include "audit/explanation.h"
#include "audit/pairs.h"
#include "hook/torch/core.h"
#include "hook/torch/native_stack.h"
#include "hook/torch/operands.h"
#include "hook/torch/record.h"

namespace device_audit::hook {
namespace {

// The finding that something belongs to: the same operator, devices and line of the program.
struct Key {
  const void* operator_identity;
  std::size_t devices;
  const void* code;  // of the Python line, or the innermost native address
  std::intptr_t instruction;
  Verdict verdict;
  bool operator==(const Key&) const = default;
};

struct KeyHash {
  std::size_t operator()(const Key& key) const {
    std::size_t hash = std::hash<const void*>{}(key.operator_identity);
    for (const std::size_t part : {key.devices, reinterpret_cast<std::size_t>(key.code),
                                   static_cast<std::size_t>(key.instruction), static_cast<std::size_t>(key.verdict)}) {
      hash = hash * 0x9E3779B97F4A7C15U + part;
    }
    return hash;
  }
};

enum Counter { kCount, kLastSeen, kBytes, kDuration, kCounters };

struct Seen {
  std::uint32_t id = 0;
  std::uint64_t* counters = nullptr;  // shared with the counts file, or private where that could not be had
  bool shared = false;
};

// A mismatch whose error may turn out to have ended the program.
struct Raised {
  std::uint32_t id;
  std::string text;
  bool main_thread;
};

constexpr std::size_t kFindings = 4000;  // what the counts file has room for

struct Table {
  std::unordered_map<Key, Seen, KeyHash> seen;
  std::vector<Raised> raised;
  std::uint32_t next = 0;
  std::uint32_t process = 0;
  bool full = false;
};

std::mutex lock;
Table* table = new Table;  // never destroyed: threads may report while the process ends (P16)

std::int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

const std::string& working_folder() {
  static const std::string* folder = [] {
    std::error_code failed;
    return new std::string(std::filesystem::current_path(failed).string());
  }();
  return *folder;
}

std::size_t hash_of(const std::vector<Device>& devices) {
  std::size_t hash = 0;
  for (const Device& device : devices) hash = hash * 31 + std::hash<Device>{}(device);
  return hash;
}

// A fork seen by nothing but the changed number (a raw clone) is noticed here.
void renew_in_child() {
  if (table->process == core->process()) return;
  table = new Table;
  table->process = core->process();
}

// Counts one more of what `key` names. Returns its id where it is new, and then writes its counters' slot.
std::optional<std::uint32_t> count(const Key& key, std::int64_t when, std::optional<std::uint32_t>& slot) {
  const std::lock_guard<std::mutex> locked(lock);
  renew_in_child();
  const auto found = table->seen.find(key);
  if (found != table->seen.end()) {
    std::atomic_ref<std::uint64_t>(found->second.counters[kCount]).fetch_add(1, std::memory_order_relaxed);
    std::atomic_ref<std::uint64_t>(found->second.counters[kLastSeen]).store(static_cast<std::uint64_t>(when));
    return std::nullopt;
  }
  if (table->seen.size() >= kFindings) {
    if (!table->full) core->switched_off("new findings", "this process has 4000 different ones already");
    table->full = true;
    return std::nullopt;
  }
  Seen fresh;
  fresh.id = ++table->next;
  std::uint32_t index = 0;
  fresh.counters = core->counters(kCounters, &index);
  fresh.shared = fresh.counters != nullptr;
  if (fresh.shared) {
    slot = index;
  } else {
    fresh.counters = new std::uint64_t[kCounters]();
  }
  fresh.counters[kCount] = 1;
  fresh.counters[kLastSeen] = static_cast<std::uint64_t>(when);
  table->seen.emplace(key, fresh);
  return fresh.id;
}

bool in_optimizer(const Finding& finding) {
  for (const Frame& frame : finding.python) {
    if (frame.library && frame.place.file.find("/torch/optim/") != std::string::npos) return true;
  }
  for (const NativeFrame& frame : finding.native) {
    if (frame.function.starts_with("torch::optim::")) return true;
  }
  return false;
}

Phase phase_of(const Finding& finding) {
  if (torch::autograd::get_current_node()) return Phase::backward;
  return in_optimizer(finding) ? Phase::optimizer : Phase::forward;
}

void write(const Finding& finding, std::optional<std::uint32_t> slot) {
  const std::string members = record_of(finding, slot);
  core->journal(members.data(), members.size());
}

void find_place(Finding& finding, const std::vector<std::uintptr_t>& native) {
  if (core->settings->stacks_python) {
    const std::vector<python::Frame> stack = python::stack();
    finding.python = frames_of(stack);
    if (const python::Frame* site = python::site_of(stack)) {
      finding.site = finding.python[static_cast<std::size_t>(site - stack.data())].place;
    }
  }
  if (core->settings->stacks_native) locate(native, finding);
  finding.phase = phase_of(finding);
}

void say_finding(device_audit_level level, const Finding& finding) {
  if (core->settings->log_level < level) return;
  std::string text = explain(finding, working_folder());
  text.pop_back();  // the core ends the line
  say(level, text);
}

Finding finding_of(const OperatorCall& call, const Judgement& judgement, std::uint32_t id, std::int64_t when) {
  Finding finding;
  finding.id = id;
  finding.verdict = judgement.verdict;
  finding.legal_because = judgement.legal_because;
  finding.call = call;
  finding.devices = devices_of(call.operands);
  finding.pairs = crossing_pairs(call.operands);
  finding.thread = syscall(SYS_gettid);
  finding.first_seen = when;
  return finding;
}

Key key_of(const void* identity, const OperatorCall& call, Verdict verdict, const std::vector<std::uintptr_t>& native) {
  Key key{identity, hash_of(devices_of(call.operands)), nullptr, 0, verdict};
  const python::Site site = python::site();
  key.code = site.code;
  key.instruction = site.instruction;
  if (site.code == nullptr) {
    // Without a Python line the whole way here tells calls apart.
    std::size_t hash = 0;
    for (const std::uintptr_t address : native) hash = hash * 0x9E3779B97F4A7C15U + address;
    key.instruction = static_cast<std::intptr_t>(hash);
  }
  return key;
}

}  // namespace

std::optional<std::uint32_t> report_raised(ThreadState& thread, Draft& draft, const Judgement& judgement) {
  const std::int64_t when = now();
  std::optional<std::uint32_t> slot;
  const auto id = count(key_of(draft.identity, draft.call, judgement.verdict, thread.thrown.native), when, slot);
  if (!id) return std::nullopt;
  Finding finding = finding_of(draft.call, judgement, *id, when);
  finding.failure = thread.thrown.failure;
  find_place(finding, thread.thrown.native);
  write(finding, slot);
  {
    const std::lock_guard<std::mutex> locked(lock);
    table->raised.push_back({*id, finding.failure->text, finding.thread == getpid()});
  }
  say_finding(DEVICE_AUDIT_ERROR, finding);
  return id;
}

void report_ran(ThreadState&, const OperatorCall& call, const void* identity, const Judgement& judgement) {
  const std::int64_t when = now();
  std::vector<std::uintptr_t> native;
  // A native stack costs as much as the operator: only where no Python line names the place.
  if (!python::available()) native = native_stack();
  std::optional<std::uint32_t> slot;
  const auto id = count(key_of(identity, call, judgement.verdict, native), when, slot);
  if (!id) return;
  if (native.empty()) native = native_stack();
  Finding finding = finding_of(call, judgement, *id, when);
  find_place(finding, native);
  write(finding, slot);
  say_finding(judgement.verdict == Verdict::invalid ? DEVICE_AUDIT_ERROR : DEVICE_AUDIT_DEBUG, finding);
}

void write_outcome(std::uint32_t finding, bool caught) {
  const std::string members =
      R"("type":"outcome","finding":)" + std::to_string(finding) + R"(,"caught":)" + (caught ? "true" : "false");
  core->journal(members.data(), members.size());
}

void program_ended(const python::Uncaught* error) {
  std::vector<Raised> raised;
  {
    const std::lock_guard<std::mutex> locked(lock);
    renew_in_child();
    raised = table->raised;
  }
  std::optional<std::uint32_t> fatal;
  if (error) {
    for (const Raised& one : raised) {
      if (!one.text.empty() && error->text.find(one.text) != std::string::npos) fatal = one.id;
    }
    const std::string members = record_of(*error, fatal);
    core->journal(members.data(), members.size());
  }
  for (const Raised& one : raised) {
    // On another thread Python prints the error and goes on: nobody handled it, and the program did not end.
    if (one.id != fatal && !one.main_thread) continue;
    write_outcome(one.id, one.id != fatal);
  }
}

void write_totals() {
  const Unobserved unobserved;
  // A forked child that found nothing has nothing to say: its journal need not be opened for this.
  if (table->process != core->process() && core->process() != 0) return;
  struct Totals {
    std::uint64_t observed = 0, seen = 0;
  } totals;
  for_each_thread(
      [](ThreadState& thread, void* context) {
        auto* sums = static_cast<Totals*>(context);
        sums->observed += thread.observed.load(std::memory_order_relaxed);
        sums->seen |= thread.seen;
      },
      &totals);
  const std::string observed =
      R"("type":"observed","operators":)" + std::to_string(totals.observed) + R"(,"self_ns":null)";
  core->journal(observed.data(), observed.size());
  std::string devices = R"("type":"devices","devices":[)";
  for (int bit = 0; bit < 64; ++bit) {
    if (!(totals.seen >> bit & 1U)) continue;
    if (devices.back() != '[') devices += ',';
    devices += '"' + device_of_bit(bit) + '"';
  }
  devices += ']';
  core->journal(devices.data(), devices.size());
}

void findings_fork_prepare() {
  lock.lock();
}

void findings_fork_parent() {
  lock.unlock();
}

void findings_fork_child() {
  // The mutex is the child's alone now, but its owner is a thread of the parent: made anew, not unlocked.
  new (&lock) std::mutex;
  for_each_thread([](ThreadState& thread, void*) { thread.observed.store(0, std::memory_order_relaxed); }, nullptr);
}

}  // namespace device_audit::hook
