// cuSOLVER: workspaces of one element, and every factorisation answered as done; its `info` in device memory reads as
// success.
#include <cuda_runtime_api.h>
#include <cusolverDn.h>
#include <cusolverRf.h>
#include <cusolverSp.h>
#include <stdlib.h>

#include "answer.h"

struct cusolverDnContext {
  cudaStream_t stream;
};
struct gesvdjInfo {};
struct syevjInfo {};
struct cusolverDnParams {};

namespace {

template <typename Object>
cusolverStatus_t make(Object** object) {
  *object = static_cast<Object*>(calloc(1, sizeof(Object)));
  return *object ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_ALLOC_FAILED;
}

cusolverStatus_t drop(void* object) {
  free(object);
  return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t one_element(int* elements) {
  *elements = 1;
  return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t some_bytes(size_t* on_device, size_t* on_host) {
  *on_device = *on_host = 16;
  return CUSOLVER_STATUS_SUCCESS;
}

}  // namespace

using Handle = cusolverDnHandle_t;
using Mode = cusolverEigMode_t;
using Triangle = cublasFillMode_t;

extern "C" {

cusolverStatus_t cusolverDnCreate(Handle* handle) {
  return make(handle);
}
cusolverStatus_t cusolverDnDestroy(Handle handle) {
  return drop(handle);
}
cusolverStatus_t cusolverDnCreateGesvdjInfo(gesvdjInfo_t* info) {
  return make(info);
}
cusolverStatus_t cusolverDnDestroyGesvdjInfo(gesvdjInfo_t info) {
  return drop(info);
}
cusolverStatus_t cusolverDnCreateSyevjInfo(syevjInfo_t* info) {
  return make(info);
}
cusolverStatus_t cusolverDnDestroySyevjInfo(syevjInfo_t info) {
  return drop(info);
}
cusolverStatus_t cusolverDnCreateParams(cusolverDnParams_t* parameters) {
  return make(parameters);
}
cusolverStatus_t cusolverDnDestroyParams(cusolverDnParams_t parameters) {
  return drop(parameters);
}

cusolverStatus_t cusolverDnSetStream(Handle handle, cudaStream_t stream) {
  handle->stream = stream;
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnGetStream(Handle handle, cudaStream_t* stream) {
  *stream = handle->stream;
  return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverGetVersion(int* version) {
  *version = CUSOLVER_VERSION;
  return CUSOLVER_STATUS_SUCCESS;
}

// The sizes that every element type asks for: T in the name, `type` of the matrix, `real` of its eigen- or singular
// values.
#define DEVICE_AUDIT_SIZES(T, type, real)                                                                            \
  cusolverStatus_t cusolverDn##T##potrf_bufferSize(Handle, Triangle, int, type*, int, int* size) {                   \
    return one_element(size);                                                                                        \
  }                                                                                                                  \
  cusolverStatus_t cusolverDn##T##getrf_bufferSize(Handle, int, int, type*, int, int* size) {                        \
    return one_element(size);                                                                                        \
  }                                                                                                                  \
  cusolverStatus_t cusolverDn##T##geqrf_bufferSize(Handle, int, int, type*, int, int* size) {                        \
    return one_element(size);                                                                                        \
  }                                                                                                                  \
  cusolverStatus_t cusolverDn##T##sytrf_bufferSize(Handle, int, type*, int, int* size) {                             \
    return one_element(size);                                                                                        \
  }                                                                                                                  \
  cusolverStatus_t cusolverDn##T##gesvd_bufferSize(Handle, int, int, int* size) {                                    \
    return one_element(size);                                                                                        \
  }                                                                                                                  \
  cusolverStatus_t cusolverDn##T##gesvdj_bufferSize(Handle, Mode, int, int, int, const type*, int, const real*,      \
                                                    const type*, int, const type*, int, int* size, gesvdjInfo_t) {   \
    return one_element(size);                                                                                        \
  }                                                                                                                  \
  cusolverStatus_t cusolverDn##T##gesvdjBatched_bufferSize(Handle, Mode, int, int, const type*, int, const real*,    \
                                                           const type*, int, const type*, int, int* size,            \
                                                           gesvdjInfo_t, int) {                                      \
    return one_element(size);                                                                                        \
  }                                                                                                                  \
  cusolverStatus_t cusolverDn##T##gesvdaStridedBatched_bufferSize(                                                   \
      Handle, Mode, int, int, int, const type*, int, long long, const real*, long long, const type*, int, long long, \
      const type*, int, long long, int* size, int) {                                                                 \
    return one_element(size);                                                                                        \
  }
