#include "hook/python/source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

namespace device_audit::python {
namespace {

constexpr std::size_t kLongest = 1000;       // bytes of a line that are kept
constexpr std::size_t kLongestRead = 65536;  // before its indent is taken off

class File {
 public:
  explicit File(const char* path) {
    struct stat status {};
    // Before it is opened: opening a pipe, a terminal or a device is already an act.
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode)) return;
    descriptor_ = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  }
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  // The next bytes of the file, empty at its end or on an error.
  std::string_view next() {
    if (descriptor_ < 0) return {};
    ssize_t size;
    do {
      size = read(descriptor_, block_.data(), block_.size());
    } while (size < 0 && errno == EINTR);
    return {block_.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
  }

 private:
  int descriptor_ = -1;
  std::array<char, 16384> block_;
};

std::string trimmed(std::string line) {
  constexpr std::string_view kBlank = " \t\f\r";
  const std::size_t first = line.find_first_not_of(kBlank);
  if (first == std::string::npos) return {};
  line.erase(line.find_last_not_of(kBlank) + 1);
  return line.substr(first);
}

// Not in the middle of a UTF-8 character.
void cut(std::string& line) {
  if (line.size() <= kLongest) return;
  std::size_t end = kLongest;
  while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xC0) == 0x80) --end;
  line.resize(end);
}

}  // namespace

std::string source_line(const std::string& file, int number) {
  if (number < 1 || file.empty() || file.find('\0') != std::string::npos) return {};
  const int before = errno;
  File source(file.c_str());
  std::string line;
  int breaks_left = number - 1;
  for (std::string_view block = source.next(); !block.empty(); block = source.next()) {
    while (breaks_left > 0 && !block.empty()) {
      const std::size_t end = block.find('\n');
      block.remove_prefix(end == std::string_view::npos ? block.size() : end + 1);
      if (end != std::string_view::npos) --breaks_left;
    }
    if (breaks_left > 0) continue;
    const std::size_t end = block.find('\n');
    line += block.substr(0, end);
    if (end != std::string_view::npos || line.size() > kLongestRead) break;
  }
  line = trimmed(std::move(line));
  cut(line);
  errno = before;
  return line;
}

}  // namespace device_audit::python
