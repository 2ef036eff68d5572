// The memory of the simulated devices, and what is known about every pointer.
//
// Each device has one range of addresses, mapped twice. The first mapping gives the pointers that programs see; under
// DEVICE_AUDIT_SIMULATE_STRICT it has no access rights, so that host code that touches it faults as on a GPU. Copies go
// through the second one, the shadow. Fresh memory reads as zeros, and freed pages go back to the system.
#pragma once

#include <driver_types.h>
#include <cstddef>
#include <cstdint>

namespace device_audit::simulate {

enum class Kind : uint8_t {
  kDevice,      // cudaMalloc
  kPool,        // cudaMallocAsync
  kPhysical,    // cuMemCreate: counted on the device, no pointer of its own
  kMapped,      // cuMemMap: the addresses through which such memory is used
  kImported,    // another process's memory
  kManaged,     // cudaMallocManaged
  kPinned,      // cudaHostAlloc
  kRegistered,  // cudaHostRegister
};

struct Block {
  uintptr_t address;
  size_t bytes;       // as asked for
  size_t extent;      // as taken, whole pages
  intptr_t shadow;    // what to add to an address to reach its memory
  uintptr_t backing;  // kMapped: the address of its kPhysical block
  size_t offset;      // kMapped: where in that block it begins
  unsigned long long id;
  unsigned flags;  // as given to cudaHostAlloc and its like
  int references;  // kPhysical: handles and mappings
  int device;
  Kind kind;

  bool on_device() const { return kind <= Kind::kImported; }
  bool of_host() const { return kind >= Kind::kPinned; }
};

inline constexpr size_t kPage = 4096;

// Errors: cudaErrorMemoryAllocation beyond the device's memory, and where the system refuses the addresses.
cudaError_t allocate(Kind kind, int device, size_t bytes, unsigned flags, void** pointer);

// Page-locks host memory that exists. Errors: cudaErrorHostMemoryAlreadyRegistered.
cudaError_t register_host(void* pointer, size_t bytes, unsigned flags, int device);

// Frees the block that begins at `pointer` if its kind is between `first` and `last`. Errors: cudaErrorInvalidValue.
cudaError_t release(const void* pointer, Kind first, Kind last);

// The block that `pointer` lies in.
bool find_block(const void* pointer, Block* block);

// Whether `pointer` is in a range that belongs to a device, allocated or not.
bool in_device_range(const void* pointer);

// Where the bytes really are: `pointer` itself for host memory, null for device memory that is not allocated up to its
// end.
const void* reach(const void* pointer, size_t bytes);
void* reach_to_write(void* pointer, size_t bytes);

// Fills with `value`; whole pages of zeros are given back to the system instead.
cudaError_t fill(void* pointer, int value, size_t bytes);

// Makes device memory read as zeros again, as fresh memory does, at the cost of what was written since: for allocators
// that give out again what they did not return. Memory of the host, or not allocated, is left alone.
void forget(void* pointer, size_t bytes);

struct Usage {
  size_t used;
  size_t total;
  size_t pool_used, pool_peak;
};
Usage usage(int device);
void reset_pool_peak(int device);

// Virtual memory management: addresses and memory apart.
cudaError_t reserve_addresses(size_t bytes, size_t alignment, void** pointer);
cudaError_t free_addresses(void* pointer, size_t bytes);
cudaError_t map_physical(void* pointer, size_t bytes, void* physical, size_t offset);
cudaError_t unmap_physical(void* pointer, size_t bytes);
cudaError_t retain_physical(void* physical);
cudaError_t release_physical(void* physical);

// What another process needs to find memory of this one.
struct Export {
  int process;
  int descriptor;
  unsigned long long inode;
  int device;
  uint64_t offset;  // of the block in the device's range
  uint64_t bytes;
};
cudaError_t export_block(const void* pointer, Export* where);
cudaError_t import_block(const Export& where, int device, void** pointer);

// Gives the process's device memory back and forgets its blocks, as cudaDeviceReset does.
void reset_device(int device);

}  // namespace device_audit::simulate
