#include "audit/explanation.h"

#include <gtest/gtest.h>

namespace device_audit {
namespace {

Finding labels_left_behind() {
  Finding finding;
  finding.verdict = Verdict::mismatch;
  finding.call.name = "aten::nll_loss_forward";
  finding.call.chain = {"aten::cross_entropy_loss", "aten::nll_loss_nd", "aten::nll_loss", "aten::nll_loss_forward"};
  Operand self;
  self.argument = "self";
  self.device = "cuda:0";
  self.shape = {16, 3};
  self.dtype = "torch.float32";
  Operand target;
  target.argument = "target";
  target.device = "cpu";
  target.shape = {16};
  target.dtype = "torch.int64";
  finding.call.operands = {self, target};
  finding.site = Place{"/home/user/train.py", 42, "train_step", "loss = criterion(outputs, labels)"};
  finding.failure = Failure{"c10::Error", "Expected all tensors to be on the same device\nsecond line"};
  return finding;
}

TEST(Explanation, SaysOperatorPlaceOperandsAndError) {
  EXPECT_EQ(explain(labels_left_behind(), "/home/user"),
            "device-audit: mismatch in aten::nll_loss_forward (cross_entropy_loss > nll_loss_nd > nll_loss)\n"
            "  at train.py:42 in train_step        loss = criterion(outputs, labels)\n"
            "  operand     device  shape    dtype\n"
            "  self        cuda:0  (16, 3)  torch.float32\n"
            "  target      cpu     (16,)    torch.int64\n"
            "  error       Expected all tensors to be on the same device\n");
}

TEST(Explanation, NamesOriginsAndTheStrayOperand) {
  Finding finding = labels_left_behind();
  finding.call.operands[1].name = "labels";
  finding.call.operands[1].stray = true;
  finding.call.operands[1].origin = Origin{{"/home/user/train.py", 31, "<module>", ""}, "aten::randint"};
  finding.failure.reset();
  EXPECT_EQ(
      explain(finding, "/home/user"),
      "device-audit: mismatch in aten::nll_loss_forward (cross_entropy_loss > nll_loss_nd > nll_loss)\n"
      "  at train.py:42 in train_step        loss = criterion(outputs, labels)\n"
      "  operand     name    device  shape    dtype          created\n"
      "  self                cuda:0  (16, 3)  torch.float32\n"
      "  target      labels  cpu     (16,)    torch.int64    train.py:31 in <module> (aten::randint)   <- wrong\n");
}

TEST(Explanation, FoldsFramesOfTorch) {
  Finding finding = labels_left_behind();
  finding.failure.reset();
  finding.python = {{{"/venv/torch/nn/functional.py", 3, "cross_entropy", ""}, true},
                    {{"/venv/torch/nn/modules/loss.py", 4, "forward", ""}, true},
                    {{"/home/user/train.py", 42, "train_step", "loss = criterion(outputs, labels)"}, false}};
  const std::string text = explain(finding, "/home/user");
  EXPECT_NE(text.find("  python      ... 2 frames of torch or Python\n"), std::string::npos) << text;
  EXPECT_NE(text.find("train.py:42 in train_step                 loss = criterion"), std::string::npos) << text;
}

TEST(Explanation, PathsOutsideTheFolderStayWhole) {
  EXPECT_EQ(shown_path("/home/user/a/b.py", "/home/user"), "a/b.py");
  EXPECT_EQ(shown_path("/home/user2/b.py", "/home/user"), "/home/user2/b.py");
  EXPECT_EQ(shown_path("<string>", "/home/user"), "<string>");
  EXPECT_EQ(shown_path("/home/user", "/home/user"), "/home/user");
}

}  // namespace
}  // namespace device_audit
