// NVSHMEM, memory that many GPUs share, is refused whole: what PyTorch's library needs of it answers with an error or
// null.
#include <stddef.h>

#include "answer.h"

namespace {

constexpr int kInternalError = 1;  // NVSHMEMX_ERROR_INTERNAL; its headers need a CUDA compiler

}  // namespace

#define REFUSED_UNDECLARED(name) DEVICE_AUDIT_REFUSED_UNDECLARED(name, kInternalError)
#include "nvshmem.def"

extern "C" {

void* nvshmem_malloc(size_t) {
  return nullptr;
}
void* nvshmem_ptr(const void*, int) {
  return nullptr;
}
void* nvshmemx_mc_ptr(int, const void*) {
  return nullptr;
}
void nvshmem_free(void*) {}

}  // extern "C"
