// Where the ranks of a communicator meet: memory that all their processes map. It is found through the unique
// identifier, which names the process that made it, so all ranks are on one machine.
#pragma once

#include <nccl.h>

#include <cstddef>
#include <cstdint>

namespace device_audit::simulate {

inline constexpr int kMaximumRanks = 256;
inline constexpr size_t kSlotBytes = size_t{1} << 20;  // what a rank can publish in one round
inline constexpr size_t kRingBytes = size_t{1} << 20;  // what is under way from one rank to another

// One rank's progress through the rounds of its communicator. Written by that rank alone.
struct alignas(64) RankProgress {
  int process;         // 0: not there yet
  uint64_t published;  // rounds whose bytes lie in this rank's slot
  uint64_t consumed;   // rounds that this rank has taken from all slots
};

struct alignas(64) Ring {
  uint64_t written, read;  // bytes, ever
};

class Meeting {
 public:
  // A fresh place, open for as long as this process lives. Errors: ncclSystemError.
  static ncclResult_t propose(ncclUniqueId* identifier);

  // Maps the place. Errors: ncclSystemError, with a line on stderr, where it cannot be reached.
  static ncclResult_t join(const ncclUniqueId& identifier, int size, int rank, Meeting** meeting);
  void leave();

  bool complete() const;
  // False where a process of another rank has ended.
  bool alive() const;

  int size() const { return size_; }
  int rank() const { return rank_; }
  RankProgress& progress(int rank) { return ranks_[rank]; }
  char* slot(int rank) { return slots_ + size_t(rank) * kSlotBytes; }
  Ring& ring(int from, int to) { return rings_[from * size_ + to]; }
  char* ring_bytes(int from, int to) { return ring_bytes_ + size_t(from * size_ + to) * kRingBytes; }

  // Whether every rank has published, or consumed, that many rounds.
  bool all_published(uint64_t rounds) const;
  bool all_consumed(uint64_t rounds) const;

 private:
  int size_, rank_;
  size_t bytes_;
  RankProgress* ranks_;
  Ring* rings_;
  char* slots_;
  char* ring_bytes_;
};

}  // namespace device_audit::simulate
