// NVRTC: kernels compiled at run time are never run, so any source compiles, to a program of one byte.
#include <cuda.h>
#include <nvrtc.h>
#include <stdlib.h>
#include <string.h>

#include "answer.h"

struct _nvrtcProgram {
  char* name;  // the last expression given, which is its own lowered name
};

namespace {

nvrtcResult one_byte(size_t* bytes) {
  *bytes = 1;
  return NVRTC_SUCCESS;
}

nvrtcResult empty(char* text) {
  *text = '\0';
  return NVRTC_SUCCESS;
}

}  // namespace

extern "C" {

const char* nvrtcGetErrorString(nvrtcResult result) {
  return result == NVRTC_SUCCESS ? "NVRTC_SUCCESS" : "NVRTC_ERROR_INTERNAL_ERROR";
}

nvrtcResult nvrtcVersion(int* major, int* minor) {
  *major = CUDA_VERSION / 1000;
  *minor = CUDA_VERSION % 1000 / 10;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetNumSupportedArchs(int* count) {
  *count = 1;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetSupportedArchs(int* architectures) {
  *architectures = 90;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcCreateProgram(nvrtcProgram* program, const char*, const char*, int, const char* const*,
                               const char* const*) {
  *program = static_cast<nvrtcProgram>(calloc(1, sizeof(_nvrtcProgram)));
  return *program ? NVRTC_SUCCESS : NVRTC_ERROR_OUT_OF_MEMORY;
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram* program) {
  if (!*program) return NVRTC_ERROR_INVALID_PROGRAM;
  free((*program)->name);
  free(*program);
  *program = nullptr;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcAddNameExpression(nvrtcProgram program, const char* expression) {
  free(program->name);
  program->name = strdup(expression);
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetLoweredName(nvrtcProgram program, const char*, const char** name) {
  *name = program->name ? program->name : "";
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetPTXSize(nvrtcProgram, size_t* bytes) {
  return one_byte(bytes);
}
nvrtcResult nvrtcGetCUBINSize(nvrtcProgram, size_t* bytes) {
  return one_byte(bytes);
}
nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram, size_t* bytes) {
  return one_byte(bytes);
}
nvrtcResult nvrtcGetPTX(nvrtcProgram, char* text) {
  return empty(text);
}
nvrtcResult nvrtcGetCUBIN(nvrtcProgram, char* text) {
  return empty(text);
}
nvrtcResult nvrtcGetProgramLog(nvrtcProgram, char* text) {
  return empty(text);
}

}  // extern "C"

DEVICE_AUDIT_DONE_ANSWER(NVRTC_SUCCESS)
#define DONE DEVICE_AUDIT_DONE
#define REFUSED(name) DEVICE_AUDIT_REFUSED(name, NVRTC_ERROR_INTERNAL_ERROR)
#include "nvrtc.def"
