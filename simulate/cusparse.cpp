// cuSPARSE: descriptions of matrices that are only kept, workspaces of no size, and every computation answered as done.
#include <cuda_runtime_api.h>
#include <cusparse.h>
#include <stdlib.h>

#include "answer.h"

namespace {

// What any of the opaque types points to here.
struct Description {
  int64_t rows, columns, nonzeros;
};

template <typename Pointer>
cusparseStatus_t make(Pointer* description, int64_t rows = 0, int64_t columns = 0, int64_t nonzeros = 0) {
  auto* made = static_cast<Description*>(calloc(1, sizeof(Description)));
  if (made) *made = {rows, columns, nonzeros};
  *description = reinterpret_cast<Pointer>(made);
  return made ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_ALLOC_FAILED;
}

cusparseStatus_t drop(const void* description) {
  free(const_cast<void*>(description));
  return CUSPARSE_STATUS_SUCCESS;
}

template <typename Size>
cusparseStatus_t no_workspace(Size* bytes) {
  *bytes = 0;
  return CUSPARSE_STATUS_SUCCESS;
}

}  // namespace

using Handle = cusparseHandle_t;
using Operation = cusparseOperation_t;
using Matrix = cusparseConstSpMatDescr_t;

extern "C" {

const char* cusparseGetErrorName(cusparseStatus_t status) {
  return status ? "CUSPARSE_STATUS_NOT_SUPPORTED" : "CUSPARSE_STATUS_SUCCESS";
}
const char* cusparseGetErrorString(cusparseStatus_t status) {
  return status ? "operation not supported" : "success";
}
cusparseStatus_t cusparseGetVersion(Handle, int* version) {
  *version = CUSPARSE_VERSION;
  return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseCreate(Handle* handle) {
  return make(handle);
}
cusparseStatus_t cusparseDestroy(Handle handle) {
  return drop(handle);
}

cusparseStatus_t cusparseCreateMatDescr(cusparseMatDescr_t* description) {
  return make(description);
}
cusparseStatus_t cusparseDestroyMatDescr(cusparseMatDescr_t description) {
  return drop(description);
}
cusparseStatus_t cusparseCreateBsrsv2Info(bsrsv2Info_t* information) {
  return make(information);
}
cusparseStatus_t cusparseDestroyBsrsv2Info(bsrsv2Info_t information) {
  return drop(information);
}
cusparseStatus_t cusparseCreateBsrsm2Info(bsrsm2Info_t* information) {
  return make(information);
}
cusparseStatus_t cusparseDestroyBsrsm2Info(bsrsm2Info_t information) {
  return drop(information);
}
cusparseStatus_t cusparseSpSV_createDescr(cusparseSpSVDescr_t* description) {
  return make(description);
}
cusparseStatus_t cusparseSpSV_destroyDescr(cusparseSpSVDescr_t description) {
  return drop(description);
}
cusparseStatus_t cusparseSpSM_createDescr(cusparseSpSMDescr_t* description) {
  return make(description);
}
cusparseStatus_t cusparseSpSM_destroyDescr(cusparseSpSMDescr_t description) {
  return drop(description);
}
cusparseStatus_t cusparseSpGEMM_createDescr(cusparseSpGEMMDescr_t* description) {
  return make(description);
}
cusparseStatus_t cusparseSpGEMM_destroyDescr(cusparseSpGEMMDescr_t description) {
  return drop(description);
}

cusparseStatus_t cusparseCreateDnVec(cusparseDnVecDescr_t* description, int64_t size, void*, cudaDataType) {
  return make(description, size);
}
cusparseStatus_t cusparseCreateDnMat(cusparseDnMatDescr_t* description, int64_t rows, int64_t columns, int64_t, void*,
                                     cudaDataType, cusparseOrder_t) {
  return make(description, rows, columns);
}
cusparseStatus_t cusparseCreateCsr(cusparseSpMatDescr_t* description, int64_t rows, int64_t columns, int64_t nonzeros,
                                   void*, void*, void*, cusparseIndexType_t, cusparseIndexType_t, cusparseIndexBase_t,
                                   cudaDataType) {
  return make(description, rows, columns, nonzeros);
}
cusparseStatus_t cusparseCreateCoo(cusparseSpMatDescr_t* description, int64_t rows, int64_t columns, int64_t nonzeros,
                                   void*, void*, void*, cusparseIndexType_t, cusparseIndexBase_t, cudaDataType) {
  return make(description, rows, columns, nonzeros);
}
cusparseStatus_t cusparseDestroyDnVec(cusparseConstDnVecDescr_t description) {
  return drop(description);
}
cusparseStatus_t cusparseDestroyDnMat(cusparseConstDnMatDescr_t description) {
  return drop(description);
}
cusparseStatus_t cusparseDestroySpMat(Matrix description) {
  return drop(description);
}

cusparseStatus_t cusparseSpMatGetSize(Matrix matrix, int64_t* rows, int64_t* columns, int64_t* nonzeros) {
  const auto* description = reinterpret_cast<const Description*>(matrix);
  *rows = description->rows;
  *columns = description->columns;
  *nonzeros = description->nonzeros;
  return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseSpMV_bufferSize(Handle, Operation, const void*, Matrix, cusparseConstDnVecDescr_t, const void*,
                                         cusparseDnVecDescr_t, cudaDataType, cusparseSpMVAlg_t, size_t* bytes) {
  return no_workspace(bytes);
}
cusparseStatus_t cusparseSpMM_bufferSize(Handle, Operation, Operation, const void*, Matrix, cusparseConstDnMatDescr_t,
                                         const void*, cusparseDnMatDescr_t, cudaDataType, cusparseSpMMAlg_t,
                                         size_t* bytes) {
  return no_workspace(bytes);
}
cusparseStatus_t cusparseSDDMM_bufferSize(Handle, Operation, Operation, const void*, cusparseConstDnMatDescr_t,
                                          cusparseConstDnMatDescr_t, const void*, cusparseSpMatDescr_t, cudaDataType,
                                          cusparseSDDMMAlg_t, size_t* bytes) {
  return no_workspace(bytes);
}
cusparseStatus_t cusparseSpSV_bufferSize(Handle, Operation, const void*, Matrix, cusparseConstDnVecDescr_t,
                                         cusparseDnVecDescr_t, cudaDataType, cusparseSpSVAlg_t, cusparseSpSVDescr_t,
                                         size_t* bytes) {
  return no_workspace(bytes);
}
cusparseStatus_t cusparseSpSM_bufferSize(Handle, Operation, Operation, const void*, Matrix, cusparseConstDnMatDescr_t,
                                         cusparseDnMatDescr_t, cudaDataType, cusparseSpSMAlg_t, cusparseSpSMDescr_t,
                                         size_t* bytes) {
  return no_workspace(bytes);
}
cusparseStatus_t cusparseSpGEMM_workEstimation(Handle, Operation, Operation, const void*, Matrix, Matrix, const void*,
                                               cusparseSpMatDescr_t, cudaDataType, cusparseSpGEMMAlg_t,
                                               cusparseSpGEMMDescr_t, size_t* bytes, void*) {
  return no_workspace(bytes);
}
cusparseStatus_t cusparseSpGEMM_compute(Handle, Operation, Operation, const void*, Matrix, Matrix, const void*,
                                        cusparseSpMatDescr_t, cudaDataType, cusparseSpGEMMAlg_t, cusparseSpGEMMDescr_t,
                                        size_t* bytes, void*) {
  return no_workspace(bytes);
}
cusparseStatus_t cusparseXcoosort_bufferSizeExt(Handle, int, int, int, const int*, const int*, size_t* bytes) {
  return no_workspace(bytes);
}
cusparseStatus_t cusparseXcsrsort_bufferSizeExt(Handle, int, int, int, const int*, const int*, size_t* bytes) {
  return no_workspace(bytes);
}

// The sum of two matrices has no elements, in host or device memory alike where the host may write.
cusparseStatus_t cusparseXcsrgeam2Nnz(Handle, int, int, const cusparseMatDescr_t, int, const int*, const int*,
                                      const cusparseMatDescr_t, int, const int*, const int*, const cusparseMatDescr_t,
                                      int*, int* nonzeros, void*) {
  return cudaMemset(nonzeros, 0, sizeof *nonzeros) == cudaSuccess ? CUSPARSE_STATUS_SUCCESS
                                                                  : CUSPARSE_STATUS_INVALID_VALUE;
}

#define DEVICE_AUDIT_SIZES(T, type)                                                                                   \
  cusparseStatus_t cusparse##T##bsrsv2_bufferSize(Handle, cusparseDirection_t, Operation, int, int,                   \
                                                  const cusparseMatDescr_t, type*, const int*, const int*, int,       \
                                                  bsrsv2Info_t, int* bytes) {                                         \
    return no_workspace(bytes);                                                                                       \
  }                                                                                                                   \
  cusparseStatus_t cusparse##T##bsrsm2_bufferSize(Handle, cusparseDirection_t, Operation, Operation, int, int, int,   \
                                                  const cusparseMatDescr_t, type*, const int*, const int*, int,       \
                                                  bsrsm2Info_t, int* bytes) {                                         \
    return no_workspace(bytes);                                                                                       \
  }                                                                                                                   \
  cusparseStatus_t cusparse##T##csrgeam2_bufferSizeExt(                                                               \
      Handle, int, int, const type*, const cusparseMatDescr_t, int, const type*, const int*, const int*, const type*, \
      const cusparseMatDescr_t, int, const type*, const int*, const int*, const cusparseMatDescr_t, const type*,      \
      const int*, const int*, size_t* bytes) {                                                                        \
    return no_workspace(bytes);                                                                                       \
  }
DEVICE_AUDIT_SIZES(S, float)
DEVICE_AUDIT_SIZES(D, double)
DEVICE_AUDIT_SIZES(C, cuComplex)
DEVICE_AUDIT_SIZES(Z, cuDoubleComplex)

}  // extern "C"

DEVICE_AUDIT_DONE_ANSWER(CUSPARSE_STATUS_SUCCESS)
#define DONE DEVICE_AUDIT_DONE
#define REFUSED(name) DEVICE_AUDIT_REFUSED(name, CUSPARSE_STATUS_NOT_SUPPORTED)
#include "cusparse.def"
