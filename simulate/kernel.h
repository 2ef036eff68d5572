// Kernels, as the runtime and the driver see them.
#pragma once

#include <driver_types.h>
#include <cstddef>

namespace device_audit::simulate {

// Runs nothing. Errors: cudaErrorInvalidConfiguration and the like, as a GPU of these limits would give them.
cudaError_t launch(dim3 grid, dim3 block, size_t shared, cudaStream_t stream);

int blocks_per_multiprocessor(int block_size, size_t shared);
cudaFuncAttributes kernel_attributes();

// A variable of device code, known by its address in the host program.
void register_variable(const void* symbol, size_t bytes);

}  // namespace device_audit::simulate
