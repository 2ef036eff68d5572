#include "hook/process.h"

#include <pthread.h>
#include <sys/mman.h>

#include "hook/journal.h"
#include "hook/system.h"

namespace device_audit::core {

constinit ProcessIdentity identity = {0, 0, false};
constinit ForkHandlers part_fork_handlers = {nullptr, nullptr, nullptr};

namespace {

// The page that a fork wipes, raw clone included; where the kernel cannot (before 4.14), a word that the fork handler
// wipes.
constinit std::uint32_t unwiped_number = 0;
constinit std::uint32_t* number = &unwiped_number;
constinit std::uint32_t last_number = 0;  // survives a fork

// Generation and process id: not even a recycled process id gives the number of an ancestor again.
constexpr int pid_bits = 22;  // PID_MAX_LIMIT

std::uint32_t new_number() {
  const int pid = sys::process();
  const std::uint32_t next = (((last_number >> pid_bits) + 1) << pid_bits) | static_cast<std::uint32_t>(pid);
  std::uint32_t expected = 0;
  if (!__atomic_compare_exchange_n(number, &expected, next, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return expected;
  if (last_number != 0) identity = {pid, identity.pid, true};
  last_number = next;
  return next;
}

void call(void (*handler)()) {
  if (handler) handler();
}

void before_fork() {
  call(part_fork_handlers.prepare);
  journal_before_fork();
}

void after_fork_in_parent() {
  journal_after_fork(false);
  call(part_fork_handlers.parent);
}

void after_fork_in_child() {
  ErrnoKept kept;
  __atomic_store_n(number, 0, __ATOMIC_RELEASE);
  process_number();
  journal_after_fork(true);
  call(part_fork_handlers.child);
}

}  // namespace

void start_process_identity() {
  void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page != MAP_FAILED) {
    madvise(page, 4096, MADV_WIPEONFORK);
    number = static_cast<std::uint32_t*>(page);
  }
  identity = {sys::process(), static_cast<int>(syscall(SYS_getppid)), false};
  process_number();
  pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

bool in_vfork_child() {
  process_number();  // any other child is brought up to date by it
  return sys::process() != identity.pid;
}

std::uint32_t process_number() {
  const std::uint32_t known = __atomic_load_n(number, __ATOMIC_ACQUIRE);
  return known ? known : new_number();
}

}  // namespace device_audit::core