DEVICE_AUDIT_SIZES(S, float, float)
DEVICE_AUDIT_SIZES(D, double, double)
DEVICE_AUDIT_SIZES(C, cuComplex, float)
DEVICE_AUDIT_SIZES(Z, cuDoubleComplex, double)

// The same for what is orthogonal or symmetric of real numbers, and unitary or Hermitian of complex ones.
#define DEVICE_AUDIT_NAMED_SIZES(orgqr, ormqr, syevd, syevjBatched, type, real)                                      \
  cusolverStatus_t cusolverDn##orgqr##_bufferSize(Handle, int, int, int, const type*, int, const type*, int* size) { \
    return one_element(size);                                                                                        \
  }                                                                                                                  \
  cusolverStatus_t cusolverDn##ormqr##_bufferSize(Handle, cublasSideMode_t, cublasOperation_t, int, int, int,        \
                                                  const type*, int, const type*, const type*, int, int* size) {      \
    return one_element(size);                                                                                        \
  }                                                                                                                  \
  cusolverStatus_t cusolverDn##syevd##_bufferSize(Handle, Mode, Triangle, int, const type*, int, const real*,        \
                                                  int* size) {                                                       \
    return one_element(size);                                                                                        \
  }                                                                                                                  \
  cusolverStatus_t cusolverDn##syevjBatched##_bufferSize(Handle, Mode, Triangle, int, const type*, int, const real*, \
                                                         int* size, syevjInfo_t, int) {                              \
    return one_element(size);                                                                                        \
  }
DEVICE_AUDIT_NAMED_SIZES(Sorgqr, Sormqr, Ssyevd, SsyevjBatched, float, float)
DEVICE_AUDIT_NAMED_SIZES(Dorgqr, Dormqr, Dsyevd, DsyevjBatched, double, double)
DEVICE_AUDIT_NAMED_SIZES(Cungqr, Cunmqr, Cheevd, CheevjBatched, cuComplex, float)
DEVICE_AUDIT_NAMED_SIZES(Zungqr, Zunmqr, Zheevd, ZheevjBatched, cuDoubleComplex, double)

cusolverStatus_t cusolverDnXpotrf_bufferSize(Handle, cusolverDnParams_t, Triangle, int64_t, cudaDataType, const void*,
                                             int64_t, cudaDataType, size_t* on_device, size_t* on_host) {
  return some_bytes(on_device, on_host);
}
cusolverStatus_t cusolverDnXgeqrf_bufferSize(Handle, cusolverDnParams_t, int64_t, int64_t, cudaDataType, const void*,
                                             int64_t, cudaDataType, const void*, cudaDataType, size_t* on_device,
                                             size_t* on_host) {
  return some_bytes(on_device, on_host);
}
cusolverStatus_t cusolverDnXsyevd_bufferSize(Handle, cusolverDnParams_t, Mode, Triangle, int64_t, cudaDataType,
                                             const void*, int64_t, cudaDataType, const void*, cudaDataType,
                                             size_t* on_device, size_t* on_host) {
  return some_bytes(on_device, on_host);
}
cusolverStatus_t cusolverDnXsyevBatched_bufferSize(Handle, cusolverDnParams_t, Mode, Triangle, int64_t, cudaDataType,
                                                   const void*, int64_t, cudaDataType, const void*, cudaDataType,
                                                   size_t* on_device, size_t* on_host, int64_t) {
  return some_bytes(on_device, on_host);
}
cusolverStatus_t cusolverDnXgeev_bufferSize(Handle, cusolverDnParams_t, Mode, Mode, int64_t, cudaDataType, const void*,
                                            int64_t, cudaDataType, const void*, cudaDataType, const void*, int64_t,
                                            cudaDataType, const void*, int64_t, cudaDataType, size_t* on_device,
                                            size_t* on_host) {
  return some_bytes(on_device, on_host);
}
cusolverStatus_t cusolverDnXsytrs_bufferSize(Handle, Triangle, int64_t, int64_t, cudaDataType, const void*, int64_t,
                                             const int64_t*, cudaDataType, void*, int64_t, size_t* on_device,
                                             size_t* on_host) {
  return some_bytes(on_device, on_host);
}

}  // extern "C"

DEVICE_AUDIT_DONE_ANSWER(CUSOLVER_STATUS_SUCCESS)
#define DONE DEVICE_AUDIT_DONE
#define REFUSED(name) DEVICE_AUDIT_REFUSED(name, CUSOLVER_STATUS_NOT_SUPPORTED)
#include "cusolver.def"
