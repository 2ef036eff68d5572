// The devices of the CUDA runtime: how many, which is current, and what they say about themselves.
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "device.h"
#include "memory.h"
#include "process.h"
#include "stream.h"

namespace device_audit::simulate {
namespace {

struct Attribute {
  int attribute, value;
};

constexpr Attribute attributes[] = {
#define ATTRIBUTE(name, value) {cudaDevAttr##name, value},
#include "device_attributes.def"
#undef ATTRIBUTE
    // Known to the driver alone.
    {CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1},
};

// Which device may reach which: one bit for each, kept because enabling twice is an error.
uint64_t peers[kMaximumDevices];

}  // namespace

int device_attribute(int attribute, int device) {
  if (attribute == cudaDevAttrPciBusId) return bus_of_existing(settings().physical[device]);
  for (const Attribute& known : attributes) {
    if (known.attribute == attribute) return known.value;
  }
  return 0;
}

void device_name(int device, char* name, int length) {
  snprintf(name, size_t(length), "Simulated GPU %d", settings().physical[device]);
}

CUuuid_st uuid_of_existing(int number) {
  CUuuid_st uuid;
  memcpy(uuid.bytes, "simulated-gpu \0", sizeof uuid.bytes);
  uuid.bytes[15] = char(number);
  return uuid;
}

int bus_of_existing(int number) {
  return number + 1;
}

void bus_id_of_existing(int number, char* text, int length) {
  snprintf(text, size_t(length), "%04x:%02x:%02x.0", 0u, unsigned(bus_of_existing(number)), 0u);
}

}  // namespace device_audit::simulate

using namespace device_audit::simulate;

#define DEVICE_AUDIT_USABLE() \
  if (cudaError_t error_ = usable(); error_ != cudaSuccess) return keep(error_)
#define DEVICE_AUDIT_DEVICE(device) \
  DEVICE_AUDIT_USABLE();            \
  if (!is_device(device)) return keep(cudaErrorInvalidDevice)

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  if (!count) return keep(cudaErrorInvalidValue);
  *count = 0;
  DEVICE_AUDIT_USABLE();
  *count = settings().devices;
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
  if (!device) return keep(cudaErrorInvalidValue);
  DEVICE_AUDIT_USABLE();
  *device = current_device();
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  DEVICE_AUDIT_DEVICE(device);
  thread.device = device;
  thread.context = nullptr;
  return keep(enter());
}

cudaError_t cudaInitDevice(int device, unsigned, unsigned) {
  DEVICE_AUDIT_DEVICE(device);
  primary_context(device);
  return cudaSuccess;
}

cudaError_t cudaSetValidDevices(int*, int) {
  return keep(usable());
}
cudaError_t cudaSetDeviceFlags(unsigned) {
  return keep(usable());
}
cudaError_t cudaGetDeviceFlags(unsigned* flags) {
  *flags = 0;
  return keep(usable());
}

cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp*) {
  DEVICE_AUDIT_USABLE();
  *device = 0;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  DEVICE_AUDIT_DEVICE(device);
  *value = device_attribute(attribute, device);
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  DEVICE_AUDIT_DEVICE(device);
  const auto attribute = [device](cudaDeviceAttr name) { return device_attribute(name, device); };
  cudaDeviceProp& p = *properties;
  memset(&p, 0, sizeof p);
  device_name(device, p.name, sizeof p.name);
  p.uuid = uuid_of_existing(settings().physical[device]);
  p.totalGlobalMem = settings().memory;
  p.sharedMemPerBlock = size_t(attribute(cudaDevAttrMaxSharedMemoryPerBlock));
  p.regsPerBlock = attribute(cudaDevAttrMaxRegistersPerBlock);
  p.warpSize = attribute(cudaDevAttrWarpSize);
  p.memPitch = size_t(attribute(cudaDevAttrMaxPitch));
  p.maxThreadsPerBlock = attribute(cudaDevAttrMaxThreadsPerBlock);
  for (int i = 0; i < 3; ++i) {
    p.maxThreadsDim[i] = attribute(cudaDeviceAttr(cudaDevAttrMaxBlockDimX + i));
    p.maxGridSize[i] = attribute(cudaDeviceAttr(cudaDevAttrMaxGridDimX + i));
    p.maxTexture3D[i] = attribute(cudaDeviceAttr(cudaDevAttrMaxTexture3DWidth + i));
  }
  p.totalConstMem = size_t(attribute(cudaDevAttrTotalConstantMemory));
  p.major = attribute(cudaDevAttrComputeCapabilityMajor);
  p.minor = attribute(cudaDevAttrComputeCapabilityMinor);
  p.textureAlignment = size_t(attribute(cudaDevAttrTextureAlignment));
  p.texturePitchAlignment = size_t(attribute(cudaDevAttrTexturePitchAlignment));
  p.multiProcessorCount = attribute(cudaDevAttrMultiProcessorCount);
  p.canMapHostMemory = attribute(cudaDevAttrCanMapHostMemory);
  p.maxTexture1D = attribute(cudaDevAttrMaxTexture1DWidth);
  p.maxTexture2D[0] = attribute(cudaDevAttrMaxTexture2DWidth);
  p.maxTexture2D[1] = attribute(cudaDevAttrMaxTexture2DHeight);
  p.surfaceAlignment = size_t(attribute(cudaDevAttrSurfaceAlignment));
  p.concurrentKernels = attribute(cudaDevAttrConcurrentKernels);
  p.ECCEnabled = attribute(cudaDevAttrEccEnabled);
  p.pciBusID = attribute(cudaDevAttrPciBusId);
  p.asyncEngineCount = attribute(cudaDevAttrAsyncEngineCount);
  p.unifiedAddressing = attribute(cudaDevAttrUnifiedAddressing);
  p.memoryBusWidth = attribute(cudaDevAttrGlobalMemoryBusWidth);
  p.l2CacheSize = attribute(cudaDevAttrL2CacheSize);
  p.persistingL2CacheMaxSize = attribute(cudaDevAttrMaxPersistingL2CacheSize);
  p.maxThreadsPerMultiProcessor = attribute(cudaDevAttrMaxThreadsPerMultiProcessor);
  p.streamPrioritiesSupported = attribute(cudaDevAttrStreamPrioritiesSupported);
  p.globalL1CacheSupported = attribute(cudaDevAttrGlobalL1CacheSupported);
  p.localL1CacheSupported = attribute(cudaDevAttrLocalL1CacheSupported);
  p.sharedMemPerMultiprocessor = size_t(attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor));
  p.regsPerMultiprocessor = attribute(cudaDevAttrMaxRegistersPerMultiprocessor);
  p.managedMemory = attribute(cudaDevAttrManagedMemory);
  p.concurrentManagedAccess = attribute(cudaDevAttrConcurrentManagedAccess);
  p.computePreemptionSupported = attribute(cudaDevAttrComputePreemptionSupported);
  p.canUseHostPointerForRegisteredMem = attribute(cudaDevAttrCanUseHostPointerForRegisteredMem);
  p.cooperativeLaunch = attribute(cudaDevAttrCooperativeLaunch);
  p.sharedMemPerBlockOptin = size_t(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin));
  p.maxBlocksPerMultiProcessor = attribute(cudaDevAttrMaxBlocksPerMultiprocessor);
  p.accessPolicyMaxWindowSize = attribute(cudaDevAttrMaxAccessPolicyWindowSize);
  p.reservedSharedMemPerBlock = size_t(attribute(cudaDevAttrReservedSharedMemoryPerBlock));
  p.hostRegisterSupported = attribute(cudaDevAttrHostRegisterSupported);
  p.memoryPoolsSupported = attribute(cudaDevAttrMemoryPoolsSupported);
  p.ipcEventSupported = attribute(cudaDevAttrIpcEventSupport);
  p.clusterLaunch = attribute(cudaDevAttrClusterLaunch);
  return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
  DEVICE_AUDIT_DEVICE(device);
  if (!text || length < 13) return keep(cudaErrorInvalidValue);
  bus_id_of_existing(settings().physical[device], text, length);
  return cudaSuccess;
}

cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* text) {
  DEVICE_AUDIT_USABLE();
  char name[16];
  for (int i = 0; i < settings().devices; ++i) {
    bus_id_of_existing(settings().physical[i], name, sizeof name);
    if (strcmp(name, text) == 0) {
      *device = i;
      return cudaSuccess;
    }
  }
  return keep(cudaErrorInvalidDevice);
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  DEVICE_AUDIT_DEVICE(device);
  if (!is_device(peer)) return keep(cudaErrorInvalidDevice);
  *can = device != peer;
  return cudaSuccess;
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned) {
  DEVICE_AUDIT_ENTER();
  const int device = current_device();
  if (!is_device(peer) || peer == device) return keep(cudaErrorInvalidDevice);
  const uint64_t before = __atomic_fetch_or(&peers[device], uint64_t{1} << peer, __ATOMIC_RELAXED);
  return before >> peer & 1 ? keep(cudaErrorPeerAccessAlreadyEnabled) : cudaSuccess;
}

cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  DEVICE_AUDIT_ENTER();
  if (!is_device(peer)) return keep(cudaErrorInvalidDevice);
  const uint64_t before = __atomic_fetch_and(&peers[current_device()], ~(uint64_t{1} << peer), __ATOMIC_RELAXED);
  return before >> peer & 1 ? cudaSuccess : keep(cudaErrorPeerAccessNotEnabled);
}

cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr attribute, int source, int destination) {
  DEVICE_AUDIT_DEVICE(source);
  if (!is_device(destination) || source == destination) return keep(cudaErrorInvalidDevice);
  *value = attribute == cudaDevP2PAttrAccessSupported;
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize(void) {
  DEVICE_AUDIT_ENTER();
  return keep(allowed_while_capturing());
}

cudaError_t cudaDeviceReset(void) {
  DEVICE_AUDIT_ENTER();
  reset_device(current_device());
  return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  DEVICE_AUDIT_ENTER();
  if (least) *least = 0;
  if (greatest) *greatest = -5;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit) {
  DEVICE_AUDIT_ENTER();
  *value = limit == cudaLimitStackSize ? 1024 : limit == cudaLimitMallocHeapSize ? size_t{8} << 20 : size_t{1} << 20;
  return cudaSuccess;
}
cudaError_t cudaDeviceSetLimit(cudaLimit, size_t) {
  return keep(enter());
}
cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) {
  return keep(enter());
}
cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* configuration) {
  *configuration = cudaFuncCachePreferNone;
  return keep(enter());
}
cudaError_t cudaCtxResetPersistingL2Cache(void) {
  return keep(enter());
}

cudaError_t cudaDriverGetVersion(int* version) {
  if (!version) return keep(cudaErrorInvalidValue);
  *version = CUDA_VERSION;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  if (!version) return keep(cudaErrorInvalidValue);
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaProfilerStart(void) {
  return keep(enter());
}
cudaError_t cudaProfilerStop(void) {
  return keep(enter());
}

}  // extern "C"
