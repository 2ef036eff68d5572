#include "audit/device_errors.h"

#include <algorithm>
#include <array>

namespace device_audit {
namespace {

// Parts that all must occur, in this order. PyTorch 2.15, and older texts where they differ.
struct DeviceError {
  std::array<std::string_view, 3> parts;
};

constexpr DeviceError kErrors[] = {
    // generated wrapper check and TensorIterator, all versions since 1.9
    {{"Expected all tensors to be on the same device"}},
    {{"Trying to pass too many CPU scalars to non-CPU kernel!"}},
    {{"CPU Scalar support for", "is not supported when calling"}},
    // checks of argument groups: checkAllSameGPU, checkDeviceType
    {{"Expected tensor for argument", "to have the same device as tensor for argument"}},
    {{"Tensor for argument", "but expected it to be on GPU"}},
    {{"Tensor for argument", "but expected", "to be on CPU"}},
    {{"Expected tensor to have", "DeviceType, but got tensor with", "DeviceType"}},
    {{"Expected tensor to have", "Device, but got tensor with", "Device"}},
    {{"Expected object of backend", "but got backend"}},
    {{"Expected object of device type", "but got device type"}},
    {{"expected device", "but got device"}},
    // no kernel for the backend
    {{"Could not run '", "with arguments from the '", "backend"}},
    // convolution speaks of types
    {{"Input type (", ") and weight type (", ") should be the same"}},
    {{"Input type (", ") and bias type (", ") should be the same"}},
    // recurrent and packed
    {{"Input and hidden tensors are not at the same device"}},
    {{"Input and parameter tensors are not at the same device"}},
    {{"'lengths' argument should be a 1D CPU int64 tensor", "cuda"}},
    {{"batch_sizes tensor should be on CPU, but got"}},
    // kernels that word it themselves
    {{"on the same device"}},
    {{"on same device"}},
    {{"in the same device"}},
    {{"have the same device"}},
    {{"must have the same device"}},
    {{"the devices must match"}},
    {{"must have same dtype, device"}},
    {{"indices should be either on", "or on the same device as the indexed tensor"}},
    {{"expected to be on cpu, but it's on"}},
    {{"expected tensor_indices_or_sections to be on cpu"}},
    {{"device type of", "should be the same"}},
    {{"get_device() ==", "to be true, but got false"}},
    {{"device() ==", "to be true, but got false"}},
    {{"cuda::check_device("}},
    {{"is_cuda() to be true, but got false"}},
    {{"is_cuda() INTERNAL ASSERT FAILED"}},
    {{"expected a CUDA device but found cpu"}},
    {{"DeviceType::CUDA INTERNAL ASSERT FAILED"}},
    {{"expected", "to be CUDA, but got CPU"}},
    {{"expected", "to be CPU, but got CUDA"}},
    {{"expected", "to be a CPU tensor, but got a CUDA tensor"}},
    {{"expected", "to be a CUDA tensor, but got a CPU tensor"}},
    {{"must be a CUDA tensor"}},
    {{"must be a CPU tensor"}},
    {{"must be on CUDA"}},
    {{"must be on CPU"}},
    {{"need to be on cuda device"}},
    {{"Expected scalars to be on CPU, got"}},
    // generators
    {{"Expected a '", "device type for generator but found '"}},
    {{"Expected a '", "generator device but found '"}},
    // autograd and storage
    {{"returned an invalid gradient at index", "expected device", "but got"}},
    {{"invalid gradient at index", "expected device", "but got"}},
    {{"attempting to assign a gradient with device type"}},
    {{"attempting to assign a gradient located on device"}},
    {{"to a storage on different device"}},
    // host access
    {{"can't convert", "device type tensor to numpy"}},
    {{"cannot pin '", "only dense CPU tensors can be pinned"}},
    {{"is only implemented on CPU tensors"}},
    {{"Cannot copy between CPU and CUDA tensors during CUDA graph capture"}},
    {{"Pointer argument cannot be accessed from Triton (cpu tensor?)"}},
    // meta
    {{"is not on the expected device"}},
    {{"Cannot copy out of meta tensor; no data!"}},
    {{"Tensor.item() cannot be called on meta tensors"}},
    // parallel
    {{"module must have its parameters and buffers on device"}},
    {{"All tensors must be on devices[0]"}},
    {{"input module must be on the same type of devices"}},
    {{"No backend type associated with device type"}},
    {{"NCCL only supports CUDA tensors"}},
    {{"ProcessGroupNCCL requires CUDA"}},
    {{"Attempt to perform collective on tensor not on device"}},
    {{"Found two parameters on different devices"}},
    // compiled
    {{"Tensor device mismatch"}},
    {{"Unhandled FakeTensor Device Propagation"}},
};

bool matches(const DeviceError& error, std::string_view text) {
  std::size_t from = 0;
  for (const std::string_view part : error.parts) {
    const std::size_t at = text.find(part, from);
    if (at == std::string_view::npos) return false;
    from = at + part.size();
  }
  return true;
}

}  // namespace

bool is_device_error(std::string_view text) {
  return std::any_of(std::begin(kErrors), std::end(kErrors), [&](const DeviceError& e) { return matches(e, text); });
}

}  // namespace device_audit
