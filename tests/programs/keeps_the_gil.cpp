// Called by ctypes.PyDLL, which keeps the GIL: its threads run operators while nobody can take it.
#include <dlfcn.h>

#include <atomic>
#include <thread>
#include <vector>

#include "operators.h"

// Runs `calls` operators on each of `threads` threads, half of which raise, and waits for them. Returns on how many of
// the threads a Python thread state was there afterwards.
extern "C" __attribute__((visibility("default"))) int run_operators(int threads, int calls) {
  const Mixed mixed;
  auto* state_of_thread = reinterpret_cast<void* (*)()>(dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState"));
  std::atomic<int> with_state{0}, caught{0};
  std::vector<std::thread> running;
  for (int i = 0; i < threads; ++i) {
    running.emplace_back([&] {
      for (int call = 0; call < calls; ++call) {
        mixed.run();
        try {
          mixed.raise();
        } catch (const c10::Error&) {
          ++caught;
        }
      }
      if (state_of_thread()) ++with_state;
    });
  }
  for (std::thread& thread : running) thread.join();
  return caught == threads * calls ? with_state.load() : -1;
}
