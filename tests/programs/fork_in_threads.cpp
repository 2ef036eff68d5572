// Forks while other threads run operators and make findings.
//
// usage: fork_in_threads CHILDREN
// Every child makes one finding of its own and ends with 7. Prints how many did; the file "raised" gets the operators
// that the parent's threads ran.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "operators.h"

namespace {

constexpr int thread_count = 4;
constexpr int most_sites = 64;

void attempt(const Mixed& mixed) {
  try {
    mixed.raise();
  } catch (const c10::Error&) {
  }
}

// Each depth is another way to the operator, and so another finding.
__attribute__((noinline)) void run_at_depth(const Mixed& mixed, int depth) {
  if (depth > 0) {
    run_at_depth(mixed, depth - 1);
  } else {
    attempt(mixed);
  }
  asm volatile("");  // no tail call
}

[[noreturn]] void child(const Mixed& mixed) {
  attempt(mixed);
  _exit(7);
}

}  // namespace

int main(int, char** argv) {
  const int children = std::atoi(argv[1]);
  const Mixed mixed;
  std::atomic<bool> stop{false};
  std::atomic<long> raised{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < thread_count; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; !stop; ++round) {
        run_at_depth(mixed, round % most_sites);
        ++raised;
      }
    });
  }
  while (raised == 0) std::this_thread::yield();
  int ended_well = 0;
  for (int i = 0; i < children; ++i) {
    const pid_t pid = fork();
    if (pid == 0) child(mixed);
    int status = 0;
    waitpid(pid, &status, 0);
    ended_well += WIFEXITED(status) && WEXITSTATUS(status) == 7;
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  std::printf("%d of %d children ended with 7\n", ended_well, children);
  if (std::FILE* file = std::fopen("raised", "w")) {
    std::fprintf(file, "%ld", raised.load());
    std::fclose(file);
  }
}
