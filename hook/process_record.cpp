#include "hook/process_record.h"

#include <sys/mman.h>
#include <unistd.h>

#include <climits>
#include <cstring>
#include <ctime>

#include "audit/settings.h"
#include "hook/configuration.h"
#include "hook/job.h"
#include "hook/process.h"
#include "hook/system.h"

namespace device_audit::core {
namespace {

constexpr int journal_version = 1;

// The arguments of this process as the elements of a JSON list. The last one that fits is followed by "...".
void write_command(Text& json, std::size_t room) {
  const std::size_t limit = json.size() + room;
  const int fd = sys::open_at(AT_FDCWD, "/proc/self/cmdline", O_RDONLY);
  if (fd < 0) return;
  char buffer[16384];
  std::size_t held = 0;
  bool first = true;
  for (;;) {
    const ssize_t got = sys::read(fd, buffer + held, sizeof buffer - held);
    if (got > 0) held += static_cast<std::size_t>(got);
    const char* argument = buffer;
    std::size_t left = held;
    while (left > 0) {
      const std::size_t length = strnlen(argument, left);
      const bool whole = length < left;
      if (!whole && got > 0 && held < sizeof buffer) break;  // the rest is yet to be read
      const std::size_t before = json.size();
      json << (first ? "" : ",");
      json.quoted(std::string_view(argument, length));
      if (json.size() > limit) {
        json.shorten(before);
        json << (first ? "" : ",") << "\"...\"";
        sys::close(fd);
        return;
      }
      first = false;
      argument += length + whole;
      left -= length + whole;
    }
    held = left;
    std::memmove(buffer, argument, held);
    if (got <= 0) break;
  }
  sys::close(fd);
}

// When this process began, in nanoseconds since 1970: field 22 of /proc/self/stat counts clock ticks since the
// machine's start.
std::uint64_t start_time() {
  const std::uint64_t now = nanoseconds(CLOCK_REALTIME);
  const int fd = sys::open_at(AT_FDCWD, "/proc/self/stat", O_RDONLY);
  if (fd < 0) return now;
  char buffer[1024];
  const ssize_t got = sys::read(fd, buffer, sizeof buffer - 1);
  sys::close(fd);
  if (got <= 0) return now;
  buffer[got] = '\0';
  const char* field = std::strrchr(buffer, ')');
  for (int i = 2; field && i < 22; ++i) field = std::strchr(field + 1, ' ');
  if (!field) return now;
  const auto ticks = parse_count(std::string_view(field + 1, std::strcspn(field + 1, " ")));
  const long per_second = sysconf(_SC_CLK_TCK);
  if (!ticks || per_second <= 0) return now;
  const std::uint64_t age =
      nanoseconds(CLOCK_BOOTTIME) - *ticks * (1'000'000'000u / static_cast<std::uint64_t>(per_second));
  return age < now ? now - age : now;
}

void write_optional(Text& json, std::optional<std::uint64_t> number) {
  if (number) {
    json << *number;
  } else {
    json << "null";
  }
}

}  // namespace

ProcessRecord::ProcessRecord()
    : memory_(mmap(nullptr, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)),
      text_(memory_ == MAP_FAILED ? small_ : static_cast<char*>(memory_),
            memory_ == MAP_FAILED ? sizeof small_ : capacity) {
  const bool small = memory_ == MAP_FAILED;
  text_ << "\"type\":\"process\",\"journal\":" << journal_version
        << ",\"version\":\"" DEVICE_AUDIT_VERSION "\",\"pid\":" << identity.pid << ",\"parent\":" << identity.parent
        << ",\"forked\":" << (identity.forked ? "true" : "false") << ",\"rank\":";
  write_optional(text_, job_rank());
  text_ << ",\"world_size\":";
  write_optional(text_, job_size());
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  text_ << ",\"started\":" << start_time() << ",\"host\":";
  text_.quoted(host) << ",\"mode\":\"" << configuration.mode << "\",\"simulated\":" << configuration.for_parts.simulated
                     << ",\"executable\":";
  char executable[PATH_MAX];
  const long length = small ? -1 : syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", executable, sizeof executable);
  if (length > 0) {
    text_.quoted(std::string_view(executable, static_cast<std::size_t>(length)));
  } else {
    text_ << "null";
  }
  text_ << ",\"settings\":{";
  if (!small) write_given_settings(text_);
  text_ << "},\"command\":[";
  if (!small) write_command(text_, capacity - text_.size() - 16);
  text_ << ']';
}

ProcessRecord::~ProcessRecord() {
  if (memory_ != MAP_FAILED) munmap(memory_, capacity);
}

}  // namespace device_audit::core
