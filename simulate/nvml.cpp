#include "floor.h"

#include "nvml.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "memory.h"
#include "process.h"

// NVML's header comes with no wheel. Its calls return an int, and its handles and structures are these.
struct nvmlDevice_st {
  int unused;
};

namespace {

enum Status { kSuccess = 0, kInvalidArgument = 2, kNotSupported = 3, kNotFound = 6, kInsufficientSize = 7 };

using Handle = nvmlDevice_st*;

struct Memory {
  unsigned long long total, free, used;
};
struct Memory2 {
  unsigned version;
  unsigned long long total, reserved, free, used;
};
struct Utilization {
  unsigned gpu, memory;
};
struct PciInfo {
  char legacy_bus_id[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char bus_id[32];
};
struct FabricInfo {
  unsigned version;
  unsigned char cluster[16];
  int status;
  unsigned clique;
  unsigned char state;  // 0: no fabric
};

using namespace device_audit::simulate;

constinit nvmlDevice_st devices[kMaximumDevices];

// NVML knows every GPU, whatever CUDA_VISIBLE_DEVICES says. Negative: not a handle.
int number_of(Handle handle) {
  return handle >= devices && handle < devices + settings().existing ? int(handle - devices) : -1;
}

Status handle_of(unsigned number, Handle* handle) {
  if (number >= unsigned(settings().existing)) return kInvalidArgument;
  *handle = &devices[number];
  return kSuccess;
}

void write_uuid(int number, char* text, unsigned length) {
  const CUuuid_st uuid = uuid_of_existing(number);
  const auto byte = [&uuid](int i) { return unsigned(static_cast<unsigned char>(uuid.bytes[i])); };
  int written = snprintf(text, length, "GPU-");
  for (int i = 0; i < 16 && unsigned(written) < length; ++i) {
    const bool dash = i == 4 || i == 6 || i == 8 || i == 10;
    written += snprintf(text + written, length - unsigned(written), dash ? "-%02x" : "%02x", byte(i));
  }
}

// Of this process alone: what others have allocated is not seen.
Usage usage_of(int number) {
  for (int device = 0; device < settings().devices; ++device) {
    if (settings().physical[device] == number) return usage(device);
  }
  return {0, settings().memory, 0, 0};
}

Status text(const char* from, char* to, unsigned length) {
  if (strlen(from) >= length) return kInsufficientSize;
  strcpy(to, from);
  return kSuccess;
}

template <typename Value>
Status give(Handle handle, Value* out, Value value) {
  if (number_of(handle) < 0 || !out) return kInvalidArgument;
  *out = value;
  return kSuccess;
}

}  // namespace

namespace device_audit::simulate {

void offer_nvml() {
  static bool offered;
  if (__atomic_exchange_n(&offered, true, __ATOMIC_ACQ_REL)) return;
  Dl_info self;
  if (!dladdr(reinterpret_cast<void*>(&offer_nvml), &self) || !self.dli_fname) return;
  char path[PATH_MAX + 64];  // through links, to where the two were built side by side
  if (!realpath(self.dli_fname, path)) return;
  strcpy(strrchr(path, '/') + 1, "libdevice_audit_simulate_nvml.so");
  // Not dlopen: whoever watches it would act while a library of the program is still being initialised.
  dlmopen(LM_ID_BASE, path, RTLD_LAZY | RTLD_LOCAL);
}

}  // namespace device_audit::simulate

extern "C" {

int nvmlInit() {
  return kSuccess;
}
int nvmlInit_v2() {
  return kSuccess;
}
int nvmlInitWithFlags(unsigned) {
  return kSuccess;
}
int nvmlShutdown() {
  return kSuccess;
}
const char* nvmlErrorString(int status) {
  return status == kSuccess ? "Success" : "Not Supported";
}

int nvmlSystemGetDriverVersion(char* version, unsigned length) {
  return text("simulated", version, length);
}
int nvmlSystemGetNVMLVersion(char* version, unsigned length) {
  return text("simulated", version, length);
}
int nvmlSystemGetCudaDriverVersion(int* version) {
  *version = CUDA_VERSION;
  return kSuccess;
}
int nvmlSystemGetCudaDriverVersion_v2(int* version) {
  return nvmlSystemGetCudaDriverVersion(version);
}

int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = unsigned(settings().existing);
  return kSuccess;
}
int nvmlDeviceGetCount(unsigned* count) {
  return nvmlDeviceGetCount_v2(count);
}

int nvmlDeviceGetHandleByIndex_v2(unsigned number, Handle* handle) {
  return handle_of(number, handle);
}
int nvmlDeviceGetHandleByIndex(unsigned number, Handle* handle) {
  return handle_of(number, handle);
}

int nvmlDeviceGetHandleByUUID(const char* uuid, Handle* handle) {
  char known[64];
  for (int number = 0; number < settings().existing; ++number) {
    write_uuid(number, known, sizeof known);
    if (strcmp(known, uuid) == 0) return handle_of(unsigned(number), handle);
  }
  return kNotFound;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, Handle* handle) {
  // Written with eight digits of the domain or with four.
  unsigned domain, bus, device;
  if (sscanf(bus_id, "%x:%x:%x", &domain, &bus, &device) != 3) return kInvalidArgument;
  for (int number = 0; number < settings().existing; ++number) {
    if (unsigned(bus_of_existing(number)) == bus) return handle_of(unsigned(number), handle);
  }
  return kNotFound;
}
int nvmlDeviceGetHandleByPciBusId(const char* bus_id, Handle* handle) {
  return nvmlDeviceGetHandleByPciBusId_v2(bus_id, handle);
}

int nvmlDeviceGetIndex(Handle handle, unsigned* number) {
  return give(handle, number, unsigned(number_of(handle)));
}
int nvmlDeviceGetMinorNumber(Handle handle, unsigned* number) {
  return give(handle, number, unsigned(number_of(handle)));
}

int nvmlDeviceGetName(Handle handle, char* name, unsigned length) {
  if (number_of(handle) < 0) return kInvalidArgument;
  snprintf(name, length, "Simulated GPU %d", number_of(handle));
  return kSuccess;
}

int nvmlDeviceGetUUID(Handle handle, char* uuid, unsigned length) {
  if (number_of(handle) < 0) return kInvalidArgument;
  write_uuid(number_of(handle), uuid, length);
  return kSuccess;
}

int nvmlDeviceGetPciInfo_v3(Handle handle, PciInfo* info) {
  const int number = number_of(handle);
  if (number < 0) return kInvalidArgument;
  memset(info, 0, sizeof *info);
  info->bus = unsigned(bus_of_existing(number));
  bus_id_of_existing(number, info->legacy_bus_id, sizeof info->legacy_bus_id);
  bus_id_of_existing(number, info->bus_id, sizeof info->bus_id);
  return kSuccess;
}

int nvmlDeviceGetMemoryInfo(Handle handle, Memory* memory) {
  if (number_of(handle) < 0) return kInvalidArgument;
  const Usage usage = usage_of(number_of(handle));
  *memory = {usage.total, usage.total - usage.used, usage.used};
  return kSuccess;
}
int nvmlDeviceGetMemoryInfo_v2(Handle handle, Memory2* memory) {
  if (number_of(handle) < 0) return kInvalidArgument;
  const Usage usage = usage_of(number_of(handle));
  *memory = {memory->version, usage.total, 0, usage.total - usage.used, usage.used};
  return kSuccess;
}

int nvmlDeviceGetCudaComputeCapability(Handle handle, int* major, int* minor) {
  if (number_of(handle) < 0) return kInvalidArgument;
  *major = device_attribute(cudaDevAttrComputeCapabilityMajor, 0);
  *minor = device_attribute(cudaDevAttrComputeCapabilityMinor, 0);
  return kSuccess;
}

// Nothing runs, nothing is warm.
int nvmlDeviceGetUtilizationRates(Handle handle, Utilization* rates) {
  return give(handle, rates, Utilization{0, 0});
}
int nvmlDeviceGetTemperature(Handle handle, int, unsigned* degrees) {
  return give(handle, degrees, 0u);
}
int nvmlDeviceGetPowerUsage(Handle handle, unsigned* milliwatts) {
  return give(handle, milliwatts, 0u);
}
int nvmlDeviceGetClockInfo(Handle handle, int, unsigned* megahertz) {
  return give(handle, megahertz, 0u);
}
int nvmlDeviceGetComputeRunningProcesses(Handle handle, unsigned* count, void*) {
  return give(handle, count, 0u);
}
int nvmlDeviceGetComputeRunningProcesses_v2(Handle handle, unsigned* count, void*) {
  return give(handle, count, 0u);
}
int nvmlDeviceGetComputeRunningProcesses_v3(Handle handle, unsigned* count, void*) {
  return give(handle, count, 0u);
}

int nvmlDeviceGetGpuFabricInfoV(Handle handle, FabricInfo* info) {
  return give(handle, info, FabricInfo{info->version, {}, 0, 0, 0});
}
int nvmlDeviceGetP2PStatus(Handle, Handle, int, int* status) {
  *status = 0;
  return kSuccess;
}
int nvmlDeviceGetNvLinkState(Handle, unsigned, int*) {
  return kNotSupported;
}
int nvmlDeviceGetNvLinkRemoteDeviceType(Handle, unsigned, int*) {
  return kNotSupported;
}
int nvmlDeviceGetNvLinkRemotePciInfo_v2(Handle, unsigned, PciInfo*) {
  return kNotSupported;
}

}  // extern "C"
