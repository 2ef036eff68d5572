// The kernel, called directly: no cancellation point (a thread cancelled inside a hook would keep its locks), no stdio
// (P15), no wrapper of another preloaded library, and no symbol version newer than the floor.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <ctime>

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace device_audit::core {

// A hook leaves errno as the original left it.
class ErrnoKept {
 public:
  ErrnoKept() : saved_(errno) {}
  ~ErrnoKept() { errno = saved_; }
  ErrnoKept(const ErrnoKept&) = delete;
  ErrnoKept& operator=(const ErrnoKept&) = delete;

 private:
  int saved_;
};

namespace sys {

template <typename Call>
long retried(Call call) {
  long result;
  do {
    result = call();
  } while (result < 0 && errno == EINTR);
  return result;
}

inline int open_at(int folder, const char* path, int flags, unsigned mode = 0) {
  return static_cast<int>(retried([=] { return syscall(SYS_openat, folder, path, flags | O_CLOEXEC, mode); }));
}
inline void close(int fd) {
  syscall(SYS_close, fd);
}
inline ssize_t read(int fd, void* buffer, std::size_t size) {
  return retried([=] { return syscall(SYS_read, fd, buffer, size); });
}
inline ssize_t read_at(int fd, void* buffer, std::size_t size, std::uint64_t offset) {
  return retried([=] { return syscall(SYS_pread64, fd, buffer, size, offset); });
}
inline ssize_t write_vector(int fd, const iovec* parts, int count) {
  return retried([=] { return syscall(SYS_writev, fd, parts, count); });
}
// The struct of the kernel is the one of glibc on 64-bit machines, and fstat() itself has been a symbol only since
// glibc 2.33.
inline int status(int fd, struct stat* result) {
  return static_cast<int>(syscall(SYS_fstat, fd, result));
}
inline int link_status(const char* path, struct stat* result) {
  return static_cast<int>(syscall(SYS_newfstatat, AT_FDCWD, path, result, AT_SYMLINK_NOFOLLOW));
}
inline int truncate(int fd, std::uint64_t size) {
  return static_cast<int>(syscall(SYS_ftruncate, fd, size));
}
inline int process() {
  return static_cast<int>(syscall(SYS_getpid));
}
inline int thread() {
  return static_cast<int>(syscall(SYS_gettid));
}

}  // namespace sys

inline std::uint64_t nanoseconds(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(time.tv_nsec);
}

// A lock that knows its holder: who would wait for itself (from a signal handler) is refused instead, and so is who
// would wait for longer than it may.
class Lock {
 public:
  // False: this thread holds it already, or `milliseconds` have passed.
  bool acquire(long milliseconds) {
    const std::uint32_t me = static_cast<std::uint32_t>(sys::thread());
    const std::uint64_t deadline = nanoseconds(CLOCK_MONOTONIC) + static_cast<std::uint64_t>(milliseconds) * 1'000'000u;
    for (;;) {
      std::uint32_t seen = 0;
      if (__atomic_compare_exchange_n(&word_, &seen, me, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) return true;
      if ((seen & ~waited_for) == me) return false;
      const std::uint32_t marked = seen | waited_for;
      if (seen != marked &&
          !__atomic_compare_exchange_n(&word_, &seen, marked, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
        continue;
      }
      const std::uint64_t now = nanoseconds(CLOCK_MONOTONIC);
      if (now >= deadline) return false;
      const timespec wait{static_cast<time_t>((deadline - now) / 1'000'000'000u),
                          static_cast<long>((deadline - now) % 1'000'000'000u)};
      syscall(SYS_futex, &word_, FUTEX_WAIT_PRIVATE, marked, &wait, nullptr, 0);
    }
  }
  void release() {
    if (__atomic_exchange_n(&word_, 0, __ATOMIC_RELEASE) & waited_for) {
      syscall(SYS_futex, &word_, FUTEX_WAKE_PRIVATE, INT32_MAX, nullptr, nullptr, 0);
    }
  }
  // In a child that was forked while some thread, which the child does not have, may have held it.
  void renew() { __atomic_store_n(&word_, 0, __ATOMIC_RELEASE); }

 private:
  static constexpr std::uint32_t waited_for = 1u << 31;
  std::uint32_t word_ = 0;  // the holder's thread id; 0: free
};

}  // namespace device_audit::core
