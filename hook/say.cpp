#include "hook/say.h"

#include <cstring>

#include "hook/configuration.h"
#include "hook/file.h"

namespace device_audit::core {
namespace {

struct {
  bool open;
  dev_t device;
  ino_t inode;
} first_stderr = {};

constinit OwnFile log_file;

// Not where descriptor 2 was closed at the start, and not where it is now a file that the program opened: unlike a
// redirection by dup2, such a one is closed on exec.
bool stderr_is_meant() {
  struct stat now;
  if (!first_stderr.open || sys::status(STDERR_FILENO, &now) != 0) return false;
  if (now.st_dev == first_stderr.device && now.st_ino == first_stderr.inode) return true;
  const long flags = syscall(SYS_fcntl, STDERR_FILENO, F_GETFD);
  return flags >= 0 && !(flags & FD_CLOEXEC);
}

}  // namespace

void remember_stderr() {
  ErrnoKept kept;
  struct stat status;
  if (first_stderr.open || sys::status(STDERR_FILENO, &status) != 0) return;
  first_stderr = {true, status.st_dev, status.st_ino};
}

void open_log() {
  if (!configuration.log_file[0]) return;
  FixedText<PATH_MAX> folder;
  std::string_view name = configuration.log_file;
  if (const char* slash = std::strrchr(configuration.log_file, '/')) {
    folder << std::string_view(configuration.log_file, static_cast<std::size_t>(slash - configuration.log_file));
    name = slash + 1;
  }
  if (configuration.log_file[0] != '/') {
    char cwd[PATH_MAX];
    if (syscall(SYS_getcwd, cwd, sizeof cwd) <= 0) return;
    FixedText<PATH_MAX> relative;
    relative << folder.view();
    folder.clear();
    folder << cwd << '/' << relative.view();
  }
  if (const int error = log_file.open(folder.view(), name, O_CREAT)) {
    FixedText<PATH_MAX + 256> line;
    line << "device-audit: the log file " << configuration.log_file << " cannot be opened: " << error_text(error)
         << "; the log goes to stderr";
    say_line(DEVICE_AUDIT_WARN, line.view());
  }
}

void say_line(device_audit_level level, std::string_view text) {
  if (static_cast<int>(level) > configuration.for_parts.log_level) return;
  ErrnoKept kept;
  char line_end = '\n';
  iovec parts[] = {{const_cast<char*>(text.data()), text.size()}, {&line_end, 1}};
  if (log_file.is_open()) {
    log_file.append(parts, 2);
  } else if (stderr_is_meant()) {
    write_all(STDERR_FILENO, parts, 2);
  }
}

}  // namespace device_audit::core
