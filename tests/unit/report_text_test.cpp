#include <gtest/gtest.h>

#include "report/formats.h"
#include "report/printable.h"
#include "report/render.h"
#include "report_journals.h"

namespace device_audit::report {
namespace {

Recording labels_left_behind() {
  Recording recording;
  recording.run = parse_journal(Lines()
                                    .add("run", {{"command", {"python", "train it.py"}},
                                                 {"cwd", "/home/user"},
                                                 {"started", 1'796'140'800'000'000'000},
                                                 {"host", "here"},
                                                 {"simulated", 2}})
                                    .add("ended", {{"pid", 7}, {"exit", 1}, {"ended", 1'796'140'801'500'000'000}})
                                    .text());
  recording.processes.push_back(parse_journal(
      Lines()
          .add("process", {{"pid", 7}, {"host", "here"}, {"mode", "full"}})
          .add("runtime", {{"torch", "2.15.0"}, {"adapter", "a"}})
          .add("devices", {{"devices", {"cuda:0", "cpu"}}})
          .add(
              "finding",
              {{"id", 0},
               {"verdict", "mismatch"},
               {"operator", "aten::nll_loss_forward"},
               {"chain", {"aten::cross_entropy_loss", "aten::nll_loss_forward"}},
               {"devices", {"cuda:0", "cpu"}},
               {"operands",
                {{{"argument", "self"}, {"device", "cuda:0"}, {"shape", {16, 3}}, {"dtype", "torch.float32"}},
                 {{"argument", "target"},
                  {"device", "cpu"},
                  {"shape", {16}},
                  {"dtype", "torch.int64"},
                  {"stray", true},
                  {"name", "labels"},
                  {"origin", {{"file", "/home/user/train.py"}, {"line", 31}, {"operator", "aten::randint"}}}}}},
               {"site", {{"file", "/home/user/train.py"}, {"line", 42}, {"function", "step"}, {"code", "loss(x)"}}},
               {"python", {{{"file", "/home/user/train.py"}, {"line", 42}, {"function", "step"}, {"code", "loss(x)"}}}},
               {"cause", "target-not-moved"},
               {"explanation", "the labels never left the CPU"},
               {"fix", {{"file", "/home/user/train.py"}, {"line", 42}, {"after", "labels = labels.to(x.device)"}}},
               {"error", "Expected all tensors"}})
          .add("uncaught", {{"kind", "RuntimeError"}, {"text", "Expected all tensors"}, {"finding", 0}})
          .add("switched_off", {{"what", "allocations"}, {"why", "another allocator"}})
          .text()));
  return recording;
}

TEST(Text, TellsARunAndItsFindings) {
  EXPECT_EQ(as_text(make_report(labels_left_behind())),
            "device-audit " DEVICE_AUDIT_VERSION
            ": 1 mismatch at train.py:42 (aten::nll_loss_forward, cuda:0 and cpu)\n"
            "$ python 'train it.py'\n"
            "2026-12-01T16:00:00.000Z to 2026-12-01T16:00:01.500Z on here, GPUs simulated: 2\n"
            "process 7, torch 2.15.0, on cuda:0 cpu, exit code 1\n"
            "\n"
            "F01 mismatch in aten::nll_loss_forward (cross_entropy_loss)\n"
            "  at train.py:42 in step        loss(x)\n"
            "  operand     name    device  shape    dtype          created\n"
            "  self                cuda:0  (16, 3)  torch.float32\n"
            "  target      labels  cpu     (16,)    torch.int64    train.py:31 (aten::randint)   <- wrong\n"
            "  error       Expected all tensors\n"
            "  python      train.py:42 in step                       loss(x)\n"
            "  cause       target-not-moved: the labels never left the CPU\n"
            "  fix         insert before train.py:42: labels = labels.to(x.device)\n"
            "  seen        once; it ended the program\n"
            "\n"
            "not known\n"
            "  switched off: allocations: another allocator\n");
}

TEST(Text, CannotSteerTheTerminal) {
  EXPECT_EQ(printable("a\x1b[31m\tb\n\x7f\xc2\x9b\xc3\xa9"), "a\\x1b[31m\tb\n\\x7f\\x9b\xc3\xa9");
  Recording recording = labels_left_behind();
  recording.run->records[0]["command"][0] = "py\x1b[2J";
  EXPECT_EQ(as_text(make_report(recording)).find('\x1b'), std::string::npos);
}

TEST(Formats, AreThoseOfTheSetting) {
  std::string names;
  for (const Format& format : formats()) names += (names.empty() ? "" : ", ") + std::string(format.name);
  EXPECT_EQ(names, "html, json, text, sarif");
}

TEST(Render, WritesTheFilesAskedFor) {
  const Folder folder;
  const auto rendered = render(make_report(labels_left_behind()), folder.path(), "text,html");
  ASSERT_EQ(rendered.size(), 2U);
  EXPECT_TRUE(std::filesystem::exists(folder / "report.txt"));
  EXPECT_FALSE(std::filesystem::exists(folder / "report.json"));
  EXPECT_EQ(std::filesystem::status(folder / "report.txt").permissions(), std::filesystem::perms(0600));
  const auto failed = render(make_report(labels_left_behind()), "/nonexistent", "json");
  EXPECT_EQ(failed.at(0).error, ENOENT);
}

}  // namespace
}  // namespace device_audit::report
