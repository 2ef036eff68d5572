// Called by ctypes.PyDLL, which keeps the GIL: its threads run operators while nobody can take it.
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <c10/util/Exception.h>
#include <dlfcn.h>

#include <atomic>
#include <thread>
#include <vector>

// Has each of `threads` threads make `calls` errors of an operator, and waits for them. Returns on how many of the
// threads there was a Python thread state afterwards. Of the operators that meet a meta tensor, this one does not
// itself ask Python.
extern "C" __attribute__((visibility("default"))) int run_operators(int threads, int calls) {
  const at::Tensor meta = at::empty({2, 2}, at::device(at::kMeta));
  auto* state_of_thread = reinterpret_cast<void* (*)()>(dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState"));
  std::atomic<int> with_state{0}, caught{0};
  std::vector<std::thread> running;
  for (int i = 0; i < threads; ++i) {
    running.emplace_back([&] {
      for (int call = 0; call < calls; ++call) {
        try {
          at::ones({2, 2}).copy_(meta);
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
