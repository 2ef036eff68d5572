// cuBLAS: handles with their modes, copies of matrices, and every computation answered as done.
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <stdlib.h>

#include "answer.h"
#include "process.h"

struct cublasContext {
  cudaStream_t stream;
  cublasPointerMode_t pointer_mode;
  cublasAtomicsMode_t atomics_mode;
  cublasMath_t math_mode;
  int multiprocessors;
};

namespace {

cublasStatus_t status_of(cudaError_t error) {
  return error == cudaSuccess                 ? CUBLAS_STATUS_SUCCESS
         : error == cudaErrorMemoryAllocation ? CUBLAS_STATUS_ALLOC_FAILED
                                              : CUBLAS_STATUS_MAPPING_ERROR;
}

cublasStatus_t copy_matrix(int64_t rows, int64_t columns, int64_t element, const void* from, int64_t from_leading,
                           void* to, int64_t to_leading, cudaStream_t stream) {
  if (rows < 0 || columns < 0 || element <= 0 || from_leading < rows || to_leading < rows)
    return CUBLAS_STATUS_INVALID_VALUE;
  return status_of(cudaMemcpy2DAsync(to, size_t(to_leading * element), from, size_t(from_leading * element),
                                     size_t(rows * element), size_t(columns), cudaMemcpyDefault, stream));
}

cublasStatus_t copy_vector(int64_t count, int64_t element, const void* from, int64_t from_step, void* to,
                           int64_t to_step, cudaStream_t stream) {
  return copy_matrix(1, count, element, from, from_step, to, to_step, stream);
}

}  // namespace

extern "C" {

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  *handle = nullptr;
  if (cudaError_t error = device_audit::simulate::enter(); error != cudaSuccess) return CUBLAS_STATUS_NOT_INITIALIZED;
  *handle = static_cast<cublasHandle_t>(calloc(1, sizeof(cublasContext)));
  return *handle ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  free(handle);
  return CUBLAS_STATUS_SUCCESS;
}

#define DEVICE_AUDIT_MODE(get, set, type, member)          \
  cublasStatus_t get(cublasHandle_t handle, type* value) { \
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;     \
    *value = handle->member;                               \
    return CUBLAS_STATUS_SUCCESS;                          \
  }                                                        \
  cublasStatus_t set(cublasHandle_t handle, type value) {  \
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;     \
    handle->member = value;                                \
    return CUBLAS_STATUS_SUCCESS;                          \
  }
DEVICE_AUDIT_MODE(cublasGetStream_v2, cublasSetStream_v2, cudaStream_t, stream)
DEVICE_AUDIT_MODE(cublasGetPointerMode_v2, cublasSetPointerMode_v2, cublasPointerMode_t, pointer_mode)
DEVICE_AUDIT_MODE(cublasGetAtomicsMode, cublasSetAtomicsMode, cublasAtomicsMode_t, atomics_mode)
DEVICE_AUDIT_MODE(cublasGetMathMode, cublasSetMathMode, cublasMath_t, math_mode)
DEVICE_AUDIT_MODE(cublasGetSmCountTarget, cublasSetSmCountTarget, int, multiprocessors)

cublasStatus_t cublasGetVersion_v2(cublasHandle_t, int* version) {
  *version = CUBLAS_VERSION;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetProperty(libraryPropertyType type, int* value) {
  *value = type == MAJOR_VERSION ? CUBLAS_VER_MAJOR : type == MINOR_VERSION ? CUBLAS_VER_MINOR : CUBLAS_VER_PATCH;
  return CUBLAS_STATUS_SUCCESS;
}

size_t cublasGetCudartVersion(void) {
  return CUDART_VERSION;
}

const char* cublasGetStatusName(cublasStatus_t status) {
  return status ? "CUBLAS_STATUS_NOT_SUPPORTED" : "CUBLAS_STATUS_SUCCESS";
}
const char* cublasGetStatusString(cublasStatus_t status) {
  return status ? "the functionality requested is not supported" : "success";
}

cublasStatus_t cublasSetMatrix(int rows, int columns, int element, const void* from, int lda, void* to, int ldb) {
  return copy_matrix(rows, columns, element, from, lda, to, ldb, nullptr);
}
cublasStatus_t cublasGetMatrix(int rows, int columns, int element, const void* from, int lda, void* to, int ldb) {
  return copy_matrix(rows, columns, element, from, lda, to, ldb, nullptr);
}
cublasStatus_t cublasSetMatrixAsync(int rows, int columns, int element, const void* from, int lda, void* to, int ldb,
                                    cudaStream_t stream) {
  return copy_matrix(rows, columns, element, from, lda, to, ldb, stream);
}
cublasStatus_t cublasGetMatrixAsync(int rows, int columns, int element, const void* from, int lda, void* to, int ldb,
                                    cudaStream_t stream) {
  return copy_matrix(rows, columns, element, from, lda, to, ldb, stream);
}
cublasStatus_t cublasSetVector(int count, int element, const void* from, int from_step, void* to, int to_step) {
  return copy_vector(count, element, from, from_step, to, to_step, nullptr);
}
cublasStatus_t cublasGetVector(int count, int element, const void* from, int from_step, void* to, int to_step) {
  return copy_vector(count, element, from, from_step, to, to_step, nullptr);
}
cublasStatus_t cublasSetVectorAsync(int count, int element, const void* from, int from_step, void* to, int to_step,
                                    cudaStream_t stream) {
  return copy_vector(count, element, from, from_step, to, to_step, stream);
}
cublasStatus_t cublasGetVectorAsync(int count, int element, const void* from, int from_step, void* to, int to_step,
                                    cudaStream_t stream) {
  return copy_vector(count, element, from, from_step, to, to_step, stream);
}

// Of these the host reads a status.
#define DEVICE_AUDIT_BATCHED(T, type)                                                                            \
  cublasStatus_t cublas##T##geqrfBatched(cublasHandle_t, int, int, type* const[], int, type* const[], int* info, \
                                         int) {                                                                  \
    *info = 0;                                                                                                   \
    return CUBLAS_STATUS_SUCCESS;                                                                                \
  }                                                                                                              \
  cublasStatus_t cublas##T##getrsBatched(cublasHandle_t, cublasOperation_t, int, int, const type* const[], int,  \
                                         const int*, type* const[], int, int* info, int) {                       \
    *info = 0;                                                                                                   \
    return CUBLAS_STATUS_SUCCESS;                                                                                \
  }                                                                                                              \
  cublasStatus_t cublas##T##gelsBatched(cublasHandle_t, cublasOperation_t, int, int, int, type* const[], int,    \
                                        type* const[], int, int* info, int*, int) {                              \
    *info = 0;                                                                                                   \
    return CUBLAS_STATUS_SUCCESS;                                                                                \
  }
DEVICE_AUDIT_BATCHED(S, float)
DEVICE_AUDIT_BATCHED(D, double)
DEVICE_AUDIT_BATCHED(C, cuComplex)
DEVICE_AUDIT_BATCHED(Z, cuDoubleComplex)

}  // extern "C"

DEVICE_AUDIT_DONE_ANSWER(CUBLAS_STATUS_SUCCESS)
#define DONE DEVICE_AUDIT_DONE
#define REFUSED(name) DEVICE_AUDIT_REFUSED(name, CUBLAS_STATUS_NOT_SUPPORTED)
#include "cublas.def"
