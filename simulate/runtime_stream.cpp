// Streams and events of the CUDA runtime, and the capture of a stream into a graph.
#include <cuda_runtime_api.h>
#include <time.h>

#include <initializer_list>

#include "memory.h"
#include "objects.h"
#include "process.h"
#include "stream.h"

// Data of the program that lives as long as a graph.
struct CUuserObject_st {
  void* data;
  cudaHostFn_t destroy;
  unsigned references;
};

namespace device_audit::simulate {
namespace {

constinit Objects<CUstream_st> streams;
constinit Objects<CUevent_st> events;
constinit Objects<Capture> captures;
constinit Objects<CUgraph_st> graphs;
constinit Objects<CUgraphExec_st> executables;
constinit Objects<CUuserObject_st> user_objects;
constinit CUstream_st default_streams[kMaximumDevices];
unsigned long long next_id = 1;
int active_captures;  // all captures of the process, so that the usual call looks at one number

unsigned long long new_id() {
  return __atomic_fetch_add(&next_id, 1, __ATOMIC_RELAXED);
}

long long now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

cudaError_t make_stream(cudaStream_t* stream, unsigned flags, int priority) {
  DEVICE_AUDIT_ENTER();
  if (!stream || flags > cudaStreamNonBlocking) return keep(cudaErrorInvalidValue);
  const int within = priority > 0 ? 0 : priority < -5 ? -5 : priority;
  *stream = streams.make({current_device(), within, flags, new_id() + kMaximumDevices, nullptr});
  return *stream ? cudaSuccess : keep(cudaErrorMemoryAllocation);
}

void leave_capture(Capture* capture) {
  streams.for_each([capture](CUstream_st& stream) {
    if (stream.capture == capture) stream.capture = nullptr;
  });
  events.for_each([capture](CUevent_st& event) {
    if (event.capture == capture) event.capture = nullptr;
  });
  captures.drop(capture);
  __atomic_fetch_sub(&active_captures, 1, __ATOMIC_RELAXED);
}

cudaError_t begin_capture(cudaStream_t handle, cudaStreamCaptureMode mode, CUgraph_st* graph) {
  DEVICE_AUDIT_ENTER();
  CUstream_st* stream = resolve(handle);
  if (!stream) return keep(cudaErrorInvalidResourceHandle);
  // The default stream waits for all others and cannot be recorded.
  if (!streams.holds(stream)) return keep(cudaErrorStreamCaptureUnsupported);
  if (stream->capture) return keep(cudaErrorIllegalState);
  Capture* capture = captures.make({new_id(), cudaStreamCaptureStatusActive, mode, graph, stream});
  if (!capture) return keep(cudaErrorMemoryAllocation);
  stream->capture = capture;
  __atomic_fetch_add(&active_captures, 1, __ATOMIC_RELAXED);
  return cudaSuccess;
}

cudaError_t record(cudaEvent_t event, cudaStream_t handle) {
  DEVICE_AUDIT_ENTER();
  CUstream_st* stream = resolve(handle);
  if (!stream || !events.holds(event) || stream->device != event->device) return keep(cudaErrorInvalidResourceHandle);
  event->nanoseconds = now();
  event->capture = stream->capture;
  return cudaSuccess;
}

// Waiting for a stream that captures would wait for ever.
cudaError_t wait_for(cudaStream_t handle) {
  DEVICE_AUDIT_ENTER();
  CUstream_st* stream = resolve(handle);
  if (!stream) return keep(cudaErrorInvalidResourceHandle);
  if (stream->capture) {
    stream->capture->status = cudaStreamCaptureStatusInvalidated;
    return keep(cudaErrorStreamCaptureUnsupported);
  }
  return keep(allowed_while_capturing());
}

cudaError_t instantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long flags) {
  DEVICE_AUDIT_ENTER();
  if (!executable || !graphs.holds(graph)) return keep(cudaErrorInvalidValue);
  *executable = executables.make({graph->nodes, flags});
  return *executable ? cudaSuccess : keep(cudaErrorMemoryAllocation);
}

cudaError_t release_user_object(cudaUserObject_t object, unsigned count) {
  if (!user_objects.holds(object)) return cudaErrorInvalidValue;
  const unsigned before = __atomic_fetch_sub(&object->references, count, __ATOMIC_ACQ_REL);
  if (before > count) return cudaSuccess;
  const CUuserObject_st last = *object;
  user_objects.drop(object);
  last.destroy(last.data);
  return cudaSuccess;
}

// One node stands for all: nobody looks into them.
struct Node {
} any_node;

}  // namespace

CUstream_st* resolve(cudaStream_t stream) {
  if (!stream || stream == cudaStreamLegacy || stream == cudaStreamPerThread) {
    CUstream_st* own = &default_streams[current_device()];
    own->device = current_device();
    own->id = unsigned(own->device) + 1;
    return own;
  }
  return streams.holds(stream) ? stream : nullptr;
}

cudaError_t submit(cudaStream_t handle) {
  CUstream_st* stream = resolve(handle);
  if (!stream) return cudaErrorInvalidResourceHandle;
  if (Capture* capture = stream->capture) {
    if (capture->status == cudaStreamCaptureStatusInvalidated) return cudaErrorStreamCaptureInvalidated;
    ++capture->graph->nodes;
  }
  return cudaSuccess;
}

