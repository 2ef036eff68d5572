// CUPTI beside the simulated runtime: it can be subscribed to and asked for activity, and has none to tell. The real
// one finds no driver of its own make behind the simulated one and does not come back from it. It is a library of its
// own, because who looks for CUPTI asks for the one that is mapped under its name.
#include <cuda.h>
#include <cupti.h>
#include <string.h>
#include <time.h>

// The simulated runtime's, where that is preloaded too; without it this library must load all the same (P1).
#pragma weak cuCtxGetDevice_v2
#pragma weak cuStreamGetId
extern "C" [[gnu::weak]] int device_audit_simulated_refuse(bool* said, const char* name, const char* status_name,
                                                           int status);

#define DEVICE_AUDIT_REFUSE(said, name, status_name, status) \
  (device_audit_simulated_refuse ? device_audit_simulated_refuse(&said, name, status_name, status) : status)
#include "answer.h"

namespace {

// CUPTI serves one subscriber at a time.
int subscribed;

CUptiResult subscribe(CUpti_SubscriberHandle* subscriber) {
  if (__atomic_exchange_n(&subscribed, 1, __ATOMIC_ACQ_REL)) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  *subscriber = reinterpret_cast<CUpti_SubscriberHandle>(&subscribed);
  return CUPTI_SUCCESS;
}

CUptiResult device_of(CUcontext context, uint32_t* device) {
  CUdevice number = 0;
  if (!cuCtxGetDevice_v2 || cuCtxGetDevice_v2(&number, context) != CUDA_SUCCESS) return CUPTI_ERROR_INVALID_CONTEXT;
  *device = uint32_t(number);
  return CUPTI_SUCCESS;
}

CUptiResult stream_of(CUstream stream, uint32_t* identifier) {
  unsigned long long number = 0;
  if (!cuStreamGetId || cuStreamGetId(stream, &number) != CUDA_SUCCESS) return CUPTI_ERROR_INVALID_STREAM;
  *identifier = uint32_t(number);
  return CUPTI_SUCCESS;
}

}  // namespace

extern "C" {

CUptiResult cuptiGetVersion(uint32_t* version) {
  *version = CUPTI_API_VERSION;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiGetResultString(CUptiResult result, const char** text) {
  *text = result == CUPTI_SUCCESS                                    ? "CUPTI_SUCCESS"
          : result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED ? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"
          : result == CUPTI_ERROR_MAX_LIMIT_REACHED                  ? "CUPTI_ERROR_MAX_LIMIT_REACHED"
                                                                     : "CUPTI_ERROR_NOT_SUPPORTED";
  return CUPTI_SUCCESS;
}
CUptiResult cuptiGetLastError(void) {
  return CUPTI_SUCCESS;
}

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc, void*) {
  return subscribe(subscriber);
}
CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc, void*, CUpti_SubscriberParams*) {
  return subscribe(subscriber);
}
CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle) {
  __atomic_store_n(&subscribed, 0, __ATOMIC_RELEASE);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain, uint32_t, const char** name) {
  *name = "unknown";
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetTimestamp(uint64_t* nanoseconds) {
  timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  *nanoseconds = uint64_t(time.tv_sec) * 1'000'000'000 + uint64_t(time.tv_nsec);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiGetDeviceId(CUcontext context, uint32_t* device) {
  return device_of(context, device);
}
CUptiResult cuptiGetContextId(CUcontext context, uint32_t* identifier) {
  const CUptiResult result = device_of(context, identifier);
  if (result == CUPTI_SUCCESS) ++*identifier;
  return result;
}
CUptiResult cuptiGetStreamId(CUcontext, CUstream stream, uint32_t* identifier) {
  return stream_of(stream, identifier);
}
CUptiResult cuptiGetStreamIdEx(CUcontext, CUstream stream, uint8_t, uint32_t* identifier) {
  return stream_of(stream, identifier);
}

CUptiResult cuptiActivityGetNextRecord(uint8_t*, size_t, CUpti_Activity** record) {
  *record = nullptr;
  return CUPTI_ERROR_MAX_LIMIT_REACHED;
}
CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, size_t* dropped) {
  *dropped = 0;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityGetAttribute(CUpti_ActivityAttribute, size_t* bytes, void* value) {
  memset(value, 0, *bytes);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind, uint64_t* last) {
  if (last) *last = 0;
  return CUPTI_SUCCESS;
}

}  // extern "C"

DEVICE_AUDIT_DONE_ANSWER(CUPTI_SUCCESS)
#define DONE DEVICE_AUDIT_DONE
#define REFUSED(name) DEVICE_AUDIT_REFUSED(name, CUPTI_ERROR_NOT_SUPPORTED)
#include "cupti.def"
