#include "hook/loader_call.h"

#include <signal.h>

#include "hook/system.h"

namespace device_audit::core {
namespace {

struct Noted {
  void** slot;
  void* return_address;
};
constinit thread_local Noted noted __attribute__((tls_model("initial-exec"))) = {nullptr, nullptr};

// Whether the word at `address` can be read: the kernel copies the set in before it refuses the operation. The stack
// may be a coroutine's that is gone.
bool readable(void** address) {
  ErrnoKept kept;
  return syscall(SYS_rt_sigprocmask, ~0, address, nullptr, sizeof *address) != 0 && errno != EFAULT;
}

}  // namespace

// A call in progress lies further up the stack and still has its return address there. One that has returned may have
// left it there too: then a look is put off until the next call, no more.
bool LoaderCall::in_progress(void** position) {
  return noted.slot && position < noted.slot && readable(noted.slot) && *noted.slot == noted.return_address;
}

void LoaderCall::begin(void** slot) {
  noted = {slot, *slot};
}

void LoaderCall::end(void** slot) {
  if (noted.slot == slot) noted = {nullptr, nullptr};
}

}  // namespace device_audit::core
