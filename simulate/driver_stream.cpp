// Streams, events, captures and graphs through the driver.
#include "driver.h"
#include "stream.h"

using namespace device_audit::simulate;

extern "C" {

DEVICE_AUDIT_DRIVER(cuStreamCreate, (CUstream * stream, unsigned flags), cudaStreamCreateWithFlags(stream, flags))
DEVICE_AUDIT_DRIVER(cuStreamCreateWithPriority, (CUstream * stream, unsigned flags, int priority),
                    cudaStreamCreateWithPriority(stream, flags, priority))
DEVICE_AUDIT_DRIVER(cuStreamDestroy_v2, (CUstream stream), cudaStreamDestroy(stream))
DEVICE_AUDIT_DRIVER(cuStreamSynchronize, (CUstream stream), cudaStreamSynchronize(stream))
DEVICE_AUDIT_DRIVER(cuStreamQuery, (CUstream stream), cudaStreamQuery(stream))
DEVICE_AUDIT_DRIVER(cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned flags),
                    cudaStreamWaitEvent(stream, event, flags))
DEVICE_AUDIT_DRIVER(cuStreamGetPriority, (CUstream stream, int* priority), cudaStreamGetPriority(stream, priority))
DEVICE_AUDIT_DRIVER(cuStreamGetFlags, (CUstream stream, unsigned* flags), cudaStreamGetFlags(stream, flags))
DEVICE_AUDIT_DRIVER(cuStreamGetId, (CUstream stream, unsigned long long* id), cudaStreamGetId(stream, id))
DEVICE_AUDIT_DRIVER(cuStreamGetDevice, (CUstream stream, CUdevice* device), cudaStreamGetDevice(stream, device))

CUresult cuStreamGetCtx(CUstream handle, CUcontext* context) {
  const CUstream_st* stream = resolve(handle);
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  *context = primary_context(stream->device);
  return CUDA_SUCCESS;
}
CUresult cuStreamGetCtx_v2(CUstream stream, CUcontext* context, CUgreenCtx* green) {
  *green = nullptr;
  return cuStreamGetCtx(stream, context);
}
CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  return driver([&] { return cudaStreamIsCapturing(stream, reinterpret_cast<cudaStreamCaptureStatus*>(status)); });
}
CUresult cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
                                   const CUgraphNode** dependencies, const CUgraphEdgeData**, size_t* count) {
  unsigned long long number = 0;
  const CUresult result = driver([&] {
    return cudaStreamGetCaptureInfo(stream, reinterpret_cast<cudaStreamCaptureStatus*>(status), &number, graph,
                                    dependencies, nullptr, count);
  });
  if (id) *id = number;
  return result;
}
DEVICE_AUDIT_DRIVER(cuStreamBeginCapture_v2, (CUstream stream, CUstreamCaptureMode mode),
                    cudaStreamBeginCapture(stream, static_cast<cudaStreamCaptureMode>(mode)))
DEVICE_AUDIT_DRIVER(cuStreamEndCapture, (CUstream stream, CUgraph* graph), cudaStreamEndCapture(stream, graph))
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  return driver([&] { return cudaThreadExchangeStreamCaptureMode(reinterpret_cast<cudaStreamCaptureMode*>(mode)); });
}
CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback callback, void* data, unsigned flags) {
  return driver(
      [&] { return cudaStreamAddCallback(stream, reinterpret_cast<cudaStreamCallback_t>(callback), data, flags); });
}
DEVICE_AUDIT_DRIVER(cuLaunchHostFunc, (CUstream stream, CUhostFn function, void* data),
                    cudaLaunchHostFunc(stream, function, data))

DEVICE_AUDIT_DRIVER(cuEventCreate, (CUevent * event, unsigned flags), cudaEventCreateWithFlags(event, flags))
DEVICE_AUDIT_DRIVER(cuEventDestroy_v2, (CUevent event), cudaEventDestroy(event))
DEVICE_AUDIT_DRIVER(cuEventRecord, (CUevent event, CUstream stream), cudaEventRecord(event, stream))
DEVICE_AUDIT_DRIVER(cuEventRecordWithFlags, (CUevent event, CUstream stream, unsigned flags),
                    cudaEventRecordWithFlags(event, stream, flags))
DEVICE_AUDIT_DRIVER(cuEventQuery, (CUevent event), cudaEventQuery(event))
DEVICE_AUDIT_DRIVER(cuEventSynchronize, (CUevent event), cudaEventSynchronize(event))
DEVICE_AUDIT_DRIVER(cuEventElapsedTime_v2, (float* milliseconds, CUevent start, CUevent end),
                    cudaEventElapsedTime(milliseconds, start, end))

DEVICE_AUDIT_DRIVER(cuGraphCreate, (CUgraph * graph, unsigned flags), cudaGraphCreate(graph, flags))
DEVICE_AUDIT_DRIVER(cuGraphDestroy, (CUgraph graph), cudaGraphDestroy(graph))
DEVICE_AUDIT_DRIVER(cuGraphInstantiateWithFlags, (CUgraphExec * executable, CUgraph graph, unsigned long long flags),
                    cudaGraphInstantiateWithFlags(executable, graph, flags))
DEVICE_AUDIT_DRIVER(cuGraphExecDestroy, (CUgraphExec executable), cudaGraphExecDestroy(executable))
DEVICE_AUDIT_DRIVER(cuGraphUpload, (CUgraphExec executable, CUstream stream), cudaGraphUpload(executable, stream))
DEVICE_AUDIT_DRIVER(cuGraphLaunch, (CUgraphExec executable, CUstream stream), cudaGraphLaunch(executable, stream))
DEVICE_AUDIT_DRIVER(cuGraphGetNodes, (CUgraph graph, CUgraphNode* nodes, size_t* count),
                    cudaGraphGetNodes(graph, nodes, count))

}  // extern "C"
