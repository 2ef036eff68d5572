// Operators that run after main: in handlers of exit, and as objects are destroyed that were made before main.
#include <cstdio>
#include <cstdlib>

#include "operators.h"

namespace {

void run(const char* when) {
  const Mixed mixed;
  mixed.run();
  try {
    mixed.raise();
  } catch (const c10::Error& error) {
    std::printf("%s: %s\n", when, error.what_without_backtrace());
  }
}

// Made before the audit can start, and so destroyed after it has marked the end.
struct MadeBeforeMain {
  ~MadeBeforeMain() { run("object made before main"); }
} made_before_main;

}  // namespace

int main() {
  static const struct MadeInMain {
    ~MadeInMain() { run("object made in main"); }
  } made_in_main;
  std::atexit([] { run("handler of exit"); });
  std::puts("main");
  return 6;
}
