#include "hook/directory.h"

#include <unistd.h>

#include <cstring>

#include "audit/settings.h"
#include "hook/configuration.h"
#include "hook/file.h"
#include "hook/job.h"
#include "hook/mappings.h"
#include "hook/system.h"

namespace device_audit::core {

constinit RunDirectory run_directory = {};

namespace {

// 20261201-150405, in UTC: local time is behind a lock of glibc's, which a fork may leave taken.
void write_time(Text& text) {
  const std::uint64_t seconds = nanoseconds(CLOCK_REALTIME) / 1'000'000'000u;
  const std::uint64_t of_day = seconds % 86400;
  // Days to date in the proleptic Gregorian calendar, by years that begin in March, from 0000-03-01 on.
  const std::uint64_t days = seconds / 86400 + 719468;
  const std::uint64_t era = days / 146097, of_era = days % 146097;
  const std::uint64_t year_of_era = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
  const std::uint64_t of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const std::uint64_t march_month = (5 * of_year + 2) / 153;
  const std::uint64_t day = of_year - (153 * march_month + 2) / 5 + 1;
  const std::uint64_t month = march_month < 10 ? march_month + 3 : march_month - 9;
  const std::uint64_t year = era * 400 + year_of_era + (month <= 2 ? 1 : 0);
  text.padded(year, 4).padded(month, 2).padded(day, 2) << '-';
  text.padded(of_day / 3600, 2).padded(of_day / 60 % 60, 2).padded(of_day % 60, 2);
}

// The parent of process `pid`; 0: none, or not to be known.
int parent_of(int pid) {
  FixedText<32> path;
  path << "/proc/" << pid << "/stat";
  const int fd = sys::open_at(AT_FDCWD, path.c_str(), O_RDONLY);
  if (fd < 0) return 0;
  char buffer[512];
  const ssize_t got = sys::read(fd, buffer, sizeof buffer - 1);
  sys::close(fd);
  if (got <= 0) return 0;
  buffer[got] = '\0';
  // `pid (name) state parent ...`, and a name may hold anything.
  const char* after_name = std::strrchr(buffer, ')');
  if (!after_name || std::strlen(after_name) < 4) return 0;
  const char* digits = after_name + 4;
  const auto parent = parse_count(std::string_view(digits, std::strcspn(digits, " ")));
  return parent ? static_cast<int>(*parent) : 0;
}

// Whether the last part of `path` is named as the counts files are: `123.counts`, `123-2.counts`.
bool is_counts_file(std::string_view path) {
  constexpr std::string_view ending = ".counts";
  if (!path.ends_with(ending)) return false;
  path.remove_suffix(ending.size());
  std::size_t digits = 0;
  for (; !path.empty() && path.back() != '/'; path.remove_suffix(1)) {
    const char c = path.back();
    if (c != '-' && (c < '0' || c > '9')) return false;
    digits += c != '-';
  }
  return digits > 0;
}

// What is wrong with the folder `path`, or null. Its last part is not to be a link, and it is to be ours: others could
// replace the files in it, or read them.
const char* folder_problem(const char* path) {
  ErrnoKept kept;
  const int fd = sys::open_at(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (fd < 0) {
    struct stat status;
    const int error = errno;
    const bool link = sys::link_status(path, &status) == 0 && S_ISLNK(status.st_mode);
    return error_text(link ? ELOOP : error);
  }
  struct stat status;
  const bool ours = sys::status(fd, &status) == 0 && status.st_uid == geteuid();
  sys::close(fd);
  return ours ? nullptr : "it belongs to another user";
}

// The directory of the oldest ancestor that is in a run.
void ancestors_directory(Text& path) {
  constexpr int deepest = 64;
  int pid = static_cast<int>(syscall(SYS_getppid));
  for (int depth = 0; depth < deepest && pid > 1; ++depth, pid = parent_of(pid)) {
    FixedText<PATH_MAX> found;
    directory_of_process(pid, found);
    if (found.size() && !folder_problem(found.c_str())) {
      path.clear();
      path << found.view();
    }
  }
}

void take(std::string_view path, bool owned, bool oldest) {
  Text(run_directory.path, sizeof run_directory.path) << path;
  run_directory.owned = owned;
  run_directory.oldest = oldest;
}

}  // namespace

void directory_of_process(int pid, Text& path) {
  bool has_core = false;
  path.clear();
  for_each_mapping(pid, [&](const Mapping& mapping) {
    if (mapping.path.ends_with("/libdevice_audit.so")) has_core = true;
    if (mapping.shared && is_counts_file(mapping.path)) {
      path.clear();
      path << mapping.path;
      path.shorten(path.view().rfind('/'));
    }
    return !(has_core && path.size());
  });
  if (!has_core) path.clear();
}

void expand_pattern(std::string_view pattern, Text& path) {
  if (!pattern.starts_with('/')) {
    char cwd[PATH_MAX];
    if (syscall(SYS_getcwd, cwd, sizeof cwd) > 0) path << cwd << '/';
  }
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char kind = pattern[i] == '%' && i + 1 < pattern.size() ? pattern[++i] : '\0';
    switch (kind) {
      case '\0':
        path << pattern[i];
        break;
      case '%':
        path << '%';
        break;
      case 'p':
        path << sys::process();
        break;
      case 'h': {
        char host[256] = {};
        gethostname(host, sizeof host - 1);
        for (char* c = host; *c; ++c) path << (*c == '/' ? '_' : *c);
        break;
      }
      case 'r':
        path << job_rank().value_or(0);
        break;
      case 't':
        write_time(path);
        break;
      default:
        path << '%' << kind;
    }
  }
}

const char* make_directory(const char* path) {
  ErrnoKept kept;
  char part[PATH_MAX];
  const std::size_t length = std::strlen(path);
  if (length >= sizeof part) return error_text(ENAMETOOLONG);
  std::memcpy(part, path, length + 1);
  for (std::size_t i = 1; i <= length; ++i) {
    if (part[i] != '/' && part[i] != '\0') continue;
    const char end = part[i];
    part[i] = '\0';
    // An existing folder answers EEXIST, and on some file systems something else: what counts is whether the last one
    // is there.
    const bool made = syscall(SYS_mkdirat, AT_FDCWD, part, 0700) == 0;
    if (!made && i == length && errno != EEXIST) return error_text(errno);
    part[i] = end;
  }
  return folder_problem(path);
}

void find_directory(Text& why) {
  FixedText<PATH_MAX> ancestor;
  ancestors_directory(ancestor);
  const bool oldest = ancestor.size() == 0;
  FixedText<PATH_MAX> path;
  if (configuration.run[0]) {
    path << configuration.run;
  } else if (!oldest) {
    return take(ancestor.view(), false, false);
  } else {
    expand_pattern(configuration.output, path);
  }
  take({}, false, oldest);
  const char* problem = path.cut() ? error_text(ENAMETOOLONG) : make_directory(path.c_str());
  if (!problem) return take(path.view(), !configuration.run[0], oldest);
  why << "device-audit: no journal: the directory " << path.view() << " cannot be used: " << problem
      << ". Name another with DEVICE_AUDIT_OUTPUT";
}

}  // namespace device_audit::core
