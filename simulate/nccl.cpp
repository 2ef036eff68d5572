// NCCL: the ranks of one machine exchange their bytes through shared memory, and reduce them on the host.
//
// A collective is a sequence of rounds: each rank publishes a piece in its slot, and when all have, each takes what it
// needs from all slots. Calls are carried out before they return, or before ncclGroupEnd does, where one thread may act
// for several ranks: all calls of a group advance in turn, so that none waits for one behind it.
#include <cuda_runtime_api.h>
#include <nccl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "answer.h"
#include "memory.h"
#include "nccl_meeting.h"
#include "nccl_reduce.h"
#include "process.h"
#include "stream.h"

using device_audit::simulate::bytes_of;
using device_audit::simulate::kRingBytes;
using device_audit::simulate::kSlotBytes;
using device_audit::simulate::Meeting;
using device_audit::simulate::Reduction;
using device_audit::simulate::Ring;

struct ncclComm {
  Meeting* meeting;
  int device;
  uint64_t rounds;  // that this rank has begun
  bool aborted;
};

namespace {

enum class Who : char { kAll, kRoot };
enum class Take : char { kCopy, kReduce };

// What the collectives differ in. Each rank that publishes has one block for all, or one for each rank.
struct Collective {
  const char* name;
  bool block_for_each;
  Who publishes;
  Who takes;
  Take how;
};

constexpr Collective kAllReduce = {"ncclAllReduce", false, Who::kAll, Who::kAll, Take::kReduce};
constexpr Collective kReduce = {"ncclReduce", false, Who::kAll, Who::kRoot, Take::kReduce};
constexpr Collective kReduceScatter = {"ncclReduceScatter", true, Who::kAll, Who::kAll, Take::kReduce};
constexpr Collective kBroadcast = {"ncclBroadcast", false, Who::kRoot, Who::kAll, Take::kCopy};
constexpr Collective kAllGather = {"ncclAllGather", false, Who::kAll, Who::kAll, Take::kCopy};
constexpr Collective kGather = {"ncclGather", false, Who::kAll, Who::kRoot, Take::kCopy};
constexpr Collective kAllToAll = {"ncclAlltoAll", true, Who::kAll, Who::kAll, Take::kCopy};
constexpr Collective kScatter = {"ncclScatter", true, Who::kRoot, Who::kAll, Take::kCopy};
constexpr Collective kSend = {"ncclSend", false, Who::kAll, Who::kAll, Take::kCopy};
constexpr Collective kReceive = {"ncclRecv", false, Who::kAll, Who::kAll, Take::kCopy};
constexpr Collective kInitialise = {"ncclCommInitRank", false, Who::kAll, Who::kAll, Take::kCopy};

struct Call {
  const Collective* collective;
  ncclComm_t communicator;
  const char* from;  // where the memory really is
  char* to;
  size_t count;  // elements of one block
  ncclDataType_t type;
  Reduction reduction;
  int root;     // or the other rank, of a send or receive
  size_t done;  // elements, or bytes of a send or receive
  bool published;
  bool finished;
  Call* next;
};

// The open group of this thread.
struct Group {
  int depth;
  Call* first;
  Call** last;
};
constinit thread_local Group group __attribute__((tls_model("initial-exec")));

// The reductions that programs have made, numbered from ncclNumOps on; a slot is free where the factor is 0.
constexpr int kMostReductions = 64;
double factors[kMostReductions];

bool find_reduction(ncclRedOp_t operation, Reduction* reduction) {
  if (operation < ncclNumOps) {
    *reduction = {operation, 1};
    return true;
  }
  const int made = operation - ncclNumOps;
  if (made >= kMostReductions || factors[made] == 0) return false;
  *reduction = {ncclSum, factors[made]};
  return true;
}

bool takes_part(Who who, const Call& call, int rank) {
  return who == Who::kAll || rank == call.root;
}

void publish(const Call& call, size_t piece, size_t element) {
  Meeting& meeting = *call.communicator->meeting;
  char* slot = meeting.slot(meeting.rank());
  const int blocks = call.collective->block_for_each ? meeting.size() : 1;
  for (int block = 0; block < blocks; ++block) {
    memcpy(slot + size_t(block) * piece * element, call.from + (size_t(block) * call.count + call.done) * element,
           piece * element);
  }
}

void take(const Call& call, size_t piece, size_t element) {
  Meeting& meeting = *call.communicator->meeting;
  const size_t offset = call.collective->block_for_each ? size_t(meeting.rank()) * piece * element : 0;
  const void* sources[device_audit::simulate::kMaximumRanks];
  for (int rank = 0; rank < meeting.size(); ++rank) sources[rank] = meeting.slot(rank) + offset;
  if (call.collective->how == Take::kReduce) {
    device_audit::simulate::reduce(call.to + call.done * element, sources, meeting.size(), piece, call.type,
                                   call.reduction);
  } else if (call.collective->publishes == Who::kRoot) {
    memcpy(call.to + call.done * element, sources[call.root], piece * element);
  } else {
    for (int rank = 0; rank < meeting.size(); ++rank) {
      memcpy(call.to + (size_t(rank) * call.count + call.done) * element, sources[rank], piece * element);
    }
  }
}

// One round further, if the other ranks are as far. Returns whether anything was done.
bool advance_collective(Call& call) {
  Meeting& meeting = *call.communicator->meeting;
  auto& own = meeting.progress(meeting.rank());
  const size_t element = bytes_of(call.type);
  const size_t most = kSlotBytes / element / (call.collective->block_for_each ? size_t(meeting.size()) : 1);
  const size_t piece = call.count - call.done < most ? call.count - call.done : most;
  if (piece == 0) {
    call.finished = true;
    return true;
  }
  if (!call.published) {
    const uint64_t round = call.communicator->rounds;
    if (!meeting.all_consumed(round)) return false;
    if (takes_part(call.collective->publishes, call, meeting.rank())) publish(call, piece, element);
    call.communicator->rounds = round + 1;
    call.published = true;
    __atomic_store_n(&own.published, round + 1, __ATOMIC_RELEASE);
    return true;
  }
  if (!meeting.all_published(call.communicator->rounds)) return false;
  if (takes_part(call.collective->takes, call, meeting.rank())) take(call, piece, element);
  call.done += piece;
  call.published = false;
  __atomic_store_n(&own.consumed, call.communicator->rounds, __ATOMIC_RELEASE);
  return true;
}

// Bytes between two ranks go through a ring, which holds what is sent before it is received.
bool advance_transfer(Call& call) {
  Meeting& meeting = *call.communicator->meeting;
  const bool sends = call.collective == &kSend;
  const int from = sends ? meeting.rank() : call.root, to = sends ? call.root : meeting.rank();
  Ring& ring = meeting.ring(from, to);
  char* bytes = meeting.ring_bytes(from, to);
  const uint64_t written = __atomic_load_n(&ring.written, __ATOMIC_ACQUIRE);
  const uint64_t read = __atomic_load_n(&ring.read, __ATOMIC_ACQUIRE);
  const uint64_t position = sends ? written : read;
  const size_t total = call.count * bytes_of(call.type);
  size_t piece = sends ? kRingBytes - (written - read) : written - read;
  if (piece > total - call.done) piece = total - call.done;
  if (piece > kRingBytes - position % kRingBytes) piece = kRingBytes - position % kRingBytes;
  if (piece) {
    char* place = bytes + position % kRingBytes;
    if (sends) {
      memcpy(place, call.from + call.done, piece);
    } else {
      memcpy(call.to + call.done, place, piece);
    }
    __atomic_store_n(sends ? &ring.written : &ring.read, position + piece, __ATOMIC_RELEASE);
    call.done += piece;
  }
  call.finished = call.done == total;
  return piece || call.finished;
}

bool advance(Call& call) {
  if (call.collective == &kInitialise) return call.finished = call.communicator->meeting->complete();
  if (call.collective == &kSend || call.collective == &kReceive) return advance_transfer(call);
  return advance_collective(call);
}

// Whether an earlier unfinished call of the same communicator must come first: the rounds of one have an order, and so
// have the bytes from one rank to another.
bool must_wait(const Call* calls, const Call& call) {
  for (const Call* before = calls; before != &call; before = before->next) {
    if (before->finished || before->communicator != call.communicator) continue;
    const bool both_transfer =
        before->collective == call.collective && (call.collective == &kSend || call.collective == &kReceive);
    const bool one_transfers = before->collective == &kSend || before->collective == &kReceive ||
                               call.collective == &kSend || call.collective == &kReceive;
    if (both_transfer ? before->root == call.root : !one_transfers || before->collective == &kInitialise) return true;
  }
  return false;
}

// Waits a little longer each time nothing happens.
void pause(int& idle) {
  if (++idle < 64) {
    sched_yield();
    return;
  }
  const timespec time = {0, idle < 1024 ? 50'000 : 1'000'000};
  nanosleep(&time, nullptr);
}

ncclResult_t carry_out(Call* calls) {
  for (int idle = 0;;) {
    bool unfinished = false, moved = false;
    for (Call* call = calls; call; call = call->next) {
      if (call->finished) continue;
      if (__atomic_load_n(&call->communicator->aborted, __ATOMIC_ACQUIRE)) return ncclRemoteError;
      if (!must_wait(calls, *call) && advance(*call)) moved = true;
      if (!call->finished) unfinished = true;
    }
    if (!unfinished) return ncclSuccess;
    if (moved) {
      idle = 0;
      continue;
    }
    pause(idle);
    if (idle % 1024) continue;
    for (Call* call = calls; call; call = call->next) {
      if (call->finished || call->communicator->meeting->alive()) continue;
      device_audit::simulate::say("simulated GPU: %s: another rank has ended", call->collective->name);
      return ncclRemoteError;
    }
  }
}

ncclResult_t add(const Call& call) {
  auto* kept = static_cast<Call*>(malloc(sizeof(Call)));
  if (!kept) return ncclSystemError;
  *kept = call;
  if (!group.first) group.last = &group.first;
  *group.last = kept;
  group.last = &kept->next;
  return ncclSuccess;
}

ncclResult_t end_group() {
  Call* calls = group.first;
  group.first = nullptr;
  const ncclResult_t result = carry_out(calls);
  while (calls) {
    Call* next = calls->next;
    free(calls);
    calls = next;
  }
  return result;
}

ncclResult_t submit(const Call& call) {
  if (ncclResult_t result = add(call); result != ncclSuccess) return result;
  return group.depth ? ncclSuccess : end_group();
}

ncclResult_t run(const Collective& collective, ncclComm_t communicator, const void* from, void* to, size_t count,
                 ncclDataType_t type, ncclRedOp_t operation, int root, cudaStream_t stream) {
  if (!communicator || !bytes_of(type)) return ncclInvalidArgument;
  Meeting& meeting = *communicator->meeting;
  const size_t ranks = size_t(meeting.size()), block = count * bytes_of(type);
  if (root < 0 || root >= meeting.size()) return ncclInvalidArgument;
  Call call{&collective, communicator, nullptr, nullptr, count, type, {ncclSum, 1}, root, 0, false, false, nullptr};
  if (collective.how == Take::kReduce &&
      (!device_audit::simulate::reducible(type) || !find_reduction(operation, &call.reduction))) {
    return ncclInvalidArgument;
  }
  const bool transfers = &collective == &kSend || &collective == &kReceive;
  const bool gives = &collective != &kReceive && (transfers || takes_part(collective.publishes, call, meeting.rank()));
  const bool gets = &collective != &kSend && (transfers || takes_part(collective.takes, call, meeting.rank()));
  const bool gathers = !transfers && collective.how == Take::kCopy && collective.publishes == Who::kAll;
  if (block) {
    if (gives) {
      call.from = static_cast<const char*>(
          device_audit::simulate::reach(from, collective.block_for_each ? block * ranks : block));
    }
    if (gets) call.to = static_cast<char*>(device_audit::simulate::reach_to_write(to, gathers ? block * ranks : block));
    if ((gives && !call.from) || (gets && !call.to)) return ncclInvalidArgument;
  }
  if (device_audit::simulate::submit(stream) != cudaSuccess) return ncclUnhandledCudaError;
  return submit(call);
}

ncclResult_t initialise(ncclComm_t* communicator, int size, const ncclUniqueId& identifier, int rank) {
  *communicator = nullptr;
  if (device_audit::simulate::enter() != cudaSuccess) return ncclUnhandledCudaError;
  auto* made = static_cast<ncclComm_t>(calloc(1, sizeof(ncclComm)));
  if (!made) return ncclSystemError;
  made->device = device_audit::simulate::current_device();
  if (ncclResult_t result = Meeting::join(identifier, size, rank, &made->meeting); result != ncclSuccess) {
    free(made);
    return result;
  }
  *communicator = made;
  return submit({&kInitialise, made, nullptr, nullptr, 0, ncclInt8, {ncclSum, 1}, 0, 0, false, false, nullptr});
}

ncclResult_t drop(ncclComm_t communicator) {
  if (!communicator) return ncclSuccess;
  communicator->meeting->leave();
  free(communicator);
  return ncclSuccess;
}

// What registered buffers are known by: nothing is looked up through it.
int registered;

// How a rank asks to be split off.
struct Wish {
  int color, key;
  ncclUniqueId proposal;
};

}  // namespace

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}
const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclRemoteError:
      return "remote process exited or there was a network error";
    case ncclInvalidArgument:
      return "invalid argument (run with NCCL_DEBUG=WARN for details)";
    case ncclInvalidUsage:
      return "invalid usage (run with NCCL_DEBUG=WARN for details)";
    default:
      return "unhandled system error (run with NCCL_DEBUG=INFO for details)";
  }
}
const char* ncclGetLastError(ncclComm_t) {
  return "";
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* identifier) {
  return Meeting::propose(identifier);
}

