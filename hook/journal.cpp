#include "hook/journal.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include "hook/crc.h"
#include "hook/directory.h"
#include "hook/file.h"
#include "hook/process.h"
#include "hook/process_record.h"
#include "hook/say.h"
#include "hook/system.h"

namespace device_audit::core {
namespace {

constexpr std::uint64_t counts_magic = 0x31544e554f434144;
constexpr std::uint32_t counts_size = 128 * 1024;
constexpr std::uint32_t counts_slots = counts_size / sizeof(std::uint64_t);
constexpr std::uint32_t first_free_slot = 8;
constexpr long patience_ms = 5000;

struct Journal {
  std::uint32_t process = 0;  // of which process; 0: of none yet
  bool usable = false;
  OwnFile file;
  std::uint64_t sequence = 0;
  std::uint64_t* counts = nullptr;
  std::uint32_t free_slot = first_free_slot;
};

constinit Journal journal;
constinit Lock lock;
// Whether this thread holds the lock because it forks.
constinit thread_local bool locked_for_fork __attribute__((tls_model("initial-exec"))) = false;
constinit char runtime_members[16 * 1024] = {};  // empty: not yet known

void say_off(const char* path, int error) {
  FixedText<PATH_MAX + 256> line;
  line << "device-audit: the journal " << path << " ends here: " << error_text(error) << " (errno " << error
       << "). What is found from now on is only said, not kept";
  say_line(DEVICE_AUDIT_WARN, line.view());
}

int write_record(std::string_view members) {
  FixedText<64> opening;  // `{"crc":"........","seq":N,`
  opening << "\"seq\":" << journal.sequence << ',';
  const std::uint32_t crc = crc32("}", crc32(members, crc32(opening.view())));
  const std::uint8_t bytes[] = {static_cast<std::uint8_t>(crc >> 24), static_cast<std::uint8_t>(crc >> 16),
                                static_cast<std::uint8_t>(crc >> 8), static_cast<std::uint8_t>(crc)};
  FixedText<96> start;
  start << "{\"crc\":\"";
  start.hexadecimal(bytes, 4) << "\"," << opening.view();
  char end[] = "}\n";
  iovec parts[] = {
      {const_cast<char*>(start.c_str()), start.size()}, {const_cast<char*>(members.data()), members.size()}, {end, 2}};
  const int error = journal.file.append(parts, 3);
  if (error) {
    journal.usable = false;
  } else {
    ++journal.sequence;
  }
  return error;
}

// Reserves the space of the counts file: where it is not, a full disk shows as SIGBUS once it is mapped. Some file
// systems (NFS) cannot reserve, and are written to instead.
bool reserve(int fd) {
  const auto fallocate = [fd] { return syscall(SYS_fallocate, fd, 0, 0L, static_cast<long>(counts_size)); };
  if (sys::retried(fallocate) == 0) return true;
  if (errno != EOPNOTSUPP && errno != ENOSYS) return false;
  static constexpr char zeros[4096] = {};
  for (std::uint32_t written = 0; written < counts_size; written += sizeof zeros) {
    iovec part{const_cast<char*>(zeros), sizeof zeros};
    if (write_all(fd, &part, 1) != 0) return false;
  }
  return true;
}

// The counts file beside the journal.
std::uint64_t* map_counts(const char* path) {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < counts_size) return nullptr;
  const int fd = sys::open_at(AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  if (fd < 0) return nullptr;
  void* mapped = MAP_FAILED;
  {
    SignalsBlocked blocked(write_signals);
    if (reserve(fd)) {
      mapped = mmap(nullptr, counts_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    }
  }
  sys::close(fd);
  if (mapped == MAP_FAILED) {
    syscall(SYS_unlinkat, AT_FDCWD, path, 0);
    return nullptr;
  }
  auto* counts = static_cast<std::uint64_t*>(mapped);
  counts[1] = counts_slots;
  __atomic_store_n(&counts[0], counts_magic, __ATOMIC_RELEASE);
  return counts;
}

// Makes `<pid>.jsonl`, or `<pid>-2.jsonl` and so on where the name is taken (P22), and its counts.
int open_pair() {
  constexpr int most_names = 1000;
  for (int attempt = 1; attempt <= most_names; ++attempt) {
    FixedText<64> name;
    name << identity.pid;
    if (attempt > 1) name << '-' << attempt;
    const std::size_t stem = name.size();
    name << ".jsonl";
    const int error = journal.file.open(run_directory.path, name.view(), O_CREAT | O_EXCL);
    if (error == EEXIST) continue;
    if (error) return error;
    name.shorten(stem);
    FixedText<PATH_MAX> counts;
    counts << run_directory.path << '/' << name.view() << ".counts";
    journal.counts = counts.cut() ? nullptr : map_counts(counts.c_str());
    return 0;
  }
  return EEXIST;
}

void open_journal() {
  if (journal.process != 0) journal.file.forget();
  journal.process = process_number();
  journal.usable = false;
  journal.sequence = 0;
  journal.counts = nullptr;
  journal.free_slot = first_free_slot;
  if (!run_directory.path[0]) return;
  int error = open_pair();
  if (error == 0) {
    journal.usable = true;
    ProcessRecord record;
    error = write_record(record.members());
    if (error == 0 && runtime_members[0]) error = write_record(runtime_members);
  }
  if (error) say_off(journal.file.path(), error);
}

// Takes the lock. False: nothing can be written.
bool enter() {
  if (in_vfork_child() || !lock.acquire(patience_ms)) return false;
  if (journal.process != process_number()) open_journal();
  if (journal.usable) return true;
  lock.release();
  return false;
}

}  // namespace

void set_runtime_record(std::string_view members) {
  Text(runtime_members, sizeof runtime_members) << members;
}

int append_record(std::string_view members) {
  ErrnoKept kept;
  if (!enter()) return EBADF;
  const int error = write_record(members);
  if (error) say_off(journal.file.path(), error);
  lock.release();
  return error;
}

bool has_journal() {
  return !in_vfork_child() && journal.usable && journal.process == process_number();
}

std::uint64_t* take_counters(std::uint32_t count, std::uint32_t* slot) {
  ErrnoKept kept;
  std::uint64_t* counters = nullptr;
  if (!enter()) return counters;
  if (journal.counts && count <= counts_slots - journal.free_slot) {
    *slot = journal.free_slot;
    counters = journal.counts + journal.free_slot;
    journal.free_slot += count;
  }
  lock.release();
  return counters;
}

void journal_before_fork() {
  locked_for_fork = lock.acquire(patience_ms);
}

void journal_after_fork(bool in_child) {
  if (in_child) {
    lock.renew();
  } else if (locked_for_fork) {
    lock.release();
  }
  locked_for_fork = false;
}

}  // namespace device_audit::core
