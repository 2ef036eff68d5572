// PyTorch's allocator gives out again what it was given back, without a call of CUDA in between, and no kernel
// overwrites what was there. The host code of several operators then reads a stale value as a count or a size (nonzero,
// unique, linalg). So each block that it gives out is made to read as zeros, as fresh memory does. It tells PyTorch's
// profiler of every block through a function of libc10.so, which is answered here and then told in turn.
#include "floor.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

#include "memory.h"

// void c10::reportMemoryUsageToProfiler(void*, int64_t, size_t, size_t, c10::Device)
#define DEVICE_AUDIT_REPORT "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE"

namespace {

// c10::Device, which travels in one register.
struct Device {
  int8_t type;
  int8_t index;
};
using Report = void (*)(void*, int64_t, size_t, size_t, Device);

// libc10.so is loaded without its names being offered to others, so RTLD_NEXT would not find it.
Report find_original() {
  void* library = dlopen("libc10.so", RTLD_LAZY | RTLD_NOLOAD);
  return library ? reinterpret_cast<Report>(dlsym(library, DEVICE_AUDIT_REPORT)) : nullptr;
}

Report original;

}  // namespace

extern "C" void device_audit_simulated_report(void* pointer, int64_t bytes, size_t allocated, size_t reserved,
                                              Device device) __asm__(DEVICE_AUDIT_REPORT);

void device_audit_simulated_report(void* pointer, int64_t bytes, size_t allocated, size_t reserved, Device device) {
  if (bytes > 0) device_audit::simulate::forget(pointer, size_t(bytes));
  Report report = __atomic_load_n(&original, __ATOMIC_ACQUIRE);
  if (!report) {
    report = find_original();
    __atomic_store_n(&original, report, __ATOMIC_RELEASE);
  }
  if (report) report(pointer, bytes, allocated, reserved, device);
}
