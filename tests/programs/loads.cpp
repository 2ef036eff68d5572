// Loads a library while another thread makes errors, its own and those of operators, for which the library waits.
//
// usage: loads LIBRARY
#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <thread>

#include "operators.h"

namespace {

std::atomic<int> progress{0};
std::atomic<bool> stop{false};

// Each depth is another way to the operator, and so another finding.
__attribute__((noinline)) void raise_at_depth(const Mixed& mixed, int depth) {
  if (depth > 0) {
    raise_at_depth(mixed, depth - 1);
  } else {
    mixed.raise();
  }
  asm volatile("");  // no tail call
}

void make_errors(const Mixed& mixed) {
  for (int round = 0; !stop; ++round) {
    try {
      raise_at_depth(mixed, round % 300);
    } catch (const c10::Error&) {
      ++progress;
    }
    try {
      throw std::runtime_error("the program's own");
    } catch (const std::exception&) {
      ++progress;
    }
  }
}

}  // namespace

int main(int, char** argv) {
  const Mixed mixed;
  std::thread thread([&] { make_errors(mixed); });
  while (progress < 20) std::this_thread::yield();
  char address[32];
  std::snprintf(address, sizeof address, "%p", static_cast<void*>(&progress));
  setenv("PROGRESS", address, 1);
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  stop = true;
  thread.join();
  if (!library) {
    std::puts(dlerror());
    return 1;
  }
  const bool made = reinterpret_cast<int (*)()>(dlsym(library, "progress_was_made"))() != 0;
  std::puts(made ? "errors were made meanwhile" : "no error was made meanwhile");
}
