// The CUDA driver: devices, contexts, and the addresses of its functions by name.
#include "driver.h"

#include <string.h>

#include "answer.h"
#include "device.h"
#include "memory.h"

using namespace device_audit::simulate;

namespace {

CUresult usable_device(CUdevice device) {
  if (cudaError_t error = usable(); error != cudaSuccess) return static_cast<CUresult>(error);
  return is_device(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

bool is_context(CUcontext context) {
  for (int device = 0; device < settings().devices; ++device) {
    if (context == primary_context(device)) return true;
  }
  return false;
}

CUresult make_current(CUcontext context) {
  if (context && !is_context(context)) return CUDA_ERROR_INVALID_CONTEXT;
  thread.context = context;
  if (context) thread.device = context->device;
  return CUDA_SUCCESS;
}

}  // namespace

#define DEVICE_AUDIT_DEVICE(device) \
  if (CUresult result = usable_device(device); result != CUDA_SUCCESS) return result

extern "C" {

CUresult cuInit(unsigned) {
  return static_cast<CUresult>(usable());
}
DEVICE_AUDIT_DRIVER(cuDriverGetVersion, (int* version), cudaDriverGetVersion(version))

CUresult cuDeviceGetCount(int* count) {
  *count = 0;
  if (cudaError_t error = usable(); error != cudaSuccess) return static_cast<CUresult>(error);
  *count = settings().devices;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  DEVICE_AUDIT_DEVICE(ordinal);
  *device = ordinal;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  DEVICE_AUDIT_DEVICE(device);
  device_name(device, name, length);
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  DEVICE_AUDIT_DEVICE(device);
  *uuid = uuid_of_existing(settings().physical[device]);
  return CUDA_SUCCESS;
}
CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
  DEVICE_AUDIT_DEVICE(device);
  *bytes = settings().memory;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  DEVICE_AUDIT_DEVICE(device);
  *value = device_attribute(attribute, device);
  return CUDA_SUCCESS;
}
CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice device) {
  DEVICE_AUDIT_DEVICE(device);
  *major = device_attribute(cudaDevAttrComputeCapabilityMajor, device);
  *minor = device_attribute(cudaDevAttrComputeCapabilityMinor, device);
  return CUDA_SUCCESS;
}
DEVICE_AUDIT_DRIVER(cuDeviceGetPCIBusId, (char* text, int length, CUdevice device),
                    cudaDeviceGetPCIBusId(text, length, device))
DEVICE_AUDIT_DRIVER(cuDeviceGetByPCIBusId, (CUdevice * device, const char* text), cudaDeviceGetByPCIBusId(device, text))
DEVICE_AUDIT_DRIVER(cuDeviceCanAccessPeer, (int* can, CUdevice device, CUdevice peer),
                    cudaDeviceCanAccessPeer(can, device, peer))
DEVICE_AUDIT_DRIVER(cuDeviceGetP2PAttribute,
                    (int* value, CUdevice_P2PAttribute attribute, CUdevice source, CUdevice destination),
                    cudaDeviceGetP2PAttribute(value, static_cast<cudaDeviceP2PAttr>(attribute), source, destination))
DEVICE_AUDIT_DRIVER(cuDeviceGetDefaultMemPool, (CUmemoryPool * pool, CUdevice device),
                    cudaDeviceGetDefaultMemPool(pool, device))
DEVICE_AUDIT_DRIVER(cuDeviceGetMemPool, (CUmemoryPool * pool, CUdevice device), cudaDeviceGetMemPool(pool, device))

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  DEVICE_AUDIT_DEVICE(device);
  *context = primary_context(device);
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  return usable_device(device);
}
CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
  DEVICE_AUDIT_DEVICE(device);
  reset_device(device);
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned) {
  return usable_device(device);
}
CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
  DEVICE_AUDIT_DEVICE(device);
  *flags = 0;
  *active = primary_context_active(device);
  return CUDA_SUCCESS;
}

