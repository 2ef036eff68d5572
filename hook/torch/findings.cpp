#include "hook/torch/findings.h"

#include <sys/syscall.h>
#include <torch/csrc/autograd/node.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <new>
#include <unordered_map>

#include "audit/explanation.h"
#include "audit/pairs.h"
#include "hook/python/names.h"
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
  std::size_t place;  // the Python line, or the whole native way
  Verdict verdict;
  bool operator==(const Key&) const = default;
};

struct KeyHash {
  std::size_t operator()(const Key& key) const {
    std::size_t hash = std::hash<const void*>{}(key.operator_identity);
    for (const std::size_t part : {key.devices, key.place, static_cast<std::size_t>(key.verdict)}) {
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

// The counters of a finding that could not be shared, as they are now: the last record counts.
void write_counts(const Seen& seen) {
  const std::uint64_t* counters = seen.counters;
  std::string members = R"("type":"counts","finding":)" + std::to_string(seen.id);
  members += R"(,"count":)" + std::to_string(counters[kCount]);
  members += R"(,"last_seen":)" + std::to_string(counters[kLastSeen]);
  members += R"(,"bytes":)" + std::to_string(counters[kBytes]);
  members += R"(,"duration_ns":)" + std::to_string(counters[kDuration]);
  core->journal(members.data(), members.size());
}

// Counts one more of what `key` names. Returns its id where it is new, and then writes its counters' slot.
std::optional<std::uint32_t> count(const Key& key, std::int64_t when, std::optional<std::uint32_t>& slot) {
  const std::lock_guard<std::mutex> locked(lock);
  renew_in_child();
  const auto found = table->seen.find(key);
  if (found != table->seen.end()) {
    const Seen& seen = found->second;
    const auto before = std::atomic_ref<std::uint64_t>(seen.counters[kCount]).fetch_add(1, std::memory_order_relaxed);
    std::atomic_ref<std::uint64_t>(seen.counters[kLastSeen]).store(static_cast<std::uint64_t>(when));
    // Ever less often, so that a kill loses less than half of a count and the journal stays short.
    if (!seen.shared && std::has_single_bit(before + 1)) write_counts(seen);
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

// What the user calls the operands, and in whose forward the thread is.
void find_names(Finding& finding) {
  std::vector<python::Sought> sought;
  for (const Operand& operand : finding.call.operands) sought.push_back({operand.object, operand.storage});
  const python::Names names = python::names_of(sought, &storage_of_object);
  for (std::size_t i = 0; i < std::min(names.tensors.size(), sought.size()); ++i) {
    finding.call.operands[i].name = names.tensors[i].name;
    finding.call.operands[i].module_path = names.tensors[i].module_path;
  }
  if (names.module) finding.module = Module{names.module->path, names.module->type};
}

void find_place(Finding& finding, const std::vector<std::uintptr_t>& native) {
  if (core->settings->stacks_python) {
    const std::vector<python::Frame> stack = python::stack();
    finding.python = frames_of(stack);
    if (const python::Frame* site = python::site_of(stack)) {
      finding.site = finding.python[static_cast<std::size_t>(site - stack.data())].place;
    }
  }
  find_names(finding);
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
  const python::Site site = python::site();
  Key key{identity, hash_of(devices_of(call.operands)), site.line, verdict};
  if (site.code == nullptr) {
    // Without a Python line the whole way here tells calls apart.
    for (const std::uintptr_t address : native) key.place = key.place * 0x9E3779B97F4A7C15U + address;
  }
  return key;
}

}  // namespace

void findings_start() {
  table->process = core->process();
}

std::optional<std::uint32_t> report_raised(const Draft& draft, const Judgement& judgement) {
  const std::int64_t when = now();
  std::optional<std::uint32_t> slot;
  const auto id = count(key_of(draft.identity, draft.call, judgement.verdict, draft.native), when, slot);
  if (!id) return std::nullopt;
  Finding finding = finding_of(draft.call, judgement, *id, when);
  finding.failure = draft.failure;
  find_place(finding, draft.native);
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
  {
    const std::lock_guard<std::mutex> locked(lock);
    // A forked child that found nothing has nothing to say: its journal need not be opened for this.
    if (table->process != core->process()) return;
    for (const auto& [key, seen] : table->seen) {
      if (!seen.shared) write_counts(seen);
    }
  }
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
