// The driver interface answers through the runtime's functions: both share handles and the numbers of their errors.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include "process.h"

namespace device_audit::simulate {

// The result of a runtime call made for the driver, whose errors cudaGetLastError does not see.
template <typename Call>
CUresult driver(Call call) {
  const cudaError_t before = thread.error;
  const cudaError_t error = call();
  thread.error = before;
  return error == cudaErrorInvalidConfiguration ? CUDA_ERROR_INVALID_VALUE : static_cast<CUresult>(error);
}

inline void* pointer_of(CUdeviceptr address) {
  return reinterpret_cast<void*>(address);
}
inline CUdeviceptr address_of(const void* pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
}

}  // namespace device_audit::simulate

// A driver function that is one call of the runtime.
#define DEVICE_AUDIT_DRIVER(name, parameters, call)                \
  CUresult name parameters {                                       \
    return ::device_audit::simulate::driver([&] { return call; }); \
  }