// A thread that has not used its device yet has the context that others have made there; CUDA would say null, and
// PyTorch warn.
CUresult cuCtxGetCurrent(CUcontext* context) {
  const bool made = !thread.context && primary_context_active(thread.device);
  *context = made ? primary_context(thread.device) : thread.context;
  return static_cast<CUresult>(usable());
}
CUresult cuCtxSetCurrent(CUcontext context) {
  return make_current(context);
}
CUresult cuCtxPushCurrent_v2(CUcontext context) {
  constexpr int most = sizeof thread.pushed / sizeof *thread.pushed;
  if (thread.depth == most) return CUDA_ERROR_OUT_OF_MEMORY;
  CUcontext before = thread.context;
  if (CUresult result = make_current(context); result != CUDA_SUCCESS) return result;
  thread.pushed[thread.depth++] = before;
  return CUDA_SUCCESS;
}
CUresult cuCtxPopCurrent_v2(CUcontext* context) {
  if (!thread.context) return CUDA_ERROR_INVALID_CONTEXT;
  if (context) *context = thread.context;
  return make_current(thread.depth ? thread.pushed[--thread.depth] : nullptr);
}
CUresult cuCtxGetDevice(CUdevice* device) {
  if (!thread.context) return CUDA_ERROR_INVALID_CONTEXT;
  *device = thread.context->device;
  return CUDA_SUCCESS;
}
CUresult cuCtxGetDevice_v2(CUdevice* device, CUcontext context) {
  if (!is_context(context)) return CUDA_ERROR_INVALID_CONTEXT;
  *device = context->device;
  return CUDA_SUCCESS;
}
CUresult cuCtxGetId(CUcontext context, unsigned long long* identifier) {
  if (!context) context = thread.context;
  if (!is_context(context)) return CUDA_ERROR_INVALID_CONTEXT;
  *identifier = static_cast<unsigned long long>(context->device) + 1;
  return CUDA_SUCCESS;
}
CUresult cuCtxGetApiVersion(CUcontext, unsigned* version) {
  *version = CUDA_VERSION / 10;
  return CUDA_SUCCESS;
}
CUresult cuCtxGetFlags(unsigned* flags) {
  *flags = 0;
  return CUDA_SUCCESS;
}
DEVICE_AUDIT_DRIVER(cuCtxSynchronize, (), cudaDeviceSynchronize())
DEVICE_AUDIT_DRIVER(cuCtxGetStreamPriorityRange, (int* least, int* greatest),
                    cudaDeviceGetStreamPriorityRange(least, greatest))
DEVICE_AUDIT_DRIVER(cuCtxGetLimit, (size_t * value, CUlimit limit),
                    cudaDeviceGetLimit(value, static_cast<cudaLimit>(limit)))
DEVICE_AUDIT_DRIVER(cuCtxSetLimit, (CUlimit limit, size_t value),
                    cudaDeviceSetLimit(static_cast<cudaLimit>(limit), value))
CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) {
  if (!is_context(peer)) return CUDA_ERROR_INVALID_CONTEXT;
  return driver([&] { return cudaDeviceEnablePeerAccess(peer->device, flags); });
}

// The driver's log of errors, which stays empty.
CUresult cuLogsRegisterCallback(CUlogsCallback, void*, CUlogsCallbackHandle* handle) {
  static int registered;
  *handle = reinterpret_cast<CUlogsCallbackHandle>(&registered);
  return CUDA_SUCCESS;
}
CUresult cuLogsUnregisterCallback(CUlogsCallbackHandle) {
  return CUDA_SUCCESS;
}

CUresult cuGetExportTable(const void** table, const CUuuid*) {
  *table = nullptr;
  return CUDA_ERROR_NOT_SUPPORTED;
}

}  // extern "C"

#define ANSWERED(name)
#define REFUSED(name) DEVICE_AUDIT_REFUSED(name, CUDA_ERROR_NOT_SUPPORTED)
#include "driver.def"
#undef ANSWERED
#undef REFUSED

namespace {

struct Function {
  const char* name;  // without the version that the header adds
  void* address;
};

// Null: there is no such function.
void* find_function(const char* name) {
  // Made at run time: the address of a function is no constant in position-independent data that is const.
  static const Function functions[] = {
#define ANSWERED(name) {#name, reinterpret_cast<void*>(&::name)},
#define REFUSED(name) ANSWERED(name)
#include "driver.def"
#undef ANSWERED
#undef REFUSED
  };
  for (const Function& function : functions) {
    if (strcmp(function.name, name) == 0) return function.address;
  }
  return nullptr;
}

}  // namespace

extern "C" {

CUresult cuGetProcAddress_v2(const char* name, void** function, int, cuuint64_t,
                             CUdriverProcAddressQueryResult* status) {
  *function = find_function(name);
  if (status) *status = *function ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return *function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult* status) {
  *function = find_function(name);
  if (status) *status = *function ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}
cudaError_t cudaGetDriverEntryPoint(const char* name, void** function, unsigned long long flags,
                                    cudaDriverEntryPointQueryResult* status) {
  return cudaGetDriverEntryPointByVersion(name, function, CUDA_VERSION, flags, status);
}

}  // extern "C"
