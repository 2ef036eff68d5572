#include "audit/verdict.h"

#include <gtest/gtest.h>

#include "audit/pairs.h"

namespace device_audit {
namespace {

Operand tensor(std::string argument, Device device, std::vector<std::int64_t> shape = {2, 3}) {
  Operand operand;
  operand.argument = std::move(argument);
  operand.device = std::move(device);
  operand.shape = std::move(shape);
  operand.dtype = "torch.float32";
  return operand;
}

OperatorCall call(std::string name, std::vector<Operand> operands) {
  OperatorCall made;
  made.name = std::move(name);
  made.operands = std::move(operands);
  return made;
}

// The texts are PyTorch 2.15's own; those without the word "device" are mismatches all the same.
TEST(Raised, DeviceTextIsAMismatch) {
  for (
      const char* text : {
          "Expected all tensors to be on the same device, but got mat1 is on cpu, different from other tensors on "
          "cuda:0 (when "
          "checking argument in method wrapper_CUDA_addmm)",
          "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cuda:1!",
          "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu! (when "
          "checking argument "
          "for argument mat1 in method wrapper_addmm)",
          "indices should be either on cpu or on the same device as the indexed tensor (cpu)",
          "expected self and mask to be on the same device, but got mask on cpu and self on cuda:0",
          "Expected a 'cuda' device type for generator but found 'cpu'",
          "Input type (torch.cuda.FloatTensor) and weight type (torch.FloatTensor) should be the same",
          "Could not run 'aten::slow_conv3d_forward' with arguments from the 'CUDA' backend. This could be because ...",
          "Trying to pass too many CPU scalars to non-CPU kernel!",
          "module must have its parameters and buffers on device cuda:0 (device_ids[0]) but found one of them on "
          "device: cuda:1",
          "'lengths' argument should be a 1D CPU int64 tensor, but got 1D cuda:0 Long tensor",
          "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.",
      }) {
    EXPECT_EQ(judge_raised({"c10::Error", text}).verdict, Verdict::mismatch) << text;
  }
}

TEST(Raised, OtherTextIsNone) {
  for (const char* text : {
           "mat1 and mat2 shapes cannot be multiplied (4x3 and 4x3)",
           "index 7 is out of bounds for dimension 0 with size 4",
           "expected scalar type Float but found Double",
           "CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total capacity of 16.00 GiB",
           "a leaf Variable that requires grad is being used in an in-place operation.",
           "'lengths' argument should be a 1D CPU int64 tensor, but got 2D cpu Long tensor",
           "",
       }) {
    EXPECT_EQ(judge_raised({"c10::Error", text}).verdict, Verdict::none) << text;
  }
}

TEST(Ran, OperandsThatAgreeAreNothing) {
  EXPECT_EQ(judge_ran(call("aten::add", {tensor("self", "cuda:0"), tensor("other", "cuda:0")}), false, false).verdict,
            Verdict::none);
}

TEST(Ran, CpuScalarIsImplicitAndSaysWhyItIsLegal) {
  const Judgement judged =
      judge_ran(call("aten::add", {tensor("self", "cuda:0"), tensor("other", "cpu", {})}), false, false);
  EXPECT_EQ(judged.verdict, Verdict::implicit);
  EXPECT_EQ(judged.legal_because,
            "a 0-dim CPU tensor may meet operands on another device: its value is read by the host");
}

TEST(Ran, IndexOnTheCpuIsImplicit) {
  const Judgement judged =
      judge_ran(call("aten::index", {tensor("self", "cuda:0"), tensor("indices[0]", "cpu", {4})}), false, false);
  EXPECT_EQ(judged.verdict, Verdict::implicit);
  EXPECT_NE(judged.legal_because, "");
}

TEST(Ran, AskedForOnlyItsShapeOrCopiedOnPurposeIsNothing) {
  for (const char* name : {"aten::view_as", "aten::expand_as", "aten::copy_", "aten::type_as", "aten::is_same_size"}) {
    EXPECT_EQ(judge_ran(call(name, {tensor("self", "cuda:0"), tensor("other", "cpu")}), false, false).verdict,
              Verdict::none)
        << name;
  }
}

TEST(Ran, RealResultOfAMetaOperandIsInvalid) {
  OperatorCall mixed = call("aten::mm", {tensor("self", "cuda:0"), tensor("mat2", "meta")});
  mixed.outputs = {"cuda:0"};
  EXPECT_EQ(judge_ran(mixed, false, false).verdict, Verdict::invalid);
  mixed.outputs = {"meta"};
  EXPECT_EQ(judge_ran(mixed, false, false).verdict, Verdict::none);
}

TEST(Ran, CompositeIsJudgedByWhatItCallsUnlessItMovedTheOperandItself) {
  const OperatorCall mixed = call("aten::einsum", {tensor("tensors[0]", "cuda:0"), tensor("tensors[1]", "cpu")});
  EXPECT_EQ(judge_ran(mixed, /*composite=*/true, /*moved_inside=*/false).verdict, Verdict::none);
  EXPECT_EQ(judge_ran(mixed, /*composite=*/true, /*moved_inside=*/true).verdict, Verdict::implicit);
}

TEST(Pairs, OddOperandsArePairedWithTheFirstOfTheLargestGroup) {
  const std::vector<Operand> operands{tensor("input", "cpu"), tensor("weight", "cuda:0"), tensor("bias", "cuda:0"),
                                      tensor("mean", "cuda:1")};
  EXPECT_EQ(common_device(operands), "cuda:0");
  EXPECT_EQ(devices_of(operands), (std::vector<Device>{"cuda:0", "cuda:1", "cpu"}));
  const std::vector<Pair> pairs = crossing_pairs(operands);
  ASSERT_EQ(pairs.size(), 2U);
  EXPECT_EQ(pairs[0].a + " " + pairs[0].b, "input weight");
  EXPECT_EQ(pairs[1].a + " " + pairs[1].b, "weight mean");
}

}  // namespace
}  // namespace device_audit