ncclResult_t ncclCommInitRank(ncclComm_t* communicator, int size, ncclUniqueId identifier, int rank) {
  return initialise(communicator, size, identifier, rank);
}
ncclResult_t ncclCommInitRankConfig(ncclComm_t* communicator, int size, ncclUniqueId identifier, int rank,
                                    ncclConfig_t*) {
  return initialise(communicator, size, identifier, rank);
}
ncclResult_t ncclCommInitRankScalable(ncclComm_t* communicator, int size, int rank, int, ncclUniqueId* identifiers,
                                      ncclConfig_t*) {
  return initialise(communicator, size, identifiers[0], rank);
}
ncclResult_t ncclCommInitAll(ncclComm_t* communicators, int size, const int* devices) {
  ncclUniqueId identifier;
  if (ncclResult_t result = ncclGetUniqueId(&identifier); result != ncclSuccess) return result;
  ++group.depth;
  for (int rank = 0; rank < size; ++rank) {
    const ncclResult_t result = initialise(&communicators[rank], size, identifier, rank);
    if (result != ncclSuccess) {
      --group.depth;
      return result;
    }
    communicators[rank]->device = devices ? devices[rank] : rank;
  }
  return ncclGroupEnd();
}

ncclResult_t ncclCommSplit(ncclComm_t communicator, int color, int key, ncclComm_t* part, ncclConfig_t*) {
  *part = nullptr;
  const int size = communicator->meeting->size(), rank = communicator->meeting->rank();
  Wish own{color, key, {}};
  if (ncclResult_t result = Meeting::propose(&own.proposal); result != ncclSuccess) return result;
  auto* wishes = static_cast<Wish*>(calloc(size_t(size), sizeof(Wish)));
  if (!wishes) return ncclSystemError;
  Call call{&kAllGather,
            communicator,
            reinterpret_cast<char*>(&own),
            reinterpret_cast<char*>(wishes),
            sizeof own,
            ncclInt8,
            {ncclSum, 1},
            0,
            0,
            false,
            false,
            nullptr};
  ncclResult_t result = carry_out(&call);
  if (result == ncclSuccess && color != NCCL_SPLIT_NOCOLOR) {
    // Ranks of one color, by key and then by their old rank; the first one's proposal is taken.
    const auto before = [&](int a, int b) {
      return wishes[a].key != wishes[b].key ? wishes[a].key < wishes[b].key : a < b;
    };
    int members = 0, position = 0, first = rank;
    for (int other = 0; other < size; ++other) {
      if (wishes[other].color != color) continue;
      ++members;
      if (before(other, rank)) ++position;
      if (before(other, first)) first = other;
    }
    result = initialise(part, members, wishes[first].proposal, position);
  }
  free(wishes);
  return result;
}

