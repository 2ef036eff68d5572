// Memory through the driver, and its management of addresses and memory apart.
#include "device.h"
#include "driver.h"
#include "memory.h"
#include "stream.h"

using namespace device_audit::simulate;

namespace {

void** out(CUdeviceptr* address) {
  return reinterpret_cast<void**>(address);
}

template <typename Value>
CUresult fill_with(CUdeviceptr address, Value value, size_t count, CUstream stream) {
  return driver([&]() -> cudaError_t {
    DEVICE_AUDIT_ENTER();
    if (cudaError_t error = submit(stream); error != cudaSuccess) return error;
    if (value == 0 || sizeof value == 1) return fill(pointer_of(address), int(value), count * sizeof value);
    auto* values = static_cast<Value*>(reach_to_write(pointer_of(address), count * sizeof value));
    if (!values) return cudaErrorInvalidValue;
    for (size_t i = 0; i < count; ++i) values[i] = value;
    return cudaSuccess;
  });
}

CUresult copy_rows(const CUDA_MEMCPY2D& copy, CUstream stream) {
  if (copy.srcMemoryType == CU_MEMORYTYPE_ARRAY || copy.dstMemoryType == CU_MEMORYTYPE_ARRAY)
    return CUDA_ERROR_NOT_SUPPORTED;
  const void* source = copy.srcMemoryType == CU_MEMORYTYPE_HOST ? copy.srcHost : pointer_of(copy.srcDevice);
  void* destination = copy.dstMemoryType == CU_MEMORYTYPE_HOST ? copy.dstHost : pointer_of(copy.dstDevice);
  return driver([&] {
    return cudaMemcpy2DAsync(static_cast<char*>(destination) + copy.dstY * copy.dstPitch + copy.dstXInBytes,
                             copy.dstPitch,
                             static_cast<const char*>(source) + copy.srcY * copy.srcPitch + copy.srcXInBytes,
                             copy.srcPitch, copy.WidthInBytes, copy.Height, cudaMemcpyDefault, stream);
  });
}

}  // namespace

extern "C" {

DEVICE_AUDIT_DRIVER(cuMemGetInfo_v2, (size_t * free, size_t* total), cudaMemGetInfo(free, total))
DEVICE_AUDIT_DRIVER(cuMemAlloc_v2, (CUdeviceptr * address, size_t bytes),
                    bytes ? cudaMalloc(out(address), bytes) : cudaErrorInvalidValue)
DEVICE_AUDIT_DRIVER(cuMemAllocPitch_v2, (CUdeviceptr * address, size_t* pitch, size_t width, size_t height, unsigned),
                    cudaMallocPitch(out(address), pitch, width, height))
DEVICE_AUDIT_DRIVER(cuMemAllocManaged, (CUdeviceptr * address, size_t bytes, unsigned flags),
                    cudaMallocManaged(out(address), bytes, flags))
DEVICE_AUDIT_DRIVER(cuMemFree_v2, (CUdeviceptr address), cudaFree(pointer_of(address)))
DEVICE_AUDIT_DRIVER(cuMemAllocHost_v2, (void** pointer, size_t bytes), cudaMallocHost(pointer, bytes))
DEVICE_AUDIT_DRIVER(cuMemHostAlloc, (void** pointer, size_t bytes, unsigned flags),
                    cudaHostAlloc(pointer, bytes, flags))
DEVICE_AUDIT_DRIVER(cuMemFreeHost, (void* pointer), cudaFreeHost(pointer))
DEVICE_AUDIT_DRIVER(cuMemHostRegister_v2, (void* pointer, size_t bytes, unsigned flags),
                    cudaHostRegister(pointer, bytes, flags))
DEVICE_AUDIT_DRIVER(cuMemHostUnregister, (void* pointer), cudaHostUnregister(pointer))
DEVICE_AUDIT_DRIVER(cuMemHostGetDevicePointer_v2, (CUdeviceptr * address, void* pointer, unsigned flags),
                    cudaHostGetDevicePointer(out(address), pointer, flags))
DEVICE_AUDIT_DRIVER(cuMemHostGetFlags, (unsigned* flags, void* pointer), cudaHostGetFlags(flags, pointer))
DEVICE_AUDIT_DRIVER(cuMemAllocAsync, (CUdeviceptr * address, size_t bytes, CUstream stream),
                    cudaMallocAsync(out(address), bytes, stream))
DEVICE_AUDIT_DRIVER(cuMemAllocFromPoolAsync, (CUdeviceptr * address, size_t bytes, CUmemoryPool pool, CUstream stream),
                    cudaMallocFromPoolAsync(out(address), bytes, pool, stream))
DEVICE_AUDIT_DRIVER(cuMemFreeAsync, (CUdeviceptr address, CUstream stream), cudaFreeAsync(pointer_of(address), stream))

CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, size_t* bytes, CUdeviceptr address) {
  Block block;
  if (!find_block(pointer_of(address), &block)) return CUDA_ERROR_NOT_FOUND;
  if (base) *base = block.address;
  if (bytes) *bytes = block.bytes;
  return CUDA_SUCCESS;
}

CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr address) {
  if (cudaError_t error = usable(); error != cudaSuccess) return static_cast<CUresult>(error);
  Block block;
  const bool known = find_block(pointer_of(address), &block);
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MAPPED:
      *static_cast<int*>(data) = known;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      *static_cast<int*>(data) = known && block.kind == Kind::kDevice;
      return CUDA_SUCCESS;
    default:
      break;
  }
  if (!known) return CUDA_ERROR_INVALID_VALUE;
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      *static_cast<CUcontext*>(data) = primary_context(block.device);
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      *static_cast<CUmemorytype*>(data) = block.of_host() ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      *static_cast<CUdeviceptr*>(data) = address;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      if (block.on_device()) return CUDA_ERROR_INVALID_VALUE;
      *static_cast<void**>(data) = pointer_of(address);
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
      *static_cast<int*>(data) = 1;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      *static_cast<unsigned long long*>(data) = block.id;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      *static_cast<int*>(data) = block.kind == Kind::kManaged;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      *static_cast<int*>(data) = block.device;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      *static_cast<CUdeviceptr*>(data) = block.address;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      *static_cast<size_t*>(data) = block.bytes;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      *static_cast<unsigned long long*>(data) = 0;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute* attributes, void** data, CUdeviceptr address) {
  // An attribute that this pointer has not is left as it is.
  for (unsigned i = 0; i < count; ++i) cuPointerGetAttribute(data[i], attributes[i], address);
  return CUDA_SUCCESS;
}
CUresult cuPointerSetAttribute(const void*, CUpointer_attribute, CUdeviceptr) {
  return CUDA_SUCCESS;
}

DEVICE_AUDIT_DRIVER(cuMemcpy, (CUdeviceptr to, CUdeviceptr from, size_t bytes),
                    cudaMemcpy(pointer_of(to), pointer_of(from), bytes, cudaMemcpyDefault))
DEVICE_AUDIT_DRIVER(cuMemcpyAsync, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream),
                    cudaMemcpyAsync(pointer_of(to), pointer_of(from), bytes, cudaMemcpyDefault, stream))
DEVICE_AUDIT_DRIVER(cuMemcpyHtoD_v2, (CUdeviceptr to, const void* from, size_t bytes),
                    cudaMemcpy(pointer_of(to), from, bytes, cudaMemcpyHostToDevice))
DEVICE_AUDIT_DRIVER(cuMemcpyHtoDAsync_v2, (CUdeviceptr to, const void* from, size_t bytes, CUstream stream),
                    cudaMemcpyAsync(pointer_of(to), from, bytes, cudaMemcpyHostToDevice, stream))
DEVICE_AUDIT_DRIVER(cuMemcpyDtoH_v2, (void* to, CUdeviceptr from, size_t bytes),
                    cudaMemcpy(to, pointer_of(from), bytes, cudaMemcpyDeviceToHost))
DEVICE_AUDIT_DRIVER(cuMemcpyDtoHAsync_v2, (void* to, CUdeviceptr from, size_t bytes, CUstream stream),
                    cudaMemcpyAsync(to, pointer_of(from), bytes, cudaMemcpyDeviceToHost, stream))
DEVICE_AUDIT_DRIVER(cuMemcpyDtoD_v2, (CUdeviceptr to, CUdeviceptr from, size_t bytes),
                    cudaMemcpy(pointer_of(to), pointer_of(from), bytes, cudaMemcpyDeviceToDevice))
DEVICE_AUDIT_DRIVER(cuMemcpyDtoDAsync_v2, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream),
                    cudaMemcpyAsync(pointer_of(to), pointer_of(from), bytes, cudaMemcpyDeviceToDevice, stream))
