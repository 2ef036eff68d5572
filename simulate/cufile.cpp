// cuFile, which moves data between files and GPUs, is refused whole.
#include <cufile.h>

#include "answer.h"

namespace {

// Its status is a structure of two numbers.
CUfileError_t refuse_file(bool& said, const char* name) {
  DEVICE_AUDIT_REFUSE(said, name, "CU_FILE_DRIVER_NOT_INITIALIZED", 0);
  return {CU_FILE_DRIVER_NOT_INITIALIZED, CUDA_SUCCESS};
}

}  // namespace

#define DEVICE_AUDIT_REFUSED_FILE(name, parameters) \
  CUfileError_t name parameters {                   \
    static bool said;                               \
    return refuse_file(said, #name);                \
  }

extern "C" {

DEVICE_AUDIT_REFUSED_FILE(cuFileDriverOpen, ())
DEVICE_AUDIT_REFUSED_FILE(cuFileDriverGetProperties, (CUfileDrvProps_t*))
DEVICE_AUDIT_REFUSED_FILE(cuFileHandleRegister, (CUfileHandle_t*, CUfileDescr_t*))
DEVICE_AUDIT_REFUSED_FILE(cuFileBufRegister, (const void*, size_t, int))
DEVICE_AUDIT_REFUSED_FILE(cuFileBufDeregister, (const void*))

void cuFileHandleDeregister(CUfileHandle_t) {}
ssize_t cuFileRead(CUfileHandle_t, void*, size_t, off_t, off_t) {
  return -1;
}
ssize_t cuFileWrite(CUfileHandle_t, const void*, size_t, off_t, off_t) {
  return -1;
}

}  // extern "C"
