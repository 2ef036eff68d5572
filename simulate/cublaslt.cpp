// cuBLASLt: descriptions that are only kept, one algorithm that suits everything, and products answered as done.
#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>

#include "answer.h"

namespace {

template <typename Description>
cublasStatus_t make(Description** description) {
  *description = static_cast<Description*>(calloc(1, sizeof(Description)));
  return *description ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}

cublasStatus_t drop(void* description) {
  free(description);
  return CUBLAS_STATUS_SUCCESS;
}

// The algorithm needs no workspace, so it fits any limit.
void offer(cublasLtMatmulHeuristicResult_t* result) {
  memset(result, 0, sizeof *result);
  result->state = CUBLAS_STATUS_SUCCESS;
  result->wavesCount = 1.0f;
}

}  // namespace

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  *handle = static_cast<cublasLtHandle_t>(calloc(1, 64));
  return *handle ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  return drop(handle);
}

size_t cublasLtGetVersion(void) {
  return CUBLAS_VERSION;
}
size_t cublasLtGetCudartVersion(void) {
  return CUDART_VERSION;
}
cublasStatus_t cublasLtGetProperty(libraryPropertyType type, int* value) {
  *value = type == MAJOR_VERSION ? CUBLAS_VER_MAJOR : type == MINOR_VERSION ? CUBLAS_VER_MINOR : CUBLAS_VER_PATCH;
  return CUBLAS_STATUS_SUCCESS;
}
const char* cublasLtGetStatusName(cublasStatus_t status) {
  return cublasGetStatusName(status);
}
const char* cublasLtGetStatusString(cublasStatus_t status) {
  return cublasGetStatusString(status);
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* description, cublasComputeType_t, cudaDataType_t) {
  return make(description);
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t description) {
  return drop(description);
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType, uint64_t, uint64_t, int64_t) {
  return make(layout);
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  return drop(layout);
}
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  return make(preference);
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  return drop(preference);
}
cublasStatus_t cublasLtMatrixTransformDescCreate(cublasLtMatrixTransformDesc_t* description, cudaDataType) {
  return make(description);
}
cublasStatus_t cublasLtMatrixTransformDescDestroy(cublasLtMatrixTransformDesc_t description) {
  return drop(description);
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatmulPreference_t, int wanted,
                                              cublasLtMatmulHeuristicResult_t results[], int* found) {
  *found = wanted > 0 ? 1 : 0;
  if (wanted > 0) offer(results);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoGetIds(cublasLtHandle_t, cublasComputeType_t, cudaDataType_t, cudaDataType_t,
                                        cudaDataType_t, cudaDataType_t, cudaDataType_t, int wanted, int identifiers[],
                                        int* found) {
  *found = wanted > 0 ? 1 : 0;
  if (wanted > 0) identifiers[0] = 0;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoInit(cublasLtHandle_t, cublasComputeType_t, cudaDataType_t, cudaDataType_t,
                                      cudaDataType_t, cudaDataType_t, cudaDataType_t, int,
                                      cublasLtMatmulAlgo_t* algorithm) {
  memset(algorithm, 0, sizeof *algorithm);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                                       cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                       const cublasLtMatmulAlgo_t*, cublasLtMatmulHeuristicResult_t* result) {
  offer(result);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t*, cublasLtMatmulAlgoConfigAttributes_t,
                                                    void* value, size_t bytes, size_t* written) {
  if (value) memset(value, 0, bytes);
  if (written) *written = bytes;
  return CUBLAS_STATUS_SUCCESS;
}

}  // extern "C"

DEVICE_AUDIT_DONE_ANSWER(CUBLAS_STATUS_SUCCESS)
#define DONE DEVICE_AUDIT_DONE
#define REFUSED(name) DEVICE_AUDIT_REFUSED(name, CUBLAS_STATUS_NOT_SUPPORTED)
#include "cublaslt.def"
