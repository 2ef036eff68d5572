#include "nccl_meeting.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process.h"

namespace device_audit::simulate {
namespace {

struct Identifier {
  int process;
  int file;
  unsigned long long inode;
  uint64_t random;
};
static_assert(sizeof(Identifier) <= sizeof(ncclUniqueId));

bool inode_of(int file, unsigned long long* inode) {
  struct statx status;
  if (statx(file, "", AT_EMPTY_PATH, STATX_INO, &status) != 0) return false;
  *inode = status.stx_ino;
  return true;
}

uint64_t load(const uint64_t& value) {
  return __atomic_load_n(&value, __ATOMIC_ACQUIRE);
}

}  // namespace

ncclResult_t Meeting::propose(ncclUniqueId* identifier) {
  Identifier made{.process = getpid(), .file = memfd_create("simulated-nccl", MFD_CLOEXEC), .inode = 0, .random = 0};
  if (made.file < 0 || !inode_of(made.file, &made.inode) ||
      getrandom(&made.random, sizeof made.random, 0) != sizeof made.random) {
    return ncclSystemError;
  }
  memset(identifier, 0, sizeof *identifier);
  memcpy(identifier, &made, sizeof made);
  return ncclSuccess;
}

ncclResult_t Meeting::join(const ncclUniqueId& identifier, int size, int rank, Meeting** meeting) {
  if (size < 1 || rank < 0 || rank >= size) return ncclInvalidArgument;
  Identifier made;
  memcpy(&made, &identifier, sizeof made);
  char name[64];
  snprintf(name, sizeof name, "/proc/%d/fd/%d", made.process, made.file);
  const int file = size <= kMaximumRanks ? open(name, O_RDWR | O_CLOEXEC) : -1;
  unsigned long long inode;
  if (file < 0 || !inode_of(file, &inode) || inode != made.inode) {
    say("simulated GPU: NCCL's rank %d of %d does not reach the others: simulated ranks are processes of one machine, "
        "%d at most",
        rank, size, kMaximumRanks);
    if (file >= 0) close(file);
    return ncclSystemError;
  }
  const size_t count = size_t(size);
  const size_t ranks = count * sizeof(RankProgress), rings = count * count * sizeof(Ring);
  const size_t header = (ranks + rings + 4095) / 4096 * 4096;
  const size_t bytes = header + count * kSlotBytes + count * count * kRingBytes;
  // All make the file the same size; what is not written to takes no memory.
  void* memory = ftruncate(file, off_t(bytes)) == 0
                     ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0)
                     : MAP_FAILED;
  close(file);
  auto* joined = memory == MAP_FAILED ? nullptr : static_cast<Meeting*>(malloc(sizeof(Meeting)));
  if (!joined) {
    if (memory != MAP_FAILED) munmap(memory, bytes);
    return ncclSystemError;
  }
  auto* start = static_cast<char*>(memory);
  joined->size_ = size;
  joined->rank_ = rank;
  joined->bytes_ = bytes;
  joined->ranks_ = reinterpret_cast<RankProgress*>(start);
  joined->rings_ = reinterpret_cast<Ring*>(start + ranks);
  joined->slots_ = start + header;
  joined->ring_bytes_ = start + header + count * kSlotBytes;
  __atomic_store_n(&joined->ranks_[rank].process, getpid(), __ATOMIC_RELEASE);
  *meeting = joined;
  return ncclSuccess;
}

void Meeting::leave() {
  munmap(ranks_, bytes_);
  free(this);
}

bool Meeting::complete() const {
  for (int rank = 0; rank < size_; ++rank) {
    if (!__atomic_load_n(&ranks_[rank].process, __ATOMIC_ACQUIRE)) return false;
  }
  return true;
}

bool Meeting::alive() const {
  for (int rank = 0; rank < size_; ++rank) {
    const int process = __atomic_load_n(&ranks_[rank].process, __ATOMIC_ACQUIRE);
    if (process && kill(process, 0) != 0 && errno == ESRCH) return false;
  }
  return true;
}

bool Meeting::all_published(uint64_t rounds) const {
  for (int rank = 0; rank < size_; ++rank) {
    if (load(ranks_[rank].published) < rounds) return false;
  }
  return true;
}

bool Meeting::all_consumed(uint64_t rounds) const {
  for (int rank = 0; rank < size_; ++rank) {
    if (load(ranks_[rank].consumed) < rounds) return false;
  }
  return true;
}

}  // namespace device_audit::simulate
