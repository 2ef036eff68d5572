// Ends by a signal, or nearly, after a finding.
//
// usage: dies handled | fatal | abort | terminate
#include <setjmp.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "operators.h"

namespace {

sigjmp_buf before_fault;
volatile int* nowhere = nullptr;

void say(const char* text) {
  if (write(STDERR_FILENO, text, std::strlen(text)) < 0) _exit(99);
}

void jump_out(int) {
  say("the program's handler jumps out\n");
  siglongjmp(before_fault, 1);
}

void die(int signal_number) {
  say("the program's handler dies of the same signal\n");
  signal(signal_number, SIG_DFL);
  raise(signal_number);
}

void handle_faults(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigaction(SIGSEGV, &action, nullptr);
}

}  // namespace

int main(int, char** argv) {
  const std::string_view how = argv[1];
  const Mixed mixed;
  mixed.run();
  if (how == "handled") {
    handle_faults(jump_out);
    if (sigsetjmp(before_fault, 1) == 0) *nowhere = 1;
    mixed.run();
    std::puts("and goes on");
  } else if (how == "fatal") {
    handle_faults(die);
    *nowhere = 1;
  } else if (how == "abort") {
    std::abort();
  } else if (how == "terminate") {
    mixed.raise();
  }
  return 4;
}
