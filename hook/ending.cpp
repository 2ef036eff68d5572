#include "hook/ending.h"

#include <cstdlib>

#include "hook/adapter.h"
#include "hook/directory.h"
#include "hook/guard.h"
#include "hook/journal.h"
#include "hook/originals.h"
#include "hook/process.h"
#include "hook/render.h"
#include "hook/say.h"
#include "hook/system.h"

namespace device_audit::core {
namespace {

std::uint32_t owner = 0;  // the process that made the directory, as process_number() says it; 0: nothing is watched
std::uint32_t ended = 0;  // the process whose end has been marked

// False: another call was the first.
bool first_to_end() {
  const std::uint32_t me = process_number();
  return __atomic_exchange_n(&ended, me, __ATOMIC_ACQ_REL) != me;
}

void mark(const char* how, int code) {
  if (!has_journal()) return;
  FixedText<128> members;
  members << "\"type\":\"end\",\"how\":\"" << how << "\",\"code\":" << code
          << ",\"ended\":" << nanoseconds(CLOCK_REALTIME);
  append_record(members.view());
}

void at_exit(int code, void*) {
  if (!first_to_end()) return;
  ErrnoKept kept;
  finish_adapter();
  Unobserved unobserved;
  mark("exit", code);
  if (run_directory.made_here && owner == process_number()) render_report();
}

// A handler of quick_exit is not told the code.
void at_quick_end() {
  at_exit(0, nullptr);
}

// _exit may come from a signal handler, with any lock held: it marks the end and does nothing else. A vfork child ends
// so too, in its parent's memory, where the mark would be the parent's: has_journal() knows.
void mark_exit_now(int code) {
  if (owner == 0 || guard != 0 || sys::process() != identity.pid || !first_to_end()) return;
  Unobserved unobserved;
  mark("_exit", code);
}

[[noreturn]] void exit_now(void (*original)(int), int code) {
  mark_exit_now(code);
  if (original) original(code);
  for (;;) syscall(SYS_exit_group, code);
}

}  // namespace

void watch_ending() {
  owner = process_number();
  on_exit(at_exit, nullptr);
  at_quick_exit(at_quick_end);
}

extern "C" __attribute__((visibility("default"))) void _exit(int code) {
  exit_now(originals._exit, code);
}
extern "C" __attribute__((visibility("default"))) void _Exit(int code) {
  exit_now(originals._Exit, code);
}

}  // namespace device_audit::core