ncclResult_t ncclCommDestroy(ncclComm_t communicator) {
  return drop(communicator);
}
// Whoever waits in a call of this communicator, in another thread, returns from it; so its memory stays.
ncclResult_t ncclCommAbort(ncclComm_t communicator) {
  if (communicator) __atomic_store_n(&communicator->aborted, true, __ATOMIC_RELEASE);
  return ncclSuccess;
}

ncclResult_t ncclCommCount(const ncclComm_t communicator, int* size) {
  *size = communicator->meeting->size();
  return ncclSuccess;
}
ncclResult_t ncclCommUserRank(const ncclComm_t communicator, int* rank) {
  *rank = communicator->meeting->rank();
  return ncclSuccess;
}
ncclResult_t ncclCommCuDevice(const ncclComm_t communicator, int* device) {
  *device = communicator->device;
  return ncclSuccess;
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t communicator, ncclResult_t* error) {
  *error = __atomic_load_n(&communicator->aborted, __ATOMIC_ACQUIRE) ? ncclRemoteError : ncclSuccess;
  return ncclSuccess;
}
ncclResult_t ncclCommMemStats(ncclComm_t, ncclCommMemStat_t, uint64_t* value) {
  *value = 0;
  return ncclSuccess;
}
ncclResult_t ncclCommRegister(const ncclComm_t, void*, size_t, void** handle) {
  *handle = &registered;
  return ncclSuccess;
}
ncclResult_t ncclMemAlloc(void** pointer, size_t bytes) {
  return cudaMalloc(pointer, bytes) == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}
