// The files that are mapped into a process, from /proc/<pid>/maps.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "hook/system.h"
#include "hook/text.h"

namespace device_audit::core {

struct Mapping {
  std::uintptr_t start, end;
  bool shared;
  std::string_view path;  // absolute
};

// Calls `visit(const Mapping&)` for each mapping of a file, until one call returns false. `pid` 0: this process. False
// where the process is gone or another user's.
template <typename Visit>
bool for_each_mapping(int pid, Visit visit) {
  FixedText<32> path;
  path << "/proc/";
  if (pid == 0) {
    path << "self";
  } else {
    path << pid;
  }
  path << "/maps";
  const int fd = sys::open_at(AT_FDCWD, path.c_str(), O_RDONLY);
  if (fd < 0) return false;
  const auto hexadecimal = [](const char*& text) {
    std::uintptr_t value = 0;
    for (;; ++text) {
      const char c = *text;
      const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
      if (digit < 0) return value;
      value = value << 4 | static_cast<std::uintptr_t>(digit);
    }
  };
  char buffer[8192];  // longer than the longest line
  std::size_t held = 0;
  bool wanted = true;
  while (wanted) {
    const ssize_t got = sys::read(fd, buffer + held, sizeof buffer - held);
    if (got <= 0) break;
    held += static_cast<std::size_t>(got);
    char* line = buffer;
    while (wanted) {
      char* end = static_cast<char*>(std::memchr(line, '\n', held - static_cast<std::size_t>(line - buffer)));
      if (!end) break;
      *end = '\0';
      if (const char* slash = std::strchr(line, '/')) {
        const char* text = line;
        Mapping mapping{};
        mapping.start = hexadecimal(text);
        ++text;
        mapping.end = hexadecimal(text);
        mapping.shared = text[1] == 'r' && text[4] == 's';  // ` rw-s `
        mapping.path = std::string_view(slash, static_cast<std::size_t>(end - slash));
        wanted = visit(static_cast<const Mapping&>(mapping));
      }
      line = end + 1;
    }
    held -= static_cast<std::size_t>(line - buffer);
    std::memmove(buffer, line, held);
  }
  sys::close(fd);
  return true;
}

}  // namespace device_audit::core
