// What every call to the simulated CUDA begins with: the settings, whether this process may use the devices, and the
// state that CUDA keeps per thread.
#pragma once

#include <cuda.h>
#include <driver_types.h>
#include <cstddef>

// A context: CUDA's own name for what belongs to one device in one process.
struct CUctx_st {
  int device;
};

namespace device_audit::simulate {

inline constexpr int kMaximumDevices = 64;

struct Settings {
  int existing;                   // DEVICE_AUDIT_SIMULATE
  int devices;                    // those of them that CUDA_VISIBLE_DEVICES leaves visible
  int physical[kMaximumDevices];  // the number of each visible one among those that exist
  size_t memory;                  // bytes of each device
  bool strict;                    // host access to device memory faults
  bool quiet;                     // DEVICE_AUDIT_LOG=off
  const char* log_file;           // null: stderr
};

// Read from the environment at the first call.
const Settings& settings();

// Writes "device-audit: <text>\n" in one piece, to stderr or the log file, unless the log is off.
void say(const char* format, ...) __attribute__((format(printf, 1, 2)));

struct Thread {
  CUctx_st* context;    // null until the thread first uses a device
  int device;           // the one that it will use then
  cudaError_t error;    // what cudaGetLastError returns
  CUctx_st* pushed[8];  // contexts below the current one
  int depth;
  cudaStreamCaptureMode capture_mode;
};

// Initial-exec: a preloaded library has a place in static TLS, and nothing is allocated at the first access (P9).
extern constinit thread_local Thread thread __attribute__((tls_model("initial-exec")));

inline int current_device() {
  return thread.context ? thread.context->device : thread.device;
}
CUctx_st* primary_context(int device);
bool primary_context_active(int device);

// Errors: cudaErrorNoDevice, and cudaErrorInitializationError in a child forked after the parent used a device, as CUDA
// has it.
cudaError_t usable();

// As usable(), and the current device has its context on this thread.
cudaError_t enter();

// Remembers an error for cudaGetLastError.
inline cudaError_t keep(cudaError_t error) {
  if (error != cudaSuccess) thread.error = error;
  return error;
}

}  // namespace device_audit::simulate

#define DEVICE_AUDIT_ENTER()                                                         \
  if (cudaError_t error_ = ::device_audit::simulate::enter(); error_ != cudaSuccess) \
  return ::device_audit::simulate::keep(error_)
