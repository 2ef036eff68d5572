#include "hook/torch/operands.h"

#include <ATen/core/Generator.h>
#include <ATen/core/TensorBase.h>
#include <c10/core/ScalarType.h>
#include <c10/core/TensorImpl.h>
#include <c10/core/UndefinedTensorImpl.h>

#include "audit/pairs.h"

namespace device_audit::hook {
namespace {

constexpr int kCudaBits = 32;

bool is_operand(const c10::TensorImpl* tensor) {
  return tensor != nullptr && tensor != c10::UndefinedTensorImpl::singleton() && !tensor->is_wrapped_number();
}

// A tensor that dispatches to Python may answer `device()` with Python code, which must not run here.
bool is_opaque(const c10::TensorImpl* tensor) {
  return tensor->key_set().has(c10::DispatchKey::Python);
}

void meet(DevicesMet& met, c10::Device device) {
  met.seen |= device_bit(device);
  if (!met.any) {
    met.any = true;
    met.first = device;
  } else if (device != met.first) {
    met.several = true;
  }
}

// Calls `tensor(TensorImpl*, element)` and `generator(const at::Generator&, element)` for each operand in `value`;
// `element` is its index in a list, -1 outside one.
template <class OnTensor, class OnGenerator>
void visit(const c10::IValue& value, int element, const OnTensor& tensor, const OnGenerator& generator) {
  if (value.isTensor()) {
    const c10::TensorImpl* impl = value.unsafeToTensorImpl();
    if (is_operand(impl)) tensor(impl, element);
  } else if (value.isGenerator()) {
    const at::Generator& made = value.toGenerator();
    if (made.defined()) generator(made, element);
  } else if (value.isList()) {
    int index = 0;
    for (const c10::IValue& inner : value.toListRef()) {
      // Lists of numbers and strings hold no operand, however long they are.
      if (!inner.isTensor() && !inner.isNone() && !inner.isList()) break;
      visit(inner, index++, tensor, generator);
    }
  }
}

const char* dtype_name(c10::ScalarType type) {
  // As torch.dtype prints itself; c10 only has the legacy names.
  switch (type) {
    case c10::ScalarType::Byte:
      return "torch.uint8";
    case c10::ScalarType::Char:
      return "torch.int8";
    case c10::ScalarType::Short:
      return "torch.int16";
    case c10::ScalarType::Int:
      return "torch.int32";
    case c10::ScalarType::Long:
      return "torch.int64";
    case c10::ScalarType::UInt16:
      return "torch.uint16";
    case c10::ScalarType::UInt32:
      return "torch.uint32";
    case c10::ScalarType::UInt64:
      return "torch.uint64";
    case c10::ScalarType::Half:
      return "torch.float16";
    case c10::ScalarType::Float:
      return "torch.float32";
    case c10::ScalarType::Double:
      return "torch.float64";
    case c10::ScalarType::BFloat16:
      return "torch.bfloat16";
    case c10::ScalarType::ComplexHalf:
      return "torch.complex32";
    case c10::ScalarType::ComplexFloat:
      return "torch.complex64";
    case c10::ScalarType::ComplexDouble:
      return "torch.complex128";
    case c10::ScalarType::Bool:
      return "torch.bool";
    case c10::ScalarType::QInt8:
      return "torch.qint8";
    case c10::ScalarType::QUInt8:
      return "torch.quint8";
    case c10::ScalarType::QInt32:
      return "torch.qint32";
    case c10::ScalarType::Float8_e5m2:
      return "torch.float8_e5m2";
    case c10::ScalarType::Float8_e4m3fn:
      return "torch.float8_e4m3fn";
    default:
      return c10::toString(type);
  }
}

// Sizes where they can be read without running code of a subclass: nested and symbolic tensors have none to show.
std::optional<std::vector<std::int64_t>> shape_of(const c10::TensorImpl* tensor) {
  if (tensor->has_symbolic_sizes_strides() || tensor->key_set().has(c10::DispatchKey::NestedTensor))
    return std::nullopt;
  const auto sizes = tensor->sizes();
  return std::vector<std::int64_t>(sizes.begin(), sizes.end());
}

const void* storage_of(const c10::TensorImpl* tensor) {
  return tensor->has_storage() ? tensor->unsafe_storage().unsafeGetStorageImpl() : nullptr;
}

}  // namespace

const void* storage_of_object(const void* tensor_object) {
  // A reference count and a type, then the at::Tensor: torch's Python headers, which say so, would want Python's.
  const auto* tensor =
      static_cast<const at::TensorBase*>(static_cast<const void*>(static_cast<void* const*>(tensor_object) + 2));
  return tensor->defined() ? storage_of(tensor->unsafeGetTensorImpl()) : nullptr;
}

std::uint64_t device_bit(c10::Device device) {
  if (device.is_cuda())
    return std::uint64_t{1} << (static_cast<unsigned>(device.has_index() ? device.index() : 0) % kCudaBits);
  return std::uint64_t{1} << (kCudaBits + static_cast<unsigned>(device.type()));
}

std::string device_of_bit(int index) {
  if (index < kCudaBits) return "cuda:" + std::to_string(index);
  return c10::DeviceTypeName(static_cast<c10::DeviceType>(index - kCudaBits), /*lower_case=*/true);
}

DevicesMet devices_met(c10::ArrayRef<const c10::IValue> arguments) {
  DevicesMet met;
  for (const c10::IValue& argument : arguments) {
    visit(
        argument, -1,
        [&](const c10::TensorImpl* tensor, int) {
          if (is_opaque(tensor)) {
            met.opaque = true;
          } else {
            meet(met, tensor->device());
          }
        },
        [&](const at::Generator& generator, int) { meet(met, generator.device()); });
  }
  return met;
}

std::vector<Operand> operands_of(const c10::FunctionSchema& schema, c10::ArrayRef<const c10::IValue> arguments) {
  std::vector<Operand> operands;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const bool known = i < schema.arguments().size();
    const auto describe = [&](int element) {
      Operand operand;
      operand.position = static_cast<int>(i);
      operand.argument = known ? schema.arguments()[i].name() : "argument " + std::to_string(i);
      if (element >= 0) operand.argument += "[" + std::to_string(element) + "]";
      const c10::AliasInfo* alias = known ? schema.arguments()[i].alias_info() : nullptr;
      operand.written = alias != nullptr && alias->isWrite();
      return operand;
    };
    visit(
        arguments[i], -1,
        [&](const c10::TensorImpl* tensor, int element) {
          Operand operand = describe(element);
          operand.device = tensor->device().str();
          operand.shape = shape_of(tensor);
          operand.dtype = dtype_name(c10::typeMetaToScalarType(tensor->dtype()));
          operand.object = tensor->pyobj_slot()->load_pyobj();
          operand.storage = storage_of(tensor);
          operands.push_back(std::move(operand));
        },
        [&](const at::Generator& generator, int element) {
          Operand operand = describe(element);
          operand.device = generator.device().str();
          operand.generator = true;
          operands.push_back(std::move(operand));
        });
  }
  return operands;
}

std::vector<Device> devices_of_results(const std::vector<c10::IValue>& results) {
  std::vector<Operand> tensors;
  for (const c10::IValue& result : results) {
    visit(
        result, -1,
        [&](const c10::TensorImpl* tensor, int) {
          if (is_opaque(tensor)) return;
          tensors.emplace_back();
          tensors.back().device = tensor->device().str();
        },
        [](const at::Generator&, int) {});
  }
  return devices_of(tensors);
}

}  // namespace device_audit::hook
