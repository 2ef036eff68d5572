#include "hook/render.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "hook/adapter.h"
#include "hook/configuration.h"
#include "hook/directory.h"
#include "hook/file.h"
#include "hook/say.h"
#include "hook/system.h"

namespace device_audit::core {
namespace {

constexpr int patience_seconds = 60;

// Appends the value of LD_PRELOAD without our libraries. Other entries stay: they may be what the machine needs (P20).
void add_foreign_libraries(std::string_view preload, Text& kept) {
  const std::size_t start = kept.size();
  while (!preload.empty()) {
    std::size_t length = 0;
    while (length < preload.size() && preload[length] != ':' && preload[length] != ' ') ++length;
    const std::string_view entry(preload.data(), length);
    std::string_view name = entry;
    if (const std::size_t slash = entry.rfind('/'); slash != std::string_view::npos) name.remove_prefix(slash + 1);
    if (!entry.empty() && !name.starts_with("libdevice_audit")) kept << (kept.size() > start ? ":" : "") << entry;
    preload.remove_prefix(length < preload.size() ? length + 1 : length);
  }
}

// A copy of the environment whose LD_PRELOAD is without us.
class CleanEnvironment {
 public:
  CleanEnvironment() {
    constexpr std::string_view name = "LD_PRELOAD=";
    std::size_t count = 0, preload_size = 1;
    for (char** entry = environ; entry && *entry; ++entry, ++count) {
      if (std::string_view(*entry).starts_with(name)) preload_size += std::strlen(*entry) + 1;
    }
    size_ = (count + 1) * sizeof(char*) + preload_size;
    void* memory = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return;
    entries_ = static_cast<char**>(memory);
    auto* text = reinterpret_cast<char*>(entries_ + count + 1);
    char** next = entries_;
    for (std::size_t i = 0; i < count && environ[i]; ++i) {
      *next = environ[i];
      std::string_view entry = environ[i];
      if (entry.starts_with(name)) {
        Text kept(text, entry.size() + 1);
        kept << name;
        entry.remove_prefix(name.size());
        add_foreign_libraries(entry, kept);
        if (kept.size() == name.size()) continue;
        *next = text;
        text += kept.size() + 1;
      }
      ++next;
    }
  }
  ~CleanEnvironment() {
    if (entries_) munmap(entries_, size_);
  }
  CleanEnvironment(const CleanEnvironment&) = delete;
  CleanEnvironment& operator=(const CleanEnvironment&) = delete;

  char** entries() const { return entries_; }

 private:
  char** entries_ = nullptr;
  std::size_t size_ = 0;
};

// Waits for this one child alone: whatever else the program has started is its own. Where SIGCHLD is ignored the kernel
// has reaped it (ECHILD).
bool wait_for(pid_t child) {
  const std::uint64_t deadline = nanoseconds(CLOCK_MONOTONIC) + patience_seconds * 1'000'000'000ull;
  while (nanoseconds(CLOCK_MONOTONIC) < deadline) {
    const long waited = syscall(SYS_wait4, child, nullptr, WNOHANG, nullptr);
    if (waited == child || (waited < 0 && errno == ECHILD)) return true;
    const timespec pause{0, 10'000'000};
    syscall(SYS_nanosleep, &pause, nullptr);
  }
  return false;
}

}  // namespace

void say_not_rendered(std::string_view why) {
  if (!configuration.format[0] || !run_directory.path[0]) return;
  FixedText<2 * PATH_MAX> line;
  line << "device-audit: " << why << ". The journal is kept: device-audit report " << run_directory.path;
  say_line(DEVICE_AUDIT_WARN, line.view());
}

void render_report() {
  if (!configuration.format[0]) return;
  FixedText<PATH_MAX> command;
  command << own_folder() << "/../bin/device-audit";
  CleanEnvironment environment;
  if (!environment.entries() || access(command.c_str(), X_OK) != 0) {
    FixedText<PATH_MAX + 64> what;
    what << "no report: " << command.view() << " is not there";
    return say_not_rendered(what.view());
  }
  const char* arguments[] = {"device-audit",       "report", run_directory.path, "--at-exit", "--format",
                             configuration.format, nullptr};

  // What the program does at the end of a child is for its own children.
  SignalsBlocked blocked(signal_bit(SIGCHLD));
  sigset_t mask;
  sigemptyset(&mask);
  const std::uint64_t mask_before = blocked.mask_before();
  std::memcpy(&mask, &mask_before, sizeof mask_before);
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  struct stat status;
  if (sys::status(STDERR_FILENO, &status) != 0) {  // or the command's own files would come to lie there
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  }
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigmask(&attributes, &mask);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t child = 0;
  const int error =
      posix_spawn(&child, command.c_str(), &files, &attributes, const_cast<char**>(arguments), environment.entries());
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  if (error) {
    say_not_rendered("no report: device-audit could not be started");
  } else if (!wait_for(child)) {
    say_not_rendered("the report takes longer than a minute and is left to itself");
  }
}

}  // namespace device_audit::core
