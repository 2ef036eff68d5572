#include "memory.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process.h"

namespace device_audit::simulate {
namespace {

constexpr size_t kLargePage = size_t{2} << 20;

constexpr size_t round_up(size_t bytes, size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}
uintptr_t address_of(const void* pointer) {
  return reinterpret_cast<uintptr_t>(pointer);
}
void* pointer_to(uintptr_t address) {
  return reinterpret_cast<void*>(address);
}

class Guard {
 public:
  Guard() { pthread_mutex_lock(&lock_); }
  ~Guard() { pthread_mutex_unlock(&lock_); }
  Guard(const Guard&) = delete;

 private:
  inline static constinit pthread_mutex_t lock_ = PTHREAD_MUTEX_INITIALIZER;
};

// Blocks by address; none overlaps another.
class Blocks {
 public:
  // The first block that ends after `address`.
  size_t after(uintptr_t address) const {
    size_t low = 0, high = count_;
    while (low < high) {
      const size_t middle = (low + high) / 2;
      if (blocks_[middle].address + blocks_[middle].extent <= address) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  Block* containing(uintptr_t address) {
    const size_t index = after(address);
    return index < count_ && blocks_[index].address <= address ? &blocks_[index] : nullptr;
  }

  Block* beginning(uintptr_t address) {
    Block* block = containing(address);
    return block && block->address == address ? block : nullptr;
  }

  bool insert(const Block& block) {
    if (count_ == capacity_) {
      const size_t capacity = capacity_ ? capacity_ * 2 : 64;
      void* grown = realloc(blocks_, capacity * sizeof(Block));
      if (!grown) return false;
      blocks_ = static_cast<Block*>(grown);
      capacity_ = capacity;
    }
    const size_t index = after(block.address);
    memmove(blocks_ + index + 1, blocks_ + index, (count_ - index) * sizeof(Block));
    blocks_[index] = block;
    ++count_;
    return true;
  }

  void erase(const Block* block) {
    const size_t index = size_t(block - blocks_);
    memmove(blocks_ + index, blocks_ + index + 1, (count_ - index - 1) * sizeof(Block));
    --count_;
  }

  size_t count() const { return count_; }
  Block& operator[](size_t index) { return blocks_[index]; }

 private:
  Block* blocks_ = nullptr;
  size_t count_ = 0, capacity_ = 0;
};

// One device's range of addresses. It is longer than the device's memory, so that the gaps between blocks never stand
// in the way.
struct Span {
  uintptr_t begin;
  size_t extent;
  intptr_t shadow;
  int descriptor;     // of the memory, -1: anonymous
  uint64_t* written;  // one bit for each page that may hold anything but zeros, null: not known
  size_t used;
  size_t pool_used, pool_peak;
  bool refused;
};

constinit Blocks blocks;
constinit Blocks reservations;  // cuMemAddressReserve
constinit Span spans[kMaximumDevices];
constinit unsigned long long last_id = 0;

void* reserve(size_t bytes) {
  void* range = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return range == MAP_FAILED ? nullptr : range;
}

// A file in memory has a name that another process can open, for cudaIpcOpenMemHandle. A limit on file sizes holds for
// it too, and exceeding that limit is a signal: then the memory is anonymous.
int make_file(size_t bytes) {
  rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < bytes)) return -1;
  const int file = memfd_create("simulated-gpu", MFD_CLOEXEC);
  if (file >= 0 && ftruncate(file, off_t(bytes)) != 0) {
    close(file);
    return -1;
  }
  return file;
}

// The second mapping of shared memory that is mapped at `range`, readable and writable, at `fixed` if that is given.
void* map_again(uintptr_t range, size_t bytes, void* fixed) {
  // An old size of 0 asks for a copy of a shared mapping in place of a move.
  void* shadow = fixed ? mremap(pointer_to(range), 0, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, fixed)
                       : mremap(pointer_to(range), 0, bytes, MREMAP_MAYMOVE);
  if (shadow == MAP_FAILED) return nullptr;
  if (mprotect(shadow, bytes, PROT_READ | PROT_WRITE) == 0) return shadow;
  munmap(shadow, bytes);
  return nullptr;
}

// Device memory is neither inherited by children nor part of a core dump.
void keep_private(void* range, size_t bytes) {
  madvise(range, bytes, MADV_DONTFORK);
  madvise(range, bytes, MADV_DONTDUMP);
}

uint64_t* make_bits(size_t count) {
  void* bits = mmap(nullptr, count / 8, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return bits == MAP_FAILED ? nullptr : static_cast<uint64_t*>(bits);
}

bool open_span(int device) {
  Span& span = spans[device];
  if (span.begin) return true;
  if (span.refused) return false;
  const size_t extent = round_up(settings().memory, kLargePage) * 2;
  const int file = make_file(extent);
  const int shared = MAP_SHARED | MAP_NORESERVE | (file < 0 ? MAP_ANONYMOUS : 0);
  void* range = mmap(nullptr, extent, PROT_NONE, shared, file, 0);
  void* shadow = nullptr;
  if (range != MAP_FAILED) {
    if (settings().strict) {
      shadow = map_again(address_of(range), extent, nullptr);
    } else if (mprotect(range, extent, PROT_READ | PROT_WRITE) == 0) {
      shadow = range;
    }
  }
  if (!shadow) {
    say("simulated GPU %d: the system refuses %zu GiB of addresses: %s", device, extent >> 30, strerror(errno));
    if (range != MAP_FAILED) munmap(range, extent);
    if (file >= 0) close(file);
    span.refused = true;
    return false;
  }
  keep_private(range, extent);
  keep_private(shadow, extent);
  span = {.begin = address_of(range),
          .extent = extent,
          .shadow = intptr_t(address_of(shadow) - address_of(range)),
          .descriptor = file,
          .written = make_bits(extent / kPage),
          .used = 0,
          .pool_used = 0,
          .pool_peak = 0,
          .refused = false};
  return true;
}

// The lowest gap that is large enough, so that page tables stay small. 0: none.
uintptr_t lowest_gap(const Span& span, size_t extent) {
  uintptr_t gap = span.begin;
  const uintptr_t end = span.begin + span.extent;
  for (size_t i = blocks.after(span.begin); i < blocks.count() && blocks[i].address < end; ++i) {
    if (blocks[i].address - gap >= extent) return gap;
    gap = blocks[i].address + blocks[i].extent;
  }
  return end - gap >= extent ? gap : 0;
}

cudaError_t allocate_on_device(Kind kind, int device, size_t bytes, unsigned flags, void** pointer) {
  if (!open_span(device)) return cudaErrorMemoryAllocation;
  Span& span = spans[device];
  if (bytes > settings().memory) return cudaErrorMemoryAllocation;
  const size_t extent = round_up(bytes, kPage);
  if (span.used + extent > settings().memory) return cudaErrorMemoryAllocation;
  const uintptr_t address = lowest_gap(span, extent);
  const Block block{.address = address,
                    .bytes = bytes,
                    .extent = extent,
                    .shadow = span.shadow,
                    .backing = 0,
                    .offset = 0,
                    .id = ++last_id,
                    .flags = flags,
                    .references = 1,
                    .device = device,
                    .kind = kind};
  if (!address || !blocks.insert(block)) return cudaErrorMemoryAllocation;
  span.used += extent;
  if (kind == Kind::kPool) {
    span.pool_used += extent;
    if (span.pool_used > span.pool_peak) span.pool_peak = span.pool_used;
  }
  *pointer = pointer_to(address);
  return cudaSuccess;
}

cudaError_t allocate_on_host(Kind kind, int device, size_t bytes, unsigned flags, void** pointer) {
  const size_t extent = round_up(bytes, kPage);
  if (extent < bytes) return cudaErrorMemoryAllocation;
  void* memory = mmap(nullptr, extent, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return cudaErrorMemoryAllocation;
  const Block block{.address = address_of(memory),
                    .bytes = bytes,
                    .extent = extent,
                    .shadow = 0,
                    .backing = 0,
                    .offset = 0,
                    .id = ++last_id,
                    .flags = flags,
                    .references = 1,
                    .device = device,
                    .kind = kind};
  if (!blocks.insert(block)) {
    munmap(memory, extent);
    return cudaErrorMemoryAllocation;
  }
  *pointer = memory;
  return cudaSuccess;
}

// Pages of a span, by their number in it.
struct Pages {
  Span& span;
  size_t begin, end;

  bool written(size_t page) const { return !span.written || span.written[page / 64] >> page % 64 & 1; }
  // The first page from `page` on that is written, or is not.
  size_t next(size_t page, bool is_written) const {
    while (page < end && written(page) != is_written) {
      const bool whole_word_differs =
          span.written && page % 64 == 0 && span.written[page / 64] == (is_written ? 0 : ~uint64_t{0});
      page += whole_word_differs ? 64 : 1;
    }
    return page < end ? page : end;
  }
  void set(bool is_written) const {
    for (size_t page = begin; span.written && page < end; ++page) {
      const uint64_t bit = uint64_t{1} << page % 64;
      if (page % 64 == 0 && page + 64 <= end) {
        span.written[page / 64] = is_written ? ~uint64_t{0} : 0;
        page += 63;
      } else if (is_written) {
        span.written[page / 64] |= bit;
      } else {
        span.written[page / 64] &= ~bit;
      }
    }
  }
};

// Where a part of a block lies in its device's span, whatever addresses it is mapped at.
uintptr_t place_in_span(const Block& block, uintptr_t address) {
  return block.kind == Kind::kMapped ? block.backing + block.offset + (address - block.address) : address;
}

void mark_written(const Block& block, uintptr_t address, size_t bytes) {
  if (!block.on_device() || block.kind == Kind::kImported) return;
  Span& span = spans[block.device];
  const uintptr_t begin = place_in_span(block, address) - span.begin;
  Pages{span, begin / kPage, round_up(begin + bytes, kPage) / kPage}.set(true);
}

// Zeros for what was written in a part of a block. Pages that lie wholly inside become clean; long runs of them go back
// to the system instead of being written to.
void forget(const Block& block, uintptr_t address, size_t bytes) {
  if (!block.on_device() || block.kind == Kind::kImported) return;
  constexpr size_t long_run = 16;
  Span& span = spans[block.device];
  const uintptr_t begin = place_in_span(block, address) - span.begin, end = begin + bytes;
  const uintptr_t memory = span.begin + uintptr_t(span.shadow);
  const Pages touched{span, begin / kPage, round_up(end, kPage) / kPage};
  for (size_t first = touched.next(touched.begin, true); first < touched.end;) {
    const size_t last = touched.next(first, false);
    const uintptr_t from = first * kPage < begin ? begin : first * kPage;
    const uintptr_t to = last * kPage > end ? end : last * kPage;
    const Pages inside{span, round_up(from, kPage) / kPage, to / kPage};
    if (inside.end < inside.begin + long_run ||
        madvise(pointer_to(memory + inside.begin * kPage), (inside.end - inside.begin) * kPage, MADV_REMOVE) != 0) {
      memset(pointer_to(memory + from), 0, to - from);
    } else {
      memset(pointer_to(memory + from), 0, inside.begin * kPage - from);
      memset(pointer_to(memory + inside.end * kPage), 0, to - inside.end * kPage);
    }
    if (inside.begin < inside.end) inside.set(false);
    first = touched.next(last, true);
  }
}

void erase(Block* block) {
  switch (block->kind) {
    case Kind::kDevice:
    case Kind::kPool:
    case Kind::kPhysical: {
      Span& span = spans[block->device];
      madvise(pointer_to(block->address + uintptr_t(block->shadow)), block->extent, MADV_REMOVE);
      const size_t first = (block->address - span.begin) / kPage;
      Pages{span, first, first + block->extent / kPage}.set(false);
      span.used -= block->extent;
      if (block->kind == Kind::kPool) span.pool_used -= block->extent;
      break;
    }
    case Kind::kImported:
      if (block->shadow) munmap(pointer_to(block->address + uintptr_t(block->shadow)), block->extent);
      munmap(pointer_to(block->address), block->extent);
      break;
    case Kind::kManaged:
    case Kind::kPinned:
      munmap(pointer_to(block->address), block->extent);
      break;
    case Kind::kMapped:
    case Kind::kRegistered:
      break;
  }
  blocks.erase(block);
}

bool in_span(const Span& span, uintptr_t address) {
  return address - span.begin < span.extent;
}

void drop_reference(Block* physical) {
  if (--physical->references == 0) erase(physical);
}

}  // namespace

cudaError_t allocate(Kind kind, int device, size_t bytes, unsigned flags, void** pointer) {
  if (!pointer) return cudaErrorInvalidValue;
  *pointer = nullptr;
  if (bytes == 0) return cudaSuccess;
  Guard guard;
  return kind < Kind::kManaged ? allocate_on_device(kind, device, bytes, flags, pointer)
                               : allocate_on_host(kind, device, bytes, flags, pointer);
}

cudaError_t register_host(void* pointer, size_t bytes, unsigned flags, int device) {
  if (!pointer || !bytes) return cudaErrorInvalidValue;
  Guard guard;
  const uintptr_t address = address_of(pointer);
  const size_t next = blocks.after(address);
  if (next < blocks.count() && blocks[next].address < address + bytes) return cudaErrorHostMemoryAlreadyRegistered;
  const Block block{.address = address,
                    .bytes = bytes,
                    .extent = bytes,
                    .shadow = 0,
                    .backing = 0,
                    .offset = 0,
                    .id = ++last_id,
                    .flags = flags,
                    .references = 1,
                    .device = device,
                    .kind = Kind::kRegistered};
  return blocks.insert(block) ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t release(const void* pointer, Kind first, Kind last) {
  Guard guard;
  Block* block = blocks.beginning(address_of(pointer));
  if (!block || block->kind < first || block->kind > last) return cudaErrorInvalidValue;
  erase(block);
  return cudaSuccess;
}

bool find_block(const void* pointer, Block* found) {
  Guard guard;
  const Block* block = blocks.containing(address_of(pointer));
  if (!block || block->kind == Kind::kPhysical) return false;
  *found = *block;
  return true;
}

bool in_device_range(const void* pointer) {
  Guard guard;
  const uintptr_t address = address_of(pointer);
  for (const Span& span : spans) {
    if (in_span(span, address)) return true;
  }
  const Block* block = blocks.containing(address);
  return reservations.containing(address) || (block && block->kind == Kind::kImported);
}

namespace {

void* reach_locked(const void* pointer, size_t bytes, bool to_write) {
  const uintptr_t begin = address_of(pointer), end = begin + bytes;
  const Block* block = blocks.containing(begin);
  if (!block || block->kind == Kind::kPhysical) {
    for (const Span& span : spans) {
      if (in_span(span, begin)) return nullptr;
    }
    return reservations.containing(begin) ? nullptr : pointer_to(begin);
  }
  if (!block->on_device()) return pointer_to(begin);
  if (end < begin) return nullptr;
  const intptr_t shadow = block->shadow;
  // Mapped pieces that follow each other are one range.
  for (uintptr_t reached = begin;;) {
    const uintptr_t block_end = block->address + block->extent;
    if (to_write) mark_written(*block, reached, (block_end < end ? block_end : end) - reached);
    if (block_end >= end) return pointer_to(begin + uintptr_t(shadow));
    reached = block_end;
    block = blocks.beginning(reached);
    if (!block || block->kind != Kind::kMapped || block->shadow != shadow) return nullptr;
  }
}

}  // namespace

const void* reach(const void* pointer, size_t bytes) {
  Guard guard;
  return reach_locked(pointer, bytes, false);
}

void* reach_to_write(void* pointer, size_t bytes) {
  Guard guard;
  return reach_locked(pointer, bytes, true);
}

void forget(void* pointer, size_t bytes) {
  Guard guard;
  const uintptr_t end = address_of(pointer) + bytes;
  for (uintptr_t reached = address_of(pointer); reached < end;) {
    const Block* block = blocks.containing(reached);
    if (!block) return;
    const uintptr_t block_end = block->address + block->extent;
    forget(*block, reached, (block_end < end ? block_end : end) - reached);
    reached = block_end;
  }
}

cudaError_t fill(void* pointer, int value, size_t bytes) {
  if (!bytes) return cudaSuccess;
  if (!reach(pointer, bytes)) return cudaErrorInvalidValue;
  Block block;
  if ((value & 0xff) == 0 && find_block(pointer, &block) && block.on_device() && block.kind != Kind::kImported) {
    forget(pointer, bytes);
  } else {
    memset(reach_to_write(pointer, bytes), value, bytes);
  }
  return cudaSuccess;
}

Usage usage(int device) {
  Guard guard;
  const Span& span = spans[device];
  return {span.used, settings().memory, span.pool_used, span.pool_peak};
}

void reset_pool_peak(int device) {
  Guard guard;
  spans[device].pool_peak = spans[device].pool_used;
}

cudaError_t reserve_addresses(size_t bytes, size_t alignment, void** pointer) {
  if (!bytes || bytes % kPage) return cudaErrorInvalidValue;
  const size_t unit = alignment > kLargePage ? alignment : kLargePage;
  Guard guard;
  void* range = reserve(bytes + unit);
  void* shadow = range && settings().strict ? reserve(bytes) : range;
  if (!range || !shadow) {
    if (range) munmap(range, bytes + unit);
    return cudaErrorMemoryAllocation;
  }
  // The pages around the aligned part go back.
  const uintptr_t begin = round_up(address_of(range), unit);
  if (begin > address_of(range)) munmap(range, begin - address_of(range));
  if (const uintptr_t end = address_of(range) + bytes + unit; end > begin + bytes)
    munmap(pointer_to(begin + bytes), end - begin - bytes);
  Block block{};
  block.address = begin;
  block.bytes = block.extent = bytes;
  block.shadow = settings().strict ? intptr_t(address_of(shadow) - begin) : 0;
  if (!reservations.insert(block)) return cudaErrorMemoryAllocation;
  *pointer = pointer_to(begin);
  return cudaSuccess;
}

cudaError_t free_addresses(void* pointer, size_t bytes) {
  Guard guard;
  Block* reservation = reservations.beginning(address_of(pointer));
  if (!reservation || reservation->bytes != bytes) return cudaErrorInvalidValue;
  const size_t next = blocks.after(reservation->address);
  if (next < blocks.count() && blocks[next].address < reservation->address + bytes) return cudaErrorInvalidValue;
  munmap(pointer, bytes);
  if (reservation->shadow) munmap(pointer_to(reservation->address + uintptr_t(reservation->shadow)), bytes);
  reservations.erase(reservation);
  return cudaSuccess;
}

cudaError_t map_physical(void* pointer, size_t bytes, void* physical, size_t offset) {
  Guard guard;
  const uintptr_t address = address_of(pointer);
  const Block* reservation = reservations.containing(address);
  Block* memory = blocks.beginning(address_of(physical));
  if (!reservation || address + bytes > reservation->address + reservation->extent || !memory ||
      memory->kind != Kind::kPhysical || offset + bytes > memory->extent || !bytes ||
      (address | bytes | offset) % kPage) {
    return cudaErrorInvalidValue;
  }
  const size_t next = blocks.after(address);
  if (next < blocks.count() && blocks[next].address < address + bytes) return cudaErrorInvalidValue;
  void* shadow = pointer_to(address + uintptr_t(reservation->shadow));
  if (!map_again(memory->address + uintptr_t(memory->shadow) + offset, bytes, shadow)) return cudaErrorMemoryAllocation;
  keep_private(shadow, bytes);
  ++memory->references;
  const Block block{.address = address,
                    .bytes = bytes,
                    .extent = bytes,
                    .shadow = reservation->shadow,
                    .backing = memory->address,
                    .offset = offset,
                    .id = memory->id,
                    .flags = 0,
                    .references = 1,
                    .device = memory->device,
                    .kind = Kind::kMapped};
  return blocks.insert(block) ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t unmap_physical(void* pointer, size_t bytes) {
  Guard guard;
  const uintptr_t begin = address_of(pointer), end = begin + bytes;
  if (!reservations.containing(begin)) return cudaErrorInvalidValue;
  for (size_t i = blocks.after(begin); i < blocks.count() && blocks[i].address < end; i = blocks.after(begin)) {
    if (blocks[i].address < begin || blocks[i].address + blocks[i].extent > end) return cudaErrorInvalidValue;
    const Block block = blocks[i];
    mmap(pointer_to(block.address + uintptr_t(block.shadow)), block.extent, PROT_NONE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    blocks.erase(&blocks[i]);
    if (Block* memory = blocks.beginning(block.backing)) drop_reference(memory);
  }
  return cudaSuccess;
}

cudaError_t retain_physical(void* physical) {
  Guard guard;
  Block* memory = blocks.beginning(address_of(physical));
  if (!memory || memory->kind != Kind::kPhysical) return cudaErrorInvalidValue;
  ++memory->references;
  return cudaSuccess;
}

cudaError_t release_physical(void* physical) {
  Guard guard;
  Block* memory = blocks.beginning(address_of(physical));
  if (!memory || memory->kind != Kind::kPhysical) return cudaErrorInvalidValue;
  drop_reference(memory);
  return cudaSuccess;
}

namespace {

bool inode_of(int file, unsigned long long* inode) {
  struct statx status;  // fstat of glibc has a symbol version too new for older systems (P2)
  if (statx(file, "", AT_EMPTY_PATH, STATX_INO, &status) != 0) return false;
  *inode = status.stx_ino;
  return true;
}

}  // namespace

cudaError_t export_block(const void* pointer, Export* where) {
  Guard guard;
  const Block* block = blocks.containing(address_of(pointer));
  if (!block || block->kind != Kind::kDevice) return cudaErrorInvalidValue;
  const Span& span = spans[block->device];
  if (span.descriptor < 0) return cudaErrorNotSupported;
  *where = {.process = getpid(),
            .descriptor = span.descriptor,
            .inode = 0,
            .device = block->device,
            .offset = block->address - span.begin,
            .bytes = block->extent};
  return inode_of(span.descriptor, &where->inode) ? cudaSuccess : cudaErrorNotSupported;
}

cudaError_t import_block(const Export& where, int device, void** pointer) {
  char name[64];
  snprintf(name, sizeof name, "/proc/%d/fd/%d", where.process, where.descriptor);
  const int file = open(name, O_RDWR | O_CLOEXEC);
  if (file < 0) return cudaErrorMapBufferObjectFailed;
  unsigned long long inode;
  // The exporting process may have closed it and opened something else in its place.
  if (!inode_of(file, &inode) || inode != where.inode) {
    close(file);
    return cudaErrorMapBufferObjectFailed;
  }
  const bool strict = settings().strict;
  void* range =
      mmap(nullptr, where.bytes, strict ? PROT_NONE : PROT_READ | PROT_WRITE, MAP_SHARED, file, off_t(where.offset));
  close(file);
  if (range == MAP_FAILED) return cudaErrorMapBufferObjectFailed;
  void* shadow = strict ? map_again(address_of(range), where.bytes, nullptr) : range;
  if (!shadow) {
    munmap(range, where.bytes);
    return cudaErrorMapBufferObjectFailed;
  }
  keep_private(range, where.bytes);
  keep_private(shadow, where.bytes);
  Guard guard;
  const Block block{.address = address_of(range),
                    .bytes = where.bytes,
                    .extent = where.bytes,
                    .shadow = intptr_t(address_of(shadow) - address_of(range)),
                    .backing = 0,
                    .offset = 0,
                    .id = ++last_id,
                    .flags = 0,
                    .references = 1,
                    .device = device,
                    .kind = Kind::kImported};
  if (!blocks.insert(block)) return cudaErrorMemoryAllocation;
  *pointer = range;
  return cudaSuccess;
}

void reset_device(int device) {
  Guard guard;
  for (size_t i = 0; i < blocks.count();) {
    if (blocks[i].device == device && blocks[i].kind != Kind::kMapped && blocks[i].kind != Kind::kPhysical) {
      erase(&blocks[i]);
    } else {
      ++i;
    }
  }
}

}  // namespace device_audit::simulate
