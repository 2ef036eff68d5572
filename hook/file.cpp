#include "hook/file.h"

#include <poll.h>
#include <sys/resource.h>

#include <cstring>

namespace device_audit::core {
namespace {

std::uint64_t pending_signals() {
  std::uint64_t pending = 0;
  syscall(SYS_rt_sigpending, &pending, sizeof pending);
  return pending;
}

// Programs count on the lowest free descriptor, so ours lies high, where the limit allows it.
int moved_up(int fd) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const auto highest = limit.rlim_cur < 1024 ? limit.rlim_cur : 1024;
  const int moved = static_cast<int>(syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, highest - highest / 8));
  if (moved < 0) return fd;
  sys::close(fd);
  return moved;
}

// Waits, but not for ever, until a descriptor in non-blocking mode takes bytes again.
bool writable_again(int fd) {
  pollfd wait{fd, POLLOUT, 0};
  const timespec limit{1, 0};
  return syscall(SYS_ppoll, &wait, 1, &limit, nullptr, 0) == 1;
}

}  // namespace

SignalsBlocked::SignalsBlocked(std::uint64_t signals) : signals_(signals) {
  syscall(SYS_rt_sigprocmask, SIG_BLOCK, &signals_, &before_, sizeof before_);
  pending_ = pending_signals();
}

SignalsBlocked::~SignalsBlocked() {
  const std::uint64_t raised = pending_signals() & ~pending_ & signals_ & ~before_;
  const timespec now{};
  if (raised) sys::retried([&] { return syscall(SYS_rt_sigtimedwait, &raised, nullptr, &now, sizeof raised); });
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before_, nullptr, sizeof before_);
}

int write_all(int fd, iovec* parts, int count) {
  ErrnoKept kept;
  SignalsBlocked blocked(write_signals);
  while (count > 0) {
    ssize_t written = sys::write_vector(fd, parts, count);
    if (written < 0) {
      const int error = errno;
      if (error == EAGAIN && writable_again(fd)) continue;
      return error;
    }
    for (; count > 0 && static_cast<std::size_t>(written) >= parts->iov_len; ++parts, --count) {
      written -= static_cast<ssize_t>(parts->iov_len);
    }
    if (count > 0) {
      parts->iov_base = static_cast<char*>(parts->iov_base) + written;
      parts->iov_len -= static_cast<std::size_t>(written);
    }
  }
  return 0;
}

int OwnFile::open(std::string_view folder, std::string_view name, int flags) {
  Text path(path_, sizeof path_);
  path << folder << '/' << name;
  if (path.cut()) return ENAMETOOLONG;
  const int fd = sys::open_at(AT_FDCWD, path_, O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | flags, 0600);
  if (fd < 0) return errno;
  struct stat status;
  if (sys::status(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
    sys::close(fd);
    return EINVAL;
  }
  fd_ = moved_up(fd);
  only_writer_ = flags & O_EXCL;
  device_ = status.st_dev;
  inode_ = status.st_ino;
  return 0;
}

int OwnFile::ensure(struct stat& status) {
  if (sys::status(fd_, &status) == 0 && status.st_dev == device_ && status.st_ino == inode_) return 0;
  const int fd = sys::open_at(AT_FDCWD, path_, O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return errno;
  if (sys::status(fd, &status) != 0 || status.st_dev != device_ || status.st_ino != inode_) {
    sys::close(fd);
    return ESTALE;
  }
  fd_ = moved_up(fd);
  return 0;
}

int OwnFile::append(iovec* parts, int count) {
  ErrnoKept kept;
  struct stat status;
  if (const int error = ensure(status)) return error;
  rlim_t length = 0;
  for (int i = 0; i < count; ++i) length += parts[i].iov_len;
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
      static_cast<rlim_t>(status.st_size) + length > limit.rlim_cur) {
    return EFBIG;
  }
  const int error = write_all(fd_, parts, count);
  if (error && only_writer_) sys::truncate(fd_, static_cast<std::uint64_t>(status.st_size));
  return error;
}

void OwnFile::forget() {
  struct stat status;
  if (fd_ >= 0 && sys::status(fd_, &status) == 0 && status.st_dev == device_ && status.st_ino == inode_)
    sys::close(fd_);
  fd_ = -1;
}

const char* error_text(int error) {
  constexpr struct {
    int error;
    const char* text;
  } texts[] = {{ENOSPC, "no space left on the device"},
               {EDQUOT, "the disk quota is used up"},
               {EFBIG, "the file would grow over the limit on file sizes (ulimit -f)"},
               {EROFS, "the file system is read-only"},
               {EACCES, "permission denied"},
               {EPERM, "not permitted"},
               {ENOENT, "no such file or folder"},
               {ENOTDIR, "a part of the path is no folder"},
               {ELOOP, "it is a symbolic link, which is not followed"},
               {EEXIST, "the name is taken"},
               {ENAMETOOLONG, "the path is too long"},
               {EMFILE, "the process has too many open files (ulimit -n)"},
               {ENFILE, "the machine has too many open files"},
               {ESTALE, "it was replaced by another file"},
               {EINVAL, "it is no regular file"},
               {EIO, "input or output error"},
               {ENOEXEC, "it is no ELF file"}};
  for (const auto& each : texts) {
    if (each.error == error) return each.text;
  }
  return "the system refused it";
}

}  // namespace device_audit::core
