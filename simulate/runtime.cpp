// What the CUDA runtime has and the simulated one has not.
#include <cuda_runtime_api.h>

#include "answer.h"

#define REFUSED(name) DEVICE_AUDIT_REFUSED(name, cudaErrorNotSupported)
#include "runtime.def"
