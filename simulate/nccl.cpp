// NCCL: communicators that know their size and rank, and collectives answered as done.
#include <cuda_runtime_api.h>
#include <nccl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "answer.h"

struct ncclComm {
  int size, rank, device;
};

namespace {

ncclResult_t make(ncclComm_t* communicator, int size, int rank) {
  if (size < 1 || rank < 0 || rank >= size) return ncclInvalidArgument;
  *communicator = static_cast<ncclComm_t>(malloc(sizeof(ncclComm)));
  if (!*communicator) return ncclSystemError;
  **communicator = {size, rank, device_audit::simulate::current_device()};
  return ncclSuccess;
}

ncclResult_t drop(ncclComm_t communicator) {
  free(communicator);
  return ncclSuccess;
}

// What registered buffers and windows are known by: nothing is looked up through it.
int registered;

}  // namespace

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}
const char* ncclGetErrorString(ncclResult_t result) {
  return result == ncclSuccess ? "no error" : "not simulated";
}
const char* ncclGetLastError(ncclComm_t) {
  return "";
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* identifier) {
  return getrandom(identifier, sizeof *identifier, 0) == sizeof *identifier ? ncclSuccess : ncclSystemError;
}
ncclResult_t ncclCommGetUniqueId(ncclComm_t, ncclUniqueId* identifier) {
  return ncclGetUniqueId(identifier);
}

ncclResult_t ncclCommInitRank(ncclComm_t* communicator, int size, ncclUniqueId, int rank) {
  return make(communicator, size, rank);
}
ncclResult_t ncclCommInitRankConfig(ncclComm_t* communicator, int size, ncclUniqueId, int rank, ncclConfig_t*) {
  return make(communicator, size, rank);
}
ncclResult_t ncclCommInitRankScalable(ncclComm_t* communicator, int size, int rank, int, ncclUniqueId*, ncclConfig_t*) {
  return make(communicator, size, rank);
}
ncclResult_t ncclCommInitAll(ncclComm_t* communicators, int size, const int* devices) {
  for (int rank = 0; rank < size; ++rank) {
    if (ncclResult_t result = make(&communicators[rank], size, rank); result != ncclSuccess) return result;
    communicators[rank]->device = devices ? devices[rank] : rank;
  }
  return ncclSuccess;
}
ncclResult_t ncclCommSplit(ncclComm_t communicator, int color, int, ncclComm_t* part, ncclConfig_t*) {
  *part = nullptr;
  return color == NCCL_SPLIT_NOCOLOR ? ncclSuccess : make(part, communicator->size, communicator->rank);
}
ncclResult_t ncclCommShrink(ncclComm_t communicator, int*, int excluded, ncclComm_t* part, ncclConfig_t*, int) {
  const int size = communicator->size - excluded;
  return make(part, size, communicator->rank < size ? communicator->rank : size - 1);
}
ncclResult_t ncclCommDestroy(ncclComm_t communicator) {
  return drop(communicator);
}
ncclResult_t ncclCommAbort(ncclComm_t communicator) {
  return drop(communicator);
}

ncclResult_t ncclCommCount(const ncclComm_t communicator, int* size) {
  *size = communicator->size;
  return ncclSuccess;
}
ncclResult_t ncclCommUserRank(const ncclComm_t communicator, int* rank) {
  *rank = communicator->rank;
  return ncclSuccess;
}
ncclResult_t ncclCommCuDevice(const ncclComm_t communicator, int* device) {
  *device = communicator->device;
  return ncclSuccess;
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t, ncclResult_t* error) {
  *error = ncclSuccess;
  return ncclSuccess;
}
ncclResult_t ncclCommMemStats(ncclComm_t, ncclCommMemStat_t, uint64_t* value) {
  *value = 0;
  return ncclSuccess;
}

ncclResult_t ncclCommRegister(const ncclComm_t, void*, size_t, void** handle) {
  *handle = &registered;
  return ncclSuccess;
}
ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t* operation, void*, ncclDataType_t, ncclScalarResidence_t,
                                      ncclComm_t) {
  *operation = ncclSum;
  return ncclSuccess;
}
ncclResult_t ncclMemAlloc(void** pointer, size_t bytes) {
  return cudaMalloc(pointer, bytes) == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}
ncclResult_t ncclMemFree(void* pointer) {
  return cudaFree(pointer) == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}

}  // extern "C"

DEVICE_AUDIT_DONE_ANSWER(ncclSuccess)
#define DONE DEVICE_AUDIT_DONE
#define REFUSED(name) DEVICE_AUDIT_REFUSED(name, ncclInvalidUsage)
#define REFUSED_UNDECLARED(name) DEVICE_AUDIT_REFUSED_UNDECLARED(name, ncclInvalidUsage)
#include "nccl.def"
