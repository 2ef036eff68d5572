// Allocation, copies and what is known about a pointer, as the CUDA runtime gives them.
#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "memory.h"
#include "process.h"
#include "stream.h"

// A memory pool is one per device: freed memory goes back at once.
struct CUmemPoolHandle_st {
  int device;
};

using namespace device_audit::simulate;

namespace {

constinit CUmemPoolHandle_st pools[kMaximumDevices];

cudaMemPool_t pool_of(int device) {
  pools[device].device = device;
  return &pools[device];
}

bool is_pool(cudaMemPool_t pool) {
  return pool >= pools && pool < pools + kMaximumDevices;
}

cudaError_t allocate_here(Kind kind, void** pointer, size_t bytes, unsigned flags) {
  DEVICE_AUDIT_ENTER();
  if (cudaError_t error = allowed_while_capturing(); error != cudaSuccess) return keep(error);
  return keep(allocate(kind, current_device(), bytes, flags, pointer));
}

cudaError_t allocate_from_pool(void** pointer, size_t bytes, int device, cudaStream_t stream) {
  DEVICE_AUDIT_ENTER();
  if (cudaError_t error = submit(stream); error != cudaSuccess) return keep(error);
  return keep(allocate(Kind::kPool, device, bytes, 0, pointer));
}

// What the kind says about the two sides, as CUDA checks it: page-locked and managed memory is of either.
bool fits(const void* pointer, bool device) {
  Block block;
  if (find_block(pointer, &block)) return device || !block.on_device();
  return !device && !in_device_range(pointer);
}

bool fits(const void* destination, const void* source, cudaMemcpyKind kind) {
  if (kind == cudaMemcpyDefault) return true;
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  return fits(destination, to_device) && fits(source, from_device);
}

cudaError_t copy(void* destination, const void* source, size_t bytes, cudaMemcpyKind kind) {
  if (!bytes) return cudaSuccess;
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault) return cudaErrorInvalidMemcpyDirection;
  if (!fits(destination, source, kind)) return cudaErrorInvalidValue;
  void* to = reach_to_write(destination, bytes);
  const void* from = reach(source, bytes);
  if (!to || !from) return cudaErrorInvalidValue;
  memmove(to, from, bytes);
  return cudaSuccess;
}

