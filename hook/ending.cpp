#include "hook/ending.h"

#include <signal.h>

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

// Processes as process_number() tells them.
constinit std::uint32_t owner = 0;  // in which the audit started; 0: it has not
constinit std::uint32_t ended = 0;  // whose end has been marked

// False: another call was the first, or this is a vfork child.
bool first_to_end() {
  const std::uint32_t me = process_number();
  return !in_vfork_child() && __atomic_exchange_n(&ended, me, __ATOMIC_ACQ_REL) != me;
}

// `code` null: not known.
void mark(const char* how, const int* code) {
  if (!has_journal()) return;
  FixedText<128> members;
  members << "\"type\":\"end\",\"how\":\"" << how << "\",\"ended\":" << nanoseconds(CLOCK_REALTIME) << ",\"code\":";
  if (code) {
    members << *code;
  } else {
    members << "null";
  }
  append_record(members.view());
}

bool owns_the_run() {
  return run_directory.owned && owner == process_number();
}

void end_in_order(const int* code) {
  if (!first_to_end()) return;
  ErrnoKept kept;
  finish_adapter();
  Unobserved unobserved;
  mark("exit", code);
  if (owns_the_run()) render_report();
}

void at_exit(int code, void*) {
  end_in_order(&code);
}

// A handler of quick_exit is not told the code.
void at_quick_end() {
  end_in_order(nullptr);
}

// _exit may come from a signal handler, with any lock held: it marks the end, and neither calls the adapter nor
// renders.
void mark_exit_now(int code) {
  if (owner == 0 || guard != 0 || !first_to_end()) return;
  Unobserved unobserved;
  mark("_exit", &code);
  if (owns_the_run()) say_not_rendered("no report: the program ended by _exit");
}

// In front of main, where the originals are not yet known.
void exit_early(int code) {
  syscall(SYS_exit_group, code);
}

void abort_early() {
  syscall(SYS_tgkill, sys::process(), sys::thread(), SIGABRT);
  exit_early(128 + SIGABRT);
}

}  // namespace

void watch_ending() {
  owner = process_number();
  on_exit(at_exit, nullptr);
  at_quick_exit(at_quick_end);
}

// Each is called by thunk.S, which then goes on at what is returned.

extern "C" void (*device_audit_plan_exit(int code))(int) {
  mark_exit_now(code);
  return originals._exit ? originals._exit : exit_early;
}

extern "C" void (*device_audit_plan_Exit(int code))(int) {
  mark_exit_now(code);
  return originals._Exit ? originals._Exit : exit_early;
}

extern "C" void (*device_audit_plan_abort())() {
  if (owner != 0 && !in_vfork_child()) report_abort();
  return originals.abort ? originals.abort : abort_early;
}

}  // namespace device_audit::core