DEVICE_AUDIT_DRIVER(cuMemcpyPeer, (CUdeviceptr to, CUcontext, CUdeviceptr from, CUcontext, size_t bytes),
                    cudaMemcpy(pointer_of(to), pointer_of(from), bytes, cudaMemcpyDeviceToDevice))
DEVICE_AUDIT_DRIVER(cuMemcpyPeerAsync,
                    (CUdeviceptr to, CUcontext, CUdeviceptr from, CUcontext, size_t bytes, CUstream stream),
                    cudaMemcpyAsync(pointer_of(to), pointer_of(from), bytes, cudaMemcpyDeviceToDevice, stream))
CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D* copy) {
  return copy_rows(*copy, nullptr);
}
CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D* copy) {
  return copy_rows(*copy, nullptr);
}
CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* copy, CUstream stream) {
  return copy_rows(*copy, stream);
}

#define DEVICE_AUDIT_FILL(name, asynchronous, type)                                       \
  CUresult name(CUdeviceptr address, type value, size_t count) {                          \
    return fill_with(address, value, count, nullptr);                                     \
  }                                                                                       \
  CUresult asynchronous(CUdeviceptr address, type value, size_t count, CUstream stream) { \
    return fill_with(address, value, count, stream);                                      \
  }
DEVICE_AUDIT_FILL(cuMemsetD8_v2, cuMemsetD8Async, unsigned char)
DEVICE_AUDIT_FILL(cuMemsetD16_v2, cuMemsetD16Async, unsigned short)
DEVICE_AUDIT_FILL(cuMemsetD32_v2, cuMemsetD32Async, unsigned)

CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned) {
  return fill_with(address, value, 1, stream);
}
CUresult cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned) {
  return fill_with(address, value, 1, stream);
}

CUresult cuMemAddressReserve(CUdeviceptr* address, size_t bytes, size_t alignment, CUdeviceptr, unsigned long long) {
  return static_cast<CUresult>(reserve_addresses(bytes, alignment, out(address)));
}
CUresult cuMemAddressFree(CUdeviceptr address, size_t bytes) {
  return static_cast<CUresult>(free_addresses(pointer_of(address), bytes));
}

CUresult cuMemGetAllocationGranularity(size_t* bytes, const CUmemAllocationProp*, CUmemAllocationGranularity_flags) {
  *bytes = size_t{2} << 20;
  return CUDA_SUCCESS;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t bytes, const CUmemAllocationProp* properties,
                     unsigned long long) {
  if (properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_NOT_SUPPORTED;
  if (!is_device(properties->location.id)) return CUDA_ERROR_INVALID_DEVICE;
  return driver([&]() -> cudaError_t {
    DEVICE_AUDIT_ENTER();
    void* memory;
    const cudaError_t error = allocate(Kind::kPhysical, properties->location.id, bytes, 0, &memory);
    *handle = address_of(memory);
    return error;
  });
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  return static_cast<CUresult>(release_physical(pointer_of(handle)));
}

CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long) {
  return static_cast<CUresult>(map_physical(pointer_of(address), bytes, pointer_of(handle), offset));
}
CUresult cuMemUnmap(CUdeviceptr address, size_t bytes) {
  return static_cast<CUresult>(unmap_physical(pointer_of(address), bytes));
}
CUresult cuMemSetAccess(CUdeviceptr, size_t, const CUmemAccessDesc*, size_t) {
  return CUDA_SUCCESS;
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* pointer) {
  Block block;
  if (!find_block(pointer, &block) || block.kind != Kind::kMapped) return CUDA_ERROR_INVALID_VALUE;
  *handle = block.backing;
  return static_cast<CUresult>(retain_physical(pointer_of(block.backing)));
}

DEVICE_AUDIT_DRIVER(cuIpcGetMemHandle, (CUipcMemHandle * handle, CUdeviceptr address),
                    cudaIpcGetMemHandle(reinterpret_cast<cudaIpcMemHandle_t*>(handle), pointer_of(address)))
CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* address, CUipcMemHandle handle, unsigned flags) {
  cudaIpcMemHandle_t same;
  static_assert(sizeof same == sizeof handle);
  __builtin_memcpy(&same, &handle, sizeof same);
  return driver([&] { return cudaIpcOpenMemHandle(out(address), same, flags); });
}
DEVICE_AUDIT_DRIVER(cuIpcCloseMemHandle, (CUdeviceptr address), cudaIpcCloseMemHandle(pointer_of(address)))

}  // extern "C"
