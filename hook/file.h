// Files that are written while the program may do anything with descriptors, signals and limits.
#pragma once

#include <signal.h>

#include <climits>
#include <string_view>

#include "hook/system.h"
#include "hook/text.h"

namespace device_audit::core {

// A set of signals as the kernel has it, one bit each.
constexpr std::uint64_t signal_bit(int signal) {
  return std::uint64_t{1} << (signal - 1);
}

// While one is alive, the signals that our own work raises do not reach the program on this thread; at the end they are
// taken off.
class SignalsBlocked {
 public:
  explicit SignalsBlocked(std::uint64_t signals);
  ~SignalsBlocked();
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

  // The thread's mask before.
  std::uint64_t mask_before() const { return before_; }

 private:
  std::uint64_t signals_;
  std::uint64_t before_;
  std::uint64_t pending_;  // what was pending before us and stays so
};

// Those of a failed write.
constexpr std::uint64_t write_signals = signal_bit(SIGPIPE) | signal_bit(SIGXFSZ);

// Writes all parts, in one system call where the kernel takes them whole. Returns 0 or an errno;
// `parts` is used up.
int write_all(int fd, iovec* parts, int count);

// A file that only grows, is ours, and stays the one that it was: a program may close any descriptor and open its own
// files in its place, so the descriptor is looked at before each write, and opened again if it is another's now.
class OwnFile {
 public:
  // Opens `folder`/`name` for appending, 0600, no symbolic link followed; `flags` may hold O_CREAT and O_EXCL. `folder`
  // is absolute. Returns 0 or an errno.
  int open(std::string_view folder, std::string_view name, int flags);

  // Returns 0, or an errno; then a file that was opened with O_EXCL is as it was before or, if even that fails, has a
  // torn last line.
  int append(iovec* parts, int count);

  // In a child: closes the copy of the parent's descriptor, if it is still that.
  void forget();

  bool is_open() const { return fd_ >= 0; }
  const char* path() const { return path_; }

 private:
  int ensure(struct stat& status);

  int fd_ = -1;
  bool only_writer_ = false;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  char path_[PATH_MAX] = {};
};

// A text for the errors that a file can meet.
const char* error_text(int error);

}  // namespace device_audit::core
