// Kernels: registered, asked about and launched, and never run.
#include <cuda_runtime_api.h>
#include <string.h>

#include "device.h"
#include "kernel.h"
#include "nvml.h"
#include "process.h"
#include "stream.h"

using namespace device_audit::simulate;

namespace device_audit::simulate {

cudaError_t launch(dim3 grid, dim3 block, size_t shared, cudaStream_t stream) {
  const auto limit = [](cudaDeviceAttr name) { return unsigned(device_attribute(name, current_device())); };
  if (!grid.x || !grid.y || !grid.z || !block.x || !block.y || !block.z || grid.x > limit(cudaDevAttrMaxGridDimX) ||
      grid.y > limit(cudaDevAttrMaxGridDimY) || grid.z > limit(cudaDevAttrMaxGridDimZ) ||
      block.z > limit(cudaDevAttrMaxBlockDimZ) ||
      uint64_t(block.x) * block.y * block.z > limit(cudaDevAttrMaxThreadsPerBlock)) {
    return cudaErrorInvalidConfiguration;
  }
  if (shared > limit(cudaDevAttrMaxSharedMemoryPerBlockOptin)) return cudaErrorInvalidValue;
  return submit(stream);
}

int blocks_per_multiprocessor(int block_size, size_t shared) {
  const auto limit = [](cudaDeviceAttr name) { return device_attribute(name, current_device()); };
  if (block_size <= 0 || block_size > limit(cudaDevAttrMaxThreadsPerBlock)) return 0;
  int blocks = limit(cudaDevAttrMaxThreadsPerMultiProcessor) / block_size;
  if (shared) {
    const size_t by_memory = size_t(limit(cudaDevAttrMaxSharedMemoryPerMultiprocessor)) / shared;
    if (by_memory < size_t(blocks)) blocks = int(by_memory);
  }
  return blocks < limit(cudaDevAttrMaxBlocksPerMultiprocessor) ? blocks : limit(cudaDevAttrMaxBlocksPerMultiprocessor);
}

cudaFuncAttributes kernel_attributes() {
  cudaFuncAttributes attributes;
  memset(&attributes, 0, sizeof attributes);
  attributes.maxThreadsPerBlock = device_attribute(cudaDevAttrMaxThreadsPerBlock, current_device());
  attributes.numRegs = 32;
  attributes.ptxVersion = attributes.binaryVersion =
      device_attribute(cudaDevAttrComputeCapabilityMajor, current_device()) * 10 +
      device_attribute(cudaDevAttrComputeCapabilityMinor, current_device());
  attributes.maxDynamicSharedSizeBytes = device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, current_device());
  attributes.preferredShmemCarveout = cudaSharedmemCarveoutDefault;
  return attributes;
}

}  // namespace device_audit::simulate

namespace {

// A kernel's handle is the address of its stub in the host program.
cudaKernel_t kernel_of(const void* function) {
  return static_cast<cudaKernel_t>(const_cast<void*>(function));
}

// `kernel<<<grid, block>>>(arguments)` pushes before the arguments are evaluated, which may launch kernels themselves.
struct Configuration {
  dim3 grid, block;
  size_t shared;
  cudaStream_t stream;
};
constinit thread_local Configuration configurations[4] __attribute__((tls_model("initial-exec")));
constinit thread_local unsigned configuration_count __attribute__((tls_model("initial-exec")));

// What a fat binary's handle points to: nothing is ever read there.
constinit void* fat_binary = nullptr;

cudaError_t launched(dim3 grid, dim3 block, size_t shared, cudaStream_t stream) {
  DEVICE_AUDIT_ENTER();
  return keep(launch(grid, block, shared, stream));
}

}  // namespace

extern "C" {

// What nvcc's host code calls, declared in no header that the wheels carry.
void** __cudaRegisterFatBinary(void*) {
  if (settings().devices > 0) offer_nvml();
  return &fat_binary;
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
void __cudaRegisterFunction(void**, const char*, char*, const char*, int, uint3*, uint3*, dim3*, dim3*, int*) {}
void __cudaRegisterVar(void**, char* symbol, char*, const char*, int, size_t bytes, int, int) {
  register_variable(symbol, bytes);
}
void __cudaRegisterManagedVar(void**, void** symbol, char*, const char*, int, size_t bytes, int, int) {
  register_variable(symbol, bytes);
}
void __cudaRegisterHostVar(void**, const char*, char*, size_t) {}
void __cudaRegisterUnifiedTable(void**, void*) {}
char __cudaInitModule(void**) {
  return 1;
}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream) {
  if (configuration_count == 4) return 1;
  configurations[configuration_count++] = {grid, block, shared, stream};
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream) {
  if (configuration_count == 0) return keep(cudaErrorInvalidConfiguration);
  const Configuration& configuration = configurations[--configuration_count];
  *grid = configuration.grid;
  *block = configuration.block;
  *shared = configuration.shared;
  memcpy(stream, &configuration.stream, sizeof configuration.stream);
  return cudaSuccess;
}

cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  *kernel = kernel_of(function);
  return cudaSuccess;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t, dim3 grid, dim3 block, void**, size_t shared, cudaStream_t stream) {
  return launched(grid, block, shared, stream);
}

cudaError_t cudaLaunchKernel(const void*, dim3 grid, dim3 block, void**, size_t shared, cudaStream_t stream) {
  return launched(grid, block, shared, stream);
}
cudaError_t cudaLaunchCooperativeKernel(const void*, dim3 grid, dim3 block, void**, size_t shared,
                                        cudaStream_t stream) {
  return launched(grid, block, shared, stream);
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* configuration, const void*, void**) {
  return launched(configuration->gridDim, configuration->blockDim, configuration->dynamicSmemBytes,
                  configuration->stream);
}

cudaError_t cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  return __cudaGetKernel(kernel, function);
}
cudaError_t cudaGetFuncBySymbol(cudaFunction_t* function, const void* symbol) {
  *function = static_cast<cudaFunction_t>(const_cast<void*>(symbol));
  return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function) {
  DEVICE_AUDIT_ENTER();
  if (!attributes || !function) return keep(cudaErrorInvalidDeviceFunction);
  *attributes = kernel_attributes();
  return cudaSuccess;
}
cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int) {
  return keep(enter());
}
cudaError_t cudaFuncSetCacheConfig(const void*, cudaFuncCache) {
  return keep(enter());
}
cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t, cudaFuncAttribute, int, int) {
  return keep(enter());
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int block_size, size_t shared) {
  DEVICE_AUDIT_ENTER();
  *blocks = blocks_per_multiprocessor(block_size, shared);
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* function, int block_size,
                                                                   size_t shared, unsigned) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, block_size, shared);
}
cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void*, const cudaLaunchConfig_t*) {
  DEVICE_AUDIT_ENTER();
  *clusters = device_attribute(cudaDevAttrMultiProcessorCount, current_device()) / 2;
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxPotentialClusterSize(int* size, const void*, const cudaLaunchConfig_t*) {
  DEVICE_AUDIT_ENTER();
  *size = 8;
  return cudaSuccess;
}
cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, const void*, int, int) {
  DEVICE_AUDIT_ENTER();
  *bytes = size_t(device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, current_device()));
  return cudaSuccess;
}

}  // extern "C"
