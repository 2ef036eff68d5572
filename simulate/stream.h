// Streams, events and graphs: small objects without a queue behind them, because all work is complete when it is
// submitted.
#pragma once

#include <cuda.h>
#include <driver_types.h>

struct CUgraph_st {
  size_t nodes;
};

struct CUgraphExec_st {
  size_t nodes;
  unsigned long long flags;
};

namespace device_audit::simulate {

struct Capture {
  unsigned long long id;
  cudaStreamCaptureStatus status;
  cudaStreamCaptureMode mode;
  CUgraph_st* graph;
  CUstream_st* origin;
};

// The stream that a handle stands for: null and the two special handles are the current device's own. Null: not a
// stream.
CUstream_st* resolve(cudaStream_t stream);

// Work is submitted to `stream`: counted where it captures. Errors: cudaErrorInvalidResourceHandle.
cudaError_t submit(cudaStream_t stream);

// A call that waits or allocates, which an active capture may forbid. Errors: cudaErrorStreamCaptureUnsupported.
cudaError_t allowed_while_capturing();

}  // namespace device_audit::simulate

struct CUstream_st {
  int device;
  int priority;
  unsigned flags;
  unsigned long long id;
  device_audit::simulate::Capture* capture;
};

struct CUevent_st {
  int device;
  unsigned flags;
  long long nanoseconds;  // of the last record, 0: never recorded
  device_audit::simulate::Capture* capture;
};