cudaError_t copy_rows(void* destination, size_t destination_pitch, const void* source, size_t source_pitch,
                      size_t width, size_t height, cudaMemcpyKind kind) {
  if (width > destination_pitch || width > source_pitch) return cudaErrorInvalidValue;
  for (size_t row = 0; row < height; ++row) {
    const cudaError_t error = copy(static_cast<char*>(destination) + row * destination_pitch,
                                   static_cast<const char*>(source) + row * source_pitch, width, kind);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

cudaError_t fill_rows(void* pointer, size_t pitch, int value, size_t width, size_t height) {
  for (size_t row = 0; row < height; ++row) {
    if (cudaError_t error = fill(static_cast<char*>(pointer) + row * pitch, value, width); error != cudaSuccess)
      return error;
  }
  return cudaSuccess;
}

cudaError_t copy_box(const cudaMemcpy3DParms* box) {
  if (box->srcArray || box->dstArray) return cudaErrorNotSupported;
  for (size_t z = 0; z < box->extent.depth; ++z) {
    const auto at = [z](const cudaPitchedPtr& memory, const cudaPos& position) {
      return static_cast<char*>(memory.ptr) + ((position.z + z) * memory.ysize + position.y) * memory.pitch +
             position.x;
    };
    const cudaError_t error = copy_rows(at(box->dstPtr, box->dstPos), box->dstPtr.pitch, at(box->srcPtr, box->srcPos),
                                        box->srcPtr.pitch, box->extent.width, box->extent.height, box->kind);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

// A variable of device code (`__device__`): registered by its address in the host program, with memory on each device
// from its first use there.
struct Variable {
  const void* symbol;
  size_t bytes;
  void* memory[kMaximumDevices];
  Variable* next;
};
Variable* variables;

Variable* find_variable(const void* symbol) {
  for (Variable* variable = __atomic_load_n(&variables, __ATOMIC_ACQUIRE); variable; variable = variable->next) {
    if (variable->symbol == symbol) return variable;
  }
  return nullptr;
}

cudaError_t variable_memory(const void* symbol, size_t offset, size_t bytes, void** pointer) {
  Variable* variable = find_variable(symbol);
  if (!variable || offset + bytes > variable->bytes) return variable ? cudaErrorInvalidValue : cudaErrorInvalidSymbol;
  void*& memory = variable->memory[current_device()];
  if (!__atomic_load_n(&memory, __ATOMIC_ACQUIRE)) {
    void* fresh;
    if (cudaError_t error = allocate(Kind::kDevice, current_device(), variable->bytes, 0, &fresh);
        error != cudaSuccess) {
      return error;
    }
    void* other = nullptr;
    if (!__atomic_compare_exchange_n(&memory, &other, fresh, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
      release(fresh, Kind::kDevice, Kind::kDevice);
    }
  }
  *pointer = static_cast<char*>(memory) + offset;
  return cudaSuccess;
}

cudaError_t copy_variable(const void* symbol, size_t offset, void* host_to, const void* host_from, size_t bytes,
                          cudaMemcpyKind kind) {
  void* memory;
  if (cudaError_t error = variable_memory(symbol, offset, bytes, &memory); error != cudaSuccess) return error;
  return host_from ? copy(memory, host_from, bytes, kind) : copy(host_to, memory, bytes, kind);
}

}  // namespace

namespace device_audit::simulate {

void register_variable(const void* symbol, size_t bytes) {
  auto* variable = static_cast<Variable*>(calloc(1, sizeof(Variable)));
  if (!variable) return;
  variable->symbol = symbol;
  variable->bytes = bytes;
  variable->next = __atomic_load_n(&variables, __ATOMIC_ACQUIRE);
  while (
      !__atomic_compare_exchange_n(&variables, &variable->next, variable, true, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
  }
}

}  // namespace device_audit::simulate

// The body of a call that works on `stream` and returns `call`.
#define DEVICE_AUDIT_ON(stream, call)                                                 \
  {                                                                                   \
    DEVICE_AUDIT_ENTER();                                                             \
    if (cudaError_t error = submit(stream); error != cudaSuccess) return keep(error); \
    return keep(call);                                                                \
  }

extern "C" {

cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  return allocate_here(Kind::kDevice, pointer, bytes, 0);
}
cudaError_t cudaMallocManaged(void** pointer, size_t bytes, unsigned flags) {
  return allocate_here(Kind::kManaged, pointer, bytes, flags);
}
cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned flags) {
  return allocate_here(Kind::kPinned, pointer, bytes, flags);
}
cudaError_t cudaMallocHost(void** pointer, size_t bytes) {
  return allocate_here(Kind::kPinned, pointer, bytes, 0);
}

cudaError_t cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
  *pitch = (width + 511) / 512 * 512;
  return allocate_here(Kind::kDevice, pointer, *pitch * height, 0);
}

cudaError_t cudaMalloc3D(cudaPitchedPtr* memory, cudaExtent extent) {
  *memory = {nullptr, 0, extent.width, extent.height};
  return cudaMallocPitch(&memory->ptr, &memory->pitch, extent.width, extent.height * extent.depth);
}

cudaError_t cudaFree(void* pointer) {
  DEVICE_AUDIT_ENTER();
  if (cudaError_t error = allowed_while_capturing(); error != cudaSuccess) return keep(error);
  if (!pointer) return cudaSuccess;
  Block block;
  if (find_block(pointer, &block) && block.kind == Kind::kManaged)
    return keep(release(pointer, Kind::kManaged, Kind::kManaged));
  return keep(release(pointer, Kind::kDevice, Kind::kPool));
}

cudaError_t cudaFreeHost(void* pointer) {
  DEVICE_AUDIT_ENTER();
  return pointer ? keep(release(pointer, Kind::kPinned, Kind::kPinned)) : cudaSuccess;
}

cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned flags) {
  DEVICE_AUDIT_ENTER();
  return keep(register_host(pointer, bytes, flags, current_device()));
}

cudaError_t cudaHostUnregister(void* pointer) {
  DEVICE_AUDIT_ENTER();
  const bool released = release(pointer, Kind::kRegistered, Kind::kRegistered) == cudaSuccess;
  return released ? cudaSuccess : keep(cudaErrorHostMemoryNotRegistered);
}

cudaError_t cudaHostGetDevicePointer(void** device_pointer, void* pointer, unsigned) {
  DEVICE_AUDIT_ENTER();
  Block block;
  if (!find_block(pointer, &block) || !block.of_host()) return keep(cudaErrorInvalidValue);
  *device_pointer = pointer;
  return cudaSuccess;
}

cudaError_t cudaHostGetFlags(unsigned* flags, void* pointer) {
  DEVICE_AUDIT_ENTER();
  Block block;
  if (!find_block(pointer, &block) || !block.of_host()) return keep(cudaErrorInvalidValue);
  *flags = block.flags;
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  DEVICE_AUDIT_ENTER();
  const Usage usage = device_audit::simulate::usage(current_device());
  if (free) *free = usage.total - usage.used;
  if (total) *total = usage.total;
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  if (!attributes) return keep(cudaErrorInvalidValue);
  if (cudaError_t error = usable(); error != cudaSuccess) return keep(error);
  memset(attributes, 0, sizeof *attributes);
  attributes->device = cudaInvalidDeviceId;
  Block block;
  if (!find_block(pointer, &block)) {
    attributes->hostPointer = const_cast<void*>(pointer);
    return cudaSuccess;  // cudaMemoryTypeUnregistered
  }
  attributes->device = block.device;
  attributes->devicePointer = const_cast<void*>(pointer);
  if (!block.on_device()) attributes->hostPointer = const_cast<void*>(pointer);
  attributes->type = block.on_device()              ? cudaMemoryTypeDevice
                     : block.kind == Kind::kManaged ? cudaMemoryTypeManaged
                                                    : cudaMemoryTypeHost;
  return cudaSuccess;
}

cudaError_t cudaMemcpy(void* destination, const void* source, size_t bytes, cudaMemcpyKind kind)
    DEVICE_AUDIT_ON(nullptr, copy(destination, source, bytes, kind)) cudaError_t
    cudaMemcpyAsync(void* destination, const void* source, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream)
        DEVICE_AUDIT_ON(stream, copy(destination, source, bytes, kind)) cudaError_t
    cudaMemcpyPeer(void* destination, int, const void* source, int, size_t bytes)
        DEVICE_AUDIT_ON(nullptr, copy(destination, source, bytes, cudaMemcpyDeviceToDevice)) cudaError_t
    cudaMemcpyPeerAsync(void* destination, int, const void* source, int, size_t bytes, cudaStream_t stream)
        DEVICE_AUDIT_ON(stream, copy(destination, source, bytes, cudaMemcpyDeviceToDevice)) cudaError_t
    cudaMemcpy2D(void* destination, size_t destination_pitch, const void* source, size_t source_pitch, size_t width,
                 size_t height, cudaMemcpyKind kind)
        DEVICE_AUDIT_ON(nullptr, copy_rows(destination, destination_pitch, source, source_pitch, width, height,
                                           kind)) cudaError_t
    cudaMemcpy2DAsync(void* destination, size_t destination_pitch, const void* source, size_t source_pitch,
                      size_t width, size_t height, cudaMemcpyKind kind, cudaStream_t stream)
        DEVICE_AUDIT_ON(stream, copy_rows(destination, destination_pitch, source, source_pitch, width, height,
                                          kind)) cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* box)
            DEVICE_AUDIT_ON(nullptr, copy_box(box)) cudaError_t
    cudaMemcpy3DAsync(const cudaMemcpy3DParms* box, cudaStream_t stream) DEVICE_AUDIT_ON(stream, copy_box(box))

        cudaError_t cudaMemcpyBatchAsync(void* const* destinations, const void* const* sources, const size_t* sizes,
                                         size_t count, cudaMemcpyAttributes*, size_t*, size_t, cudaStream_t stream) {
  DEVICE_AUDIT_ENTER();
  if (cudaError_t error = submit(stream); error != cudaSuccess) return keep(error);
  for (size_t i = 0; i < count; ++i) {
    const cudaError_t error = copy(destinations[i], sources[i], sizes[i], cudaMemcpyDefault);
    if (error != cudaSuccess) return keep(error);
  }
  return cudaSuccess;
}

cudaError_t cudaMemset(void* pointer, int value, size_t bytes)
    DEVICE_AUDIT_ON(nullptr, fill(pointer, value, bytes)) cudaError_t
    cudaMemsetAsync(void* pointer, int value, size_t bytes, cudaStream_t stream)
        DEVICE_AUDIT_ON(stream, fill(pointer, value, bytes)) cudaError_t
    cudaMemset2D(void* pointer, size_t pitch, int value, size_t width, size_t height)
        DEVICE_AUDIT_ON(nullptr, fill_rows(pointer, pitch, value, width, height)) cudaError_t
    cudaMemset2DAsync(void* pointer, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream)
        DEVICE_AUDIT_ON(stream, fill_rows(pointer, pitch, value, width, height))

            cudaError_t cudaGetSymbolAddress(void** pointer, const void* symbol) {
  DEVICE_AUDIT_ENTER();
  return keep(variable_memory(symbol, 0, 0, pointer));
}
cudaError_t cudaGetSymbolSize(size_t* bytes, const void* symbol) {
  DEVICE_AUDIT_ENTER();
  const Variable* variable = find_variable(symbol);
  if (!variable) return keep(cudaErrorInvalidSymbol);
  *bytes = variable->bytes;
  return cudaSuccess;
}
cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* source, size_t bytes, size_t offset, cudaMemcpyKind kind)
    DEVICE_AUDIT_ON(nullptr, copy_variable(symbol, offset, nullptr, source, bytes, kind)) cudaError_t
    cudaMemcpyToSymbolAsync(const void* symbol, const void* source, size_t bytes, size_t offset, cudaMemcpyKind kind,
                            cudaStream_t stream)
        DEVICE_AUDIT_ON(stream, copy_variable(symbol, offset, nullptr, source, bytes, kind)) cudaError_t
    cudaMemcpyFromSymbol(void* destination, const void* symbol, size_t bytes, size_t offset, cudaMemcpyKind kind)
        DEVICE_AUDIT_ON(nullptr, copy_variable(symbol, offset, destination, nullptr, bytes, kind)) cudaError_t
    cudaMemcpyFromSymbolAsync(void* destination, const void* symbol, size_t bytes, size_t offset, cudaMemcpyKind kind,
                              cudaStream_t stream)
        DEVICE_AUDIT_ON(stream, copy_variable(symbol, offset, destination, nullptr, bytes, kind))

            cudaError_t cudaMemAdvise(const void*, size_t, cudaMemoryAdvise, cudaMemLocation) {
  return keep(enter());
}
cudaError_t cudaMemPrefetchAsync(const void*, size_t, cudaMemLocation, unsigned, cudaStream_t stream)
    DEVICE_AUDIT_ON(stream, cudaSuccess)

    // Pools.

    cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t stream) {
  return allocate_from_pool(pointer, bytes, current_device(), stream);
}
cudaError_t cudaMallocFromPoolAsync(void** pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
  if (!is_pool(pool)) return keep(cudaErrorInvalidValue);
  return allocate_from_pool(pointer, bytes, pool->device, stream);
}
cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream)
    DEVICE_AUDIT_ON(stream, pointer ? release(pointer, Kind::kDevice, Kind::kPool) : cudaSuccess)

        cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  DEVICE_AUDIT_ENTER();
  if (!is_device(device)) return keep(cudaErrorInvalidDevice);
  *pool = pool_of(device);
  return cudaSuccess;
}
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
  return cudaDeviceGetDefaultMemPool(pool, device);
}
cudaError_t cudaDeviceSetMemPool(int, cudaMemPool_t) {
  return keep(enter());
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, size_t) {
  return keep(enter());
}
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t, const cudaMemAccessDesc*, size_t) {
  return keep(enter());
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void*) {
  DEVICE_AUDIT_ENTER();
  if (!is_pool(pool)) return keep(cudaErrorInvalidValue);
  if (attribute == cudaMemPoolAttrUsedMemHigh || attribute == cudaMemPoolAttrReservedMemHigh)
    reset_pool_peak(pool->device);
  return cudaSuccess;
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  DEVICE_AUDIT_ENTER();
  if (!is_pool(pool)) return keep(cudaErrorInvalidValue);
  const Usage usage = device_audit::simulate::usage(pool->device);
  switch (attribute) {
    case cudaMemPoolAttrUsedMemCurrent:
    case cudaMemPoolAttrReservedMemCurrent:
      *static_cast<uint64_t*>(value) = usage.pool_used;
      return cudaSuccess;
    case cudaMemPoolAttrUsedMemHigh:
    case cudaMemPoolAttrReservedMemHigh:
      *static_cast<uint64_t*>(value) = usage.pool_peak;
      return cudaSuccess;
    case cudaMemPoolAttrReleaseThreshold:
      *static_cast<uint64_t*>(value) = 0;
      return cudaSuccess;
    case cudaMemPoolReuseFollowEventDependencies:
    case cudaMemPoolReuseAllowOpportunistic:
    case cudaMemPoolReuseAllowInternalDependencies:
      *static_cast<int*>(value) = 1;
      return cudaSuccess;
    default:
      return keep(cudaErrorInvalidValue);
  }
}

