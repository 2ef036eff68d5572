// cuFFT: plans are numbers, and every transform is answered as done.
#include <cuda_runtime_api.h>
#include <cufftXt.h>

#include "answer.h"

namespace {

int last_plan;

cufftResult make(cufftHandle* plan) {
  *plan = __atomic_add_fetch(&last_plan, 1, __ATOMIC_RELAXED);
  return CUFFT_SUCCESS;
}

// Plans need no work area.
cufftResult no_workspace(size_t* bytes) {
  if (bytes) *bytes = 0;
  return CUFFT_SUCCESS;
}

}  // namespace

extern "C" {

cufftResult cufftCreate(cufftHandle* plan) {
  return make(plan);
}
cufftResult cufftPlan1d(cufftHandle* plan, int, cufftType, int) {
  return make(plan);
}
cufftResult cufftPlan2d(cufftHandle* plan, int, int, cufftType) {
  return make(plan);
}
cufftResult cufftPlan3d(cufftHandle* plan, int, int, int, cufftType) {
  return make(plan);
}
cufftResult cufftPlanMany(cufftHandle* plan, int, int*, int*, int, int, int*, int, int, cufftType, int) {
  return make(plan);
}
cufftResult cufftMakePlan1d(cufftHandle, int, cufftType, int, size_t* bytes) {
  return no_workspace(bytes);
}
cufftResult cufftMakePlan2d(cufftHandle, int, int, cufftType, size_t* bytes) {
  return no_workspace(bytes);
}
cufftResult cufftMakePlan3d(cufftHandle, int, int, int, cufftType, size_t* bytes) {
  return no_workspace(bytes);
}
cufftResult cufftMakePlanMany(cufftHandle, int, int*, int*, int, int, int*, int, int, cufftType, int, size_t* bytes) {
  return no_workspace(bytes);
}
cufftResult cufftMakePlanMany64(cufftHandle, int, long long*, long long*, long long, long long, long long*, long long,
                                long long, cufftType, long long, size_t* bytes) {
  return no_workspace(bytes);
}
cufftResult cufftXtMakePlanMany(cufftHandle, int, long long*, long long*, long long, long long, cudaDataType,
                                long long*, long long, long long, cudaDataType, long long, size_t* bytes,
                                cudaDataType) {
  return no_workspace(bytes);
}
cufftResult cufftGetSize(cufftHandle, size_t* bytes) {
  return no_workspace(bytes);
}
cufftResult cufftGetVersion(int* version) {
  *version = CUFFT_VERSION;
  return CUFFT_SUCCESS;
}

}  // extern "C"

DEVICE_AUDIT_DONE_ANSWER(CUFFT_SUCCESS)
#define DONE DEVICE_AUDIT_DONE
#define REFUSED(name) DEVICE_AUDIT_REFUSED(name, CUFFT_NOT_SUPPORTED)
#include "cufft.def"
