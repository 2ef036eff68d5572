#include "report/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>

namespace device_audit::report {

int open_regular(const std::string& path, Links links) {
  const int fd =
      open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (links == Links::refuse ? O_NOFOLLOW : 0));
  if (fd < 0) return -1;
  struct stat status {};
  if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) return fd;
  close(fd);
  errno = EINVAL;
  return -1;
}

std::optional<std::string> read_file(const std::string& path, Links links, std::size_t limit) {
  const int fd = open_regular(path, links);
  if (fd < 0) return std::nullopt;
  std::string content;
  std::array<char, 1 << 16> buffer;
  while (content.size() < limit) {
    const ssize_t got = read(fd, buffer.data(), std::min(buffer.size(), limit - content.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    content.append(buffer.data(), static_cast<std::size_t>(got));
  }
  close(fd);
  return content;
}

int write_all(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = write(fd, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

int replace_file(const std::string& path, std::string_view content) {
  const std::string draft = path + "." + std::to_string(getpid()) + ".draft";
  const int fd = open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return errno;
  int error = write_all(fd, content);
  if (close(fd) != 0 && !error) error = errno;
  if (!error && rename(draft.c_str(), path.c_str()) != 0) error = errno;
  if (error) unlink(draft.c_str());
  return error;
}

}  // namespace device_audit::report