cudaError_t allowed_while_capturing() {
  if (__atomic_load_n(&active_captures, __ATOMIC_RELAXED) == 0 || thread.capture_mode == cudaStreamCaptureModeRelaxed) {
    return cudaSuccess;
  }
  bool forbidden = false;
  captures.for_each([&forbidden](Capture& capture) {
    if (capture.mode != cudaStreamCaptureModeGlobal || thread.capture_mode != cudaStreamCaptureModeGlobal) return;
    capture.status = cudaStreamCaptureStatusInvalidated;
    forbidden = true;
  });
  return forbidden ? cudaErrorStreamCaptureUnsupported : cudaSuccess;
}

}  // namespace device_audit::simulate

using namespace device_audit::simulate;

extern "C" {

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return make_stream(stream, 0, 0);
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return make_stream(stream, flags, 0);
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  return make_stream(stream, flags, priority);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  DEVICE_AUDIT_ENTER();
  return streams.drop(stream) ? cudaSuccess : keep(cudaErrorInvalidResourceHandle);
}

#define DEVICE_AUDIT_STREAM_FACT(name, type, expression)      \
  cudaError_t name(cudaStream_t handle, type* value) {        \
    DEVICE_AUDIT_ENTER();                                     \
    const CUstream_st* stream = resolve(handle);              \
    if (!stream) return keep(cudaErrorInvalidResourceHandle); \
    *value = expression;                                      \
    return cudaSuccess;                                       \
  }
DEVICE_AUDIT_STREAM_FACT(cudaStreamGetPriority, int, stream->priority)
DEVICE_AUDIT_STREAM_FACT(cudaStreamGetFlags, unsigned, stream->flags)
DEVICE_AUDIT_STREAM_FACT(cudaStreamGetId, unsigned long long, stream->id)
DEVICE_AUDIT_STREAM_FACT(cudaStreamGetDevice, int, stream->device)
DEVICE_AUDIT_STREAM_FACT(cudaStreamIsCapturing, cudaStreamCaptureStatus,
                         stream->capture ? stream->capture->status : cudaStreamCaptureStatusNone)

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return wait_for(stream);
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return wait_for(stream);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned) {
  DEVICE_AUDIT_ENTER();
  CUstream_st* stream = resolve(handle);
  if (!stream || !events.holds(event)) return keep(cudaErrorInvalidResourceHandle);
  // A stream that waits for captured work is captured from then on.
  if (event->capture && !stream->capture && streams.holds(stream)) stream->capture = event->capture;
  return cudaSuccess;
}

// All work before it is complete, so the callback runs at once, on the calling thread and without any lock held.
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* data, unsigned) {
  DEVICE_AUDIT_ENTER();
  if (cudaError_t error = submit(stream); error != cudaSuccess) return keep(error);
  if (!resolve(stream)->capture) callback(stream, cudaSuccess, data);
  return cudaSuccess;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  DEVICE_AUDIT_ENTER();
  if (cudaError_t error = submit(stream); error != cudaSuccess) return keep(error);
  if (!resolve(stream)->capture) function(data);
  return cudaSuccess;
}

cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void*, size_t, unsigned) {
  DEVICE_AUDIT_ENTER();
  return keep(submit(stream));
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  DEVICE_AUDIT_ENTER();
  if (!event) return keep(cudaErrorInvalidValue);
  *event = events.make({current_device(), flags, 0, nullptr});
  return *event ? cudaSuccess : keep(cudaErrorMemoryAllocation);
}
cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  DEVICE_AUDIT_ENTER();
  return events.drop(event) ? cudaSuccess : keep(cudaErrorInvalidResourceHandle);
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return record(event, stream);
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned) {
  return record(event, stream);
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  DEVICE_AUDIT_ENTER();
  if (!events.holds(event)) return keep(cudaErrorInvalidResourceHandle);
  return keep(event->capture ? cudaErrorStreamCaptureUnsupported : allowed_while_capturing());
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return cudaEventQuery(event);
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  DEVICE_AUDIT_ENTER();
  for (const cudaEvent_t event : {start, end}) {
    if (!events.holds(event) || !event->nanoseconds || event->flags & cudaEventDisableTiming || event->capture) {
      return keep(cudaErrorInvalidResourceHandle);
    }
  }
  *milliseconds = float(double(end->nanoseconds - start->nanoseconds) * 1e-6);
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  CUgraph_st* graph = graphs.make({0});
  const cudaError_t error = begin_capture(stream, mode, graph);
  if (error != cudaSuccess) graphs.drop(graph);
  return error;
}

cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t*,
                                          const cudaGraphEdgeData*, size_t, cudaStreamCaptureMode mode) {
  if (!graphs.holds(graph)) return keep(cudaErrorInvalidValue);
  return begin_capture(stream, mode, graph);
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
  DEVICE_AUDIT_ENTER();
  CUstream_st* stream = resolve(handle);
  if (!stream) return keep(cudaErrorInvalidResourceHandle);
  Capture* capture = stream->capture;
  if (!capture || capture->origin != stream) return keep(cudaErrorIllegalState);
  const bool valid = capture->status == cudaStreamCaptureStatusActive;
  if (!valid) graphs.drop(capture->graph);
  if (graph) *graph = valid ? capture->graph : nullptr;
  leave_capture(capture);
  return valid ? cudaSuccess : keep(cudaErrorStreamCaptureInvalidated);
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t handle, cudaStreamCaptureStatus* status, unsigned long long* id,
                                     cudaGraph_t* graph, const cudaGraphNode_t** dependencies,
                                     const cudaGraphEdgeData** edges, size_t* dependency_count) {
  DEVICE_AUDIT_ENTER();
  const CUstream_st* stream = resolve(handle);
  if (!stream) return keep(cudaErrorInvalidResourceHandle);
  const Capture* capture = stream->capture;
  if (status) *status = capture ? capture->status : cudaStreamCaptureStatusNone;
  if (id && capture) *id = capture->id;
  if (graph && capture) *graph = capture->graph;
  if (dependencies) *dependencies = nullptr;
  if (edges) *edges = nullptr;
  if (dependency_count) *dependency_count = 0;
  return cudaSuccess;
}

cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t handle, cudaGraphNode_t*, const cudaGraphEdgeData*, size_t,
                                                unsigned) {
  DEVICE_AUDIT_ENTER();
  const CUstream_st* stream = resolve(handle);
  return stream && stream->capture ? cudaSuccess : keep(cudaErrorIllegalState);
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  if (!mode) return keep(cudaErrorInvalidValue);
  const cudaStreamCaptureMode before = thread.capture_mode;
  thread.capture_mode = *mode;
  *mode = before;
  return cudaSuccess;
}

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned) {
  DEVICE_AUDIT_ENTER();
  *graph = graphs.make({0});
  return *graph ? cudaSuccess : keep(cudaErrorMemoryAllocation);
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  DEVICE_AUDIT_ENTER();
  return graphs.drop(graph) ? cudaSuccess : keep(cudaErrorInvalidValue);
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  DEVICE_AUDIT_ENTER();
  if (!graphs.holds(graph) || !count) return keep(cudaErrorInvalidValue);
  for (size_t i = 0; nodes && i < *count; ++i) {
    nodes[i] = i < graph->nodes ? reinterpret_cast<cudaGraphNode_t>(&any_node) : nullptr;
  }
  if (!nodes || *count > graph->nodes) *count = graph->nodes;
  return cudaSuccess;
}

cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t, cudaGraphNode_t*, cudaGraphEdgeData*, size_t* count) {
  DEVICE_AUDIT_ENTER();
  if (count) *count = 0;
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long flags) {
  return instantiate(executable, graph, flags);
}
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long flags) {
  return instantiate(executable, graph, flags);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  DEVICE_AUDIT_ENTER();
  return executables.drop(executable) ? cudaSuccess : keep(cudaErrorInvalidValue);
}

cudaError_t cudaGraphUpload(cudaGraphExec_t executable, cudaStream_t stream) {
  return cudaGraphLaunch(executable, stream);
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  DEVICE_AUDIT_ENTER();
  return executables.holds(executable) ? keep(submit(stream)) : keep(cudaErrorInvalidValue);
}

cudaError_t cudaUserObjectCreate(cudaUserObject_t* object, void* data, cudaHostFn_t destroy, unsigned references,
                                 unsigned) {
  DEVICE_AUDIT_ENTER();
  if (!object || !destroy || !references) return keep(cudaErrorInvalidValue);
  *object = user_objects.make({data, destroy, references});
  return *object ? cudaSuccess : keep(cudaErrorMemoryAllocation);
}
cudaError_t cudaUserObjectRetain(cudaUserObject_t object, unsigned count) {
  DEVICE_AUDIT_ENTER();
  if (!user_objects.holds(object)) return keep(cudaErrorInvalidValue);
  __atomic_fetch_add(&object->references, count, __ATOMIC_RELAXED);
  return cudaSuccess;
}
cudaError_t cudaUserObjectRelease(cudaUserObject_t object, unsigned count) {
  DEVICE_AUDIT_ENTER();
  return keep(release_user_object(object, count));
}
// A graph keeps its references for the life of the process, in place of a list of them.
cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned count, unsigned flags) {
  DEVICE_AUDIT_ENTER();
  if (!graphs.holds(graph) || !user_objects.holds(object)) return keep(cudaErrorInvalidValue);
  return flags & cudaGraphUserObjectMove ? cudaSuccess : cudaUserObjectRetain(object, count);
}

cudaError_t cudaDeviceGetGraphMemAttribute(int, cudaGraphMemAttributeType, void* value) {
  DEVICE_AUDIT_ENTER();
  *static_cast<unsigned long long*>(value) = 0;
  return cudaSuccess;
}
cudaError_t cudaDeviceSetGraphMemAttribute(int, cudaGraphMemAttributeType, void*) {
  return keep(enter());
}
cudaError_t cudaDeviceGraphMemTrim(int) {
  return keep(enter());
}

}  // extern "C"
