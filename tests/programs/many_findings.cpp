// Makes many findings, each at another place.
//
// usage: many_findings COUNT [STEP...]     steps, taken in order before the findings:
//   open        opens the file "opened", which gets the lowest free descriptor, and prints that
//   few-files   lowers the limit on descriptors to 16 and opens until that is reached
//   fork        goes on in a child, and ends as that does
// Counts SIGXFSZ and SIGPIPE, prints the count and the sum of a tensor; exits with 4.
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "operators.h"

namespace {

volatile sig_atomic_t signals = 0;

void count_signal(int) {
  signals = signals + 1;
}

__attribute__((noinline)) void run_at_depth(const Mixed& mixed, int depth) {
  if (depth > 0) {
    run_at_depth(mixed, depth - 1);
  } else {
    mixed.run();
  }
  asm volatile("");  // no tail call: each depth is another way to the operator
}

void open_file() {
  std::printf("descriptor %d\n", open("opened", O_WRONLY | O_CREAT | O_TRUNC, 0600));
}

void use_up_files() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = 16;
  setrlimit(RLIMIT_NOFILE, &limit);
  while (open("/dev/null", O_RDONLY) >= 0) {
  }
  std::printf("no more files: %d\n", errno == EMFILE);
}

void go_on_in_child() {
  std::fflush(stdout);
  const pid_t pid = fork();
  if (pid == 0) return;
  int status = 0;
  waitpid(pid, &status, 0);
  std::_Exit(WIFEXITED(status) ? WEXITSTATUS(status) : 100);
}

}  // namespace

int main(int argc, char** argv) {
  signal(SIGXFSZ, &count_signal);
  signal(SIGPIPE, &count_signal);
  const Mixed mixed;
  for (int i = 2; i < argc; ++i) {
    const std::string_view step = argv[i];
    if (step == "open") open_file();
    if (step == "few-files") use_up_files();
    if (step == "fork") go_on_in_child();
  }
  for (int depth = 0; depth < std::atoi(argv[1]); ++depth) run_at_depth(mixed, depth);
  std::printf("%d signals, sum %g\n", static_cast<int>(signals), at::mm(mixed.cpu, mixed.cpu).data_ptr<float>()[0]);
  return 4;
}
