// Counts what one operator whose operands agree costs beside its own work: allocations, locks and system calls.
//
// usage: steady_operator [observe | control]
// Prints "allocations A locks L system_calls S" summed over 1,000 calls of add_out on CPU tensors after a warm-up. With
// `observe`, an empty RecordFunction callback that asks for inputs is registered first: what any observer costs by
// PyTorch's own doing. With `control` the callback makes one of each, so that the counting itself can be seen to work.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/record_function.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif

namespace {

// SIGSYS comes instead of the system call while this is not 0.
volatile char armed = 0;
volatile int system_calls = 0;
volatile int allocations = 0;
volatile int locks = 0;

void system_call_made(int, siginfo_t*, void*) {
  armed = 0;
  system_calls = system_calls + 1;
}

}  // namespace

extern "C" {

void* __libc_malloc(size_t);

__attribute__((visibility("default"))) void* malloc(size_t size) {
  if (armed) allocations = allocations + 1;
  return __libc_malloc(size);
}

__attribute__((visibility("default"))) int pthread_mutex_lock(pthread_mutex_t* mutex) {
  using Lock = int (*)(pthread_mutex_t*);
  static std::atomic<Lock> original{nullptr};
  if (armed) locks = locks + 1;
  Lock found = original.load();
  if (!found) original = found = reinterpret_cast<Lock>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
  return found(mutex);
}

}  // extern "C"

namespace {

using Started = std::unique_ptr<at::ObserverContext>(const at::RecordFunction&);

std::unique_ptr<at::ObserverContext> do_nothing(const at::RecordFunction&) {
  return nullptr;
}

std::unique_ptr<at::ObserverContext> make_one_of_each(const at::RecordFunction&) {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  static void* volatile memory;
  free(memory);
  memory = malloc(16);
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  syscall(SYS_getppid);
  return nullptr;
}

void observe(Started* started) {
  at::addGlobalCallback(at::RecordFunctionCallback(started).needsInputs(true).scopes({at::RecordScope::FUNCTION}));
}

}  // namespace

int main(int argc, char** argv) {
  at::set_num_threads(1);
  const std::string_view mode = argc > 1 ? argv[1] : "";
  if (mode == "observe") observe(&do_nothing);
  if (mode == "control") observe(&make_one_of_each);
  struct sigaction action {};
  action.sa_sigaction = &system_call_made;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSYS, &action, nullptr);
  if (prctl(PR_SET_SYSCALL_USER_DISPATCH, 1, 0, 0, &armed) != 0) {
    std::puts("no syscall user dispatch here");
    return 77;
  }
  const at::Tensor a = at::ones({4, 4});
  const at::Tensor b = at::ones({4, 4});
  at::Tensor out = at::empty({4, 4});
  for (int i = 0; i < 1000; ++i) at::add_out(out, a, b);
  for (int i = 0; i < 1000; ++i) {
    armed = 1;
    at::add_out(out, a, b);
    armed = 0;
  }
  std::printf("allocations %d locks %d system_calls %d\n", allocations, locks, system_calls);
}