ncclResult_t ncclMemFree(void* pointer) {
  return cudaFree(pointer) == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}

ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t* operation, void* scalar, ncclDataType_t type, ncclScalarResidence_t,
                                      ncclComm_t) {
  const void* read =
      device_audit::simulate::reducible(type) ? device_audit::simulate::reach(scalar, bytes_of(type)) : nullptr;
  if (!read) return ncclInvalidArgument;
  const double factor = device_audit::simulate::as_double(read, type);
  for (int made = 0; made < kMostReductions; ++made) {
    if (factors[made] != 0) continue;
    factors[made] = factor;
    *operation = static_cast<ncclRedOp_t>(ncclNumOps + made);
    return ncclSuccess;
  }
  return ncclInvalidUsage;
}
ncclResult_t ncclRedOpDestroy(ncclRedOp_t operation, ncclComm_t) {
  const int made = operation - ncclNumOps;
  if (made < 0 || made >= kMostReductions) return ncclInvalidArgument;
  factors[made] = 0;
  return ncclSuccess;
}

ncclResult_t ncclGroupStart() {
  ++group.depth;
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
  if (group.depth == 0) return ncclInvalidUsage;
  return --group.depth ? ncclSuccess : end_group();
}

ncclResult_t ncclAllReduce(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t operation,
                           ncclComm_t communicator, cudaStream_t stream) {
  return run(kAllReduce, communicator, from, to, count, type, operation, 0, stream);
}
ncclResult_t ncclReduce(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t operation, int root,
                        ncclComm_t communicator, cudaStream_t stream) {
  return run(kReduce, communicator, from, to, count, type, operation, root, stream);
}
ncclResult_t ncclReduceScatter(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t operation,
                               ncclComm_t communicator, cudaStream_t stream) {
  return run(kReduceScatter, communicator, from, to, count, type, operation, 0, stream);
}
ncclResult_t ncclBroadcast(const void* from, void* to, size_t count, ncclDataType_t type, int root,
                           ncclComm_t communicator, cudaStream_t stream) {
  return run(kBroadcast, communicator, from, to, count, type, ncclSum, root, stream);
}
ncclResult_t ncclBcast(void* memory, size_t count, ncclDataType_t type, int root, ncclComm_t communicator,
                       cudaStream_t stream) {
  return run(kBroadcast, communicator, memory, memory, count, type, ncclSum, root, stream);
}
ncclResult_t ncclAllGather(const void* from, void* to, size_t count, ncclDataType_t type, ncclComm_t communicator,
                           cudaStream_t stream) {
  return run(kAllGather, communicator, from, to, count, type, ncclSum, 0, stream);
}
ncclResult_t ncclGather(const void* from, void* to, size_t count, ncclDataType_t type, int root,
                        ncclComm_t communicator, cudaStream_t stream) {
  return run(kGather, communicator, from, to, count, type, ncclSum, root, stream);
}
ncclResult_t ncclScatter(const void* from, void* to, size_t count, ncclDataType_t type, int root,
                         ncclComm_t communicator, cudaStream_t stream) {
  return run(kScatter, communicator, from, to, count, type, ncclSum, root, stream);
}
ncclResult_t ncclAlltoAll(const void* from, void* to, size_t count, ncclDataType_t type, ncclComm_t communicator,
                          cudaStream_t stream) {
  return run(kAllToAll, communicator, from, to, count, type, ncclSum, 0, stream);
}
ncclResult_t ncclSend(const void* from, size_t count, ncclDataType_t type, int peer, ncclComm_t communicator,
                      cudaStream_t stream) {
  return run(kSend, communicator, from, nullptr, count, type, ncclSum, peer, stream);
}
ncclResult_t ncclRecv(void* to, size_t count, ncclDataType_t type, int peer, ncclComm_t communicator,
                      cudaStream_t stream) {
  return run(kReceive, communicator, nullptr, to, count, type, ncclSum, peer, stream);
}

}  // extern "C"

DEVICE_AUDIT_DONE_ANSWER(ncclSuccess)
#define DONE DEVICE_AUDIT_DONE
#define REFUSED(name) DEVICE_AUDIT_REFUSED(name, ncclInvalidUsage)
#define REFUSED_UNDECLARED(name) DEVICE_AUDIT_REFUSED_UNDECLARED(name, ncclInvalidUsage)
#include "nccl.def"
