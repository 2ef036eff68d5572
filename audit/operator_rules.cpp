#include "audit/operator_rules.h"

#include <algorithm>
#include <array>

namespace device_audit {
namespace {

constexpr std::string_view kShape = "only the shape of the other operand is asked for";
constexpr std::string_view kType = "only the type of the other operand is asked for";
constexpr std::string_view kCopy = "copying between devices is what the operator is for";
constexpr std::string_view kIndex =
    "indices may be on the CPU: they are copied to the device of the indexed tensor at every call";
constexpr std::string_view kLengths = "lengths are read on the CPU";
constexpr std::string_view kScatter = "the source is copied into the result, from whatever device";

constexpr std::array kRules{
    OperatorRule{"aten::_has_compatible_shallow_copy_type", OperandUse::shape_only, kType},
    OperatorRule{"aten::_copy_from", OperandUse::copy, kCopy},
    OperatorRule{"aten::_copy_from_and_resize", OperandUse::copy, kCopy},
    OperatorRule{"aten::_ctc_loss", OperandUse::host_data, kLengths},
    OperatorRule{"aten::_foreach_copy", OperandUse::copy, kCopy},
    OperatorRule{"aten::_foreach_copy_", OperandUse::copy, kCopy},
    OperatorRule{"aten::_index_put_impl_", OperandUse::index, kIndex},
    OperatorRule{"aten::_pack_padded_sequence", OperandUse::host_data, kLengths},
    OperatorRule{"aten::_pack_padded_sequence_backward", OperandUse::host_data, kLengths},
    OperatorRule{"aten::_pad_packed_sequence", OperandUse::host_data, kLengths},
    OperatorRule{"aten::_sparse_broadcast_to", OperandUse::shape_only, kShape},
    OperatorRule{"aten::_to_copy", OperandUse::copy, kCopy},
    OperatorRule{"aten::_unsafe_index", OperandUse::index, kIndex},
    OperatorRule{"aten::_unsafe_index_put", OperandUse::index, kIndex},
    OperatorRule{"aten::_unsafe_masked_index", OperandUse::index, kIndex},
    OperatorRule{"aten::_unsafe_masked_index_put_accumulate", OperandUse::index, kIndex},
    OperatorRule{"aten::as_strided_scatter", OperandUse::copy, kScatter},
    OperatorRule{"aten::broadcast_tensors", OperandUse::shape_only, kShape},
    OperatorRule{"aten::copy", OperandUse::copy, kCopy},
    OperatorRule{"aten::copy_", OperandUse::copy, kCopy},
    OperatorRule{"aten::ctc_loss", OperandUse::host_data, kLengths},
    OperatorRule{"aten::diagonal_scatter", OperandUse::copy, kScatter},
    OperatorRule{"aten::expand_as", OperandUse::shape_only, kShape},
    OperatorRule{"aten::index", OperandUse::index, kIndex},
    OperatorRule{"aten::index_put", OperandUse::index, kIndex},
    OperatorRule{"aten::index_put_", OperandUse::index, kIndex},
    OperatorRule{"aten::is_same_size", OperandUse::shape_only, kShape},
    OperatorRule{"aten::is_set_to", OperandUse::shape_only, "only the identity of the storage is asked for"},
    OperatorRule{"aten::lift", OperandUse::copy, kCopy},
    OperatorRule{"aten::reshape_as", OperandUse::shape_only, kShape},
    OperatorRule{"aten::resize_as_", OperandUse::shape_only, kShape},
    OperatorRule{"aten::resize_as_sparse_", OperandUse::shape_only, kShape},
    OperatorRule{"aten::result_type", OperandUse::shape_only, kType},
    OperatorRule{"aten::select_scatter", OperandUse::copy, kScatter},
    OperatorRule{"aten::set_data", OperandUse::shape_only, "the tensor is given another storage; no data is read"},
    OperatorRule{"aten::slice_scatter", OperandUse::copy, kScatter},
    OperatorRule{"aten::sum_to_size", OperandUse::shape_only, kShape},
    OperatorRule{"aten::tensor_split", OperandUse::host_data, "split points are read on the CPU"},
    OperatorRule{"aten::to", OperandUse::copy, kCopy},
    OperatorRule{"aten::type_as", OperandUse::copy, kCopy},
    OperatorRule{"aten::view_as", OperandUse::shape_only, kShape},
};

}  // namespace

const OperatorRule* find_operator_rule(std::string_view name) {
  const auto found =
      std::find_if(kRules.begin(), kRules.end(), [&](const OperatorRule& rule) { return rule.name == name; });
  return found == kRules.end() ? nullptr : &*found;
}

}  // namespace device_audit
