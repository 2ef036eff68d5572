// The arithmetic of collectives, on the host.
#pragma once

#include <nccl.h>

#include <cstddef>

namespace device_audit::simulate {

// 0 for a type that is not known.
size_t bytes_of(ncclDataType_t type);

// How a reduction combines and finishes. `factor` is what each rank's values are multiplied by first
// (ncclRedOpCreatePreMulSum).
struct Reduction {
  ncclRedOp_t operation;  // one of NCCL's own
  double factor;
};

// Whether values of the type can be reduced: those of eight-bit floating point cannot.
bool reducible(ncclDataType_t type);

// One value of a type that can be reduced.
double as_double(const void* value, ncclDataType_t type);

// result[i] = combination of sources[r][i] over `ranks` sources. `result` is none of the sources.
void reduce(void* result, const void* const* sources, int ranks, size_t count, ncclDataType_t type,
            Reduction reduction);

}  // namespace device_audit::simulate