// Memory and events of other processes.

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* pointer) {
  DEVICE_AUDIT_ENTER();
  Export where;
  static_assert(sizeof where <= sizeof handle->reserved);
  if (cudaError_t error = export_block(pointer, &where); error != cudaSuccess) return keep(error);
  memset(handle, 0, sizeof *handle);
  memcpy(handle->reserved, &where, sizeof where);
  return cudaSuccess;
}

cudaError_t cudaIpcOpenMemHandle(void** pointer, cudaIpcMemHandle_t handle, unsigned) {
  DEVICE_AUDIT_ENTER();
  Export where;
  memcpy(&where, handle.reserved, sizeof where);
  return keep(import_block(where, current_device(), pointer));
}

cudaError_t cudaIpcCloseMemHandle(void* pointer) {
  DEVICE_AUDIT_ENTER();
  return keep(release(pointer, Kind::kImported, Kind::kImported));
}

// All work is complete, so any recorded event of another process is one that is complete here.
cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t* handle, cudaEvent_t) {
  DEVICE_AUDIT_ENTER();
  memset(handle, 0, sizeof *handle);
  return cudaSuccess;
}
cudaError_t cudaIpcOpenEventHandle(cudaEvent_t* event, cudaIpcEventHandle_t) {
  return cudaEventCreateWithFlags(event, cudaEventDisableTiming | cudaEventInterprocess);
}

}  // extern "C"
