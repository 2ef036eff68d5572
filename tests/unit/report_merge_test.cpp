#include "report/merge.h"

#include <gtest/gtest.h>

#include "report/render.h"
#include "report/shape.h"
#include "report/verdict_line.h"
#include "report_journals.h"

namespace device_audit::report {
namespace {

constexpr std::uint64_t kStart = 1'796'140'800'000'000'000;  // 2026-12-01T16:00:00Z

Report a_finding(int id, const char* verdict, int line, const char* gpu = "cuda:0") {
  return {{"id", id},
          {"slot", nullptr},
          {"verdict", verdict},
          {"operator", "aten::add"},
          {"devices", {gpu, "cpu"}},
          {"operands", {{{"argument", "self"}, {"device", gpu}}, {{"argument", "other"}, {"device", "cpu"}}}},
          {"site", {{"file", "train.py"}, {"line", line}, {"function", "f"}, {"code", "a + b"}}},
          {"first_seen", kStart + static_cast<unsigned>(id)}};
}

Journal a_process(std::uint64_t pid, const std::function<void(Lines&)>& write, Report members = Report::object()) {
  Report process{{"journal", 1}, {"pid", pid}, {"host", "here"}, {"started", kStart + pid}, {"mode", "full"}};
  process.update(members);
  Lines lines;
  lines.add("process", process).add("runtime", {{"torch", "2.15.0"}, {"adapter", "a"}});
  write(lines);
  Journal journal = parse_journal(lines.text());
  journal.file = std::to_string(pid) + ".jsonl";
  return journal;
}

Report report_of(std::vector<Journal> processes) {
  Recording recording;
  recording.processes = std::move(processes);
  return make_report(recording);
}

std::vector<std::string> in_order(const Report& report, const char* member) {
  std::vector<std::string> all;
  for (const Report& finding : report["findings"]) {
    all.push_back(finding[member].is_string() ? text(finding, member) : finding[member].dump());
  }
  return all;
}

using Strings = std::vector<std::string>;

TEST(Merge, OrdersByImportance) {
  const Report report = report_of({a_process(1, [](Lines& lines) {
    lines.add("finding", a_finding(1, "transfer", 1))
        .add("counts", {{"finding", 1}, {"count", 100}, {"bytes", 10}})
        .add("finding", a_finding(2, "transfer", 2))
        .add("counts", {{"finding", 2}, {"count", 1}, {"bytes", 1000}})
        .add("finding", a_finding(3, "sync", 3))
        .add("finding", a_finding(4, "implicit", 4))
        .add("finding", a_finding(5, "implicit", 5))
        .add("counts", {{"finding", 5}, {"count", 9}})
        .add("finding", a_finding(6, "mismatch", 6))
        .add("outcome", {{"finding", 6}, {"caught", true}})
        .add("finding", a_finding(7, "invalid", 7))
        .add("finding", a_finding(8, "mismatch", 8))
        .add("finding", a_finding(9, "mismatch", 9))
        .add("uncaught", {{"kind", "RuntimeError"}, {"text", "x"}, {"finding", 9}});
  })});
  Strings lines;
  for (const Report& finding : report["findings"]) lines.push_back(finding["site"]["line"].dump());
  EXPECT_EQ(lines, (Strings{"9", "8", "7", "6", "5", "4", "3", "2", "1"}));
  EXPECT_EQ(in_order(report, "id"), (Strings{"F01", "F02", "F03", "F04", "F05", "F06", "F07", "F08", "F09"}));
  EXPECT_EQ(in_order(report, "caught"),
            (Strings{"false", "unknown", "null", "true", "null", "null", "null", "null", "null"}));
  EXPECT_EQ(report["findings"][0]["ended"], Report({0}));
  EXPECT_EQ(report["processes"][0]["uncaught"]["finding"], "F01");
}

TEST(Merge, MakesOneOfTheSameInSeveralProcesses) {
  const auto rank = [](std::uint64_t number, const char* gpu) {
    return a_process(
        10 - number,
        [&](Lines& lines) {
          lines.add("finding", a_finding(static_cast<int>(number), "implicit", 4, gpu))
              .add("counts",
                   {{"finding", number}, {"count", 2}, {"bytes", 8}, {"last_seen", kStart + 1'000'000'000 * number}});
        },
        {{"rank", number}, {"world_size", 2}});
  };
  const Report report = report_of({rank(1, "cuda:1"), rank(0, "cuda:0")});
  EXPECT_EQ(report["processes"][0]["rank"], 0);
  ASSERT_EQ(report["findings"].size(), 1U);
  const Report& finding = report["findings"][0];
  EXPECT_EQ(finding["processes"], Report({0, 1}));
  EXPECT_EQ(finding["devices"], Report({"cuda:0", "cuda:1", "cpu"}));
  EXPECT_EQ(finding["count"], 4);
  EXPECT_EQ(finding["bytes"], 16);
  EXPECT_EQ(finding["first_seen"], "2026-12-01T16:00:00.000Z");
  EXPECT_EQ(finding["last_seen"], "2026-12-01T16:00:01.000Z");
  EXPECT_EQ(finding["by_process"][1]["devices"], Report({"cuda:1", "cpu"}));
  EXPECT_EQ(finding["by_process"][1]["count"], 2);
}

TEST(Merge, KeepsApartWhatIsNotTheSame) {
  const Report report = report_of({a_process(1, [](Lines& lines) {
    Report other_name = a_finding(3, "implicit", 4);
    other_name["operands"][0]["name"] = "mask";
    lines.add("finding", a_finding(1, "implicit", 4))
        .add("finding", a_finding(2, "implicit", 4, "cuda:1"))
        .add("finding", other_name)
        .add("finding", a_finding(4, "implicit", 5));
  })});
  EXPECT_EQ(report["findings"].size(), 4U);
}

TEST(Merge, UncaughtInOneProcessIsUncaught) {
  const auto with = [](std::uint64_t pid, Report outcome) {
    return a_process(pid, [&](Lines& lines) {
      lines.add("finding", a_finding(1, "mismatch", 4));
      if (!outcome.is_null()) lines.add("outcome", {{"finding", 1}, {"caught", outcome}});
    });
  };
  EXPECT_EQ(report_of({with(1, true), with(2, false)})["findings"][0]["caught"], false);
  EXPECT_EQ(report_of({with(1, true), with(2, nullptr)})["findings"][0]["caught"], "unknown");
  EXPECT_EQ(report_of({with(1, true), with(2, true)})["findings"][0]["caught"], true);
}

TEST(Merge, TakesCountersFromTheSlot) {
  Journal journal = a_process(1, [](Lines& lines) {
    Report finding = a_finding(1, "sync", 4);
    finding["slot"] = 8;
    lines.add("finding", finding);
  });
  journal.counts = Counts(counts_file({700, 0, 0, 0, 0, 0, 41, kStart + 2'000'000'000, 64, 5}));
  const Report report = report_of({journal});
  EXPECT_EQ(report["findings"][0]["count"], 41);
  EXPECT_EQ(report["findings"][0]["duration_ns"], 5);
  EXPECT_EQ(report["findings"][0]["last_seen"], "2026-12-01T16:00:02.000Z");
  EXPECT_EQ(report["processes"][0]["overhead"]["operators"], 700);
  journal.counts = Counts();
  EXPECT_EQ(report_of({journal})["findings"][0]["count"], 1);
}

TEST(Merge, KnowsHowProcessesEnded) {
  Recording recording;
  recording.processes = {a_process(1,
                                   [](Lines& lines) {
                                     lines.add("end", {{"how", "exit"}, {"code", 3}});
                                   }),
                         a_process(2, [](Lines&) {}), a_process(3, [](Lines&) {})};
  recording.run = parse_journal(Lines()
                                    .add("run", {{"command", {"a", "b"}}, {"host", "here"}, {"started", kStart}})
                                    .add("ended", {{"pid", 2}, {"signal", 9}, {"exit", 137}, {"ended", kStart + 7}})
                                    .text());
  const Report report = make_report(recording);
  EXPECT_EQ(report["processes"][0]["ended"], "exit");
  EXPECT_EQ(report["processes"][0]["exit_code"], 3);
  EXPECT_EQ(report["processes"][1]["ended"], "signal");
  EXPECT_EQ(report["processes"][1]["signal"], 9);
  EXPECT_EQ(report["processes"][2]["ended"], "unknown");
  EXPECT_EQ(report["run"]["exit"], 137);
  EXPECT_EQ(report["run"]["command"], Report({"a", "b"}));
}

TEST(Merge, SaysWhatIsNotKnown) {
  Lines lines;
  lines.add("process", {{"pid", 5}}).add("runtime", {{"adapter", nullptr}, {"adapter_why", "built for another torch"}});
  lines.skip().add("switched_off", {{"what", "cupti"}, {"why", "held by Nsight"}});
  Journal journal = parse_journal(lines.text() + "damage\n{\"crc");
  journal.file = "5.jsonl";
  const Report coverage = report_of({journal})["coverage"];
  EXPECT_EQ(coverage["switched_off"][0]["what"], "cupti");
  EXPECT_EQ(coverage["observed_share"], nullptr);
  Strings whys;
  for (const Report& gap : coverage["unseen"]) whys.push_back(text(gap, "why"));
  EXPECT_EQ(whys,
            (Strings{"1 damaged line skipped", "cut off", "1 sequence number missing", "built for another torch"}));
}

TEST(Verdict, IsOneLine) {
  EXPECT_EQ(verdict_line(report_of({})), "nothing recorded: no PyTorch was seen in any process");
  EXPECT_EQ(verdict_line(report_of({a_process(1, [](Lines&) {})})), "no mismatch; 0 operators observed");
  EXPECT_EQ(verdict_line(report_of(
                {a_process(1,
                           [](Lines& lines) {
                             lines.add("finding", a_finding(1, "mismatch", 42)).add("finding", a_finding(2, "sync", 3));
                           })})),
            "1 mismatch at train.py:42 (aten::add, cuda:0 and cpu); also 1 sync");
  EXPECT_EQ(
      verdict_line(report_of({a_process(1, [](Lines& lines) { lines.add("finding", a_finding(1, "sync", 3)); })})),
      "no mismatch; 1 sync at train.py:3 (aten::add, cuda:0 and cpu)");
}

TEST(Shape, KeepsTypesAndFillsWhatIsMissing) {
  const Report part = Report::parse(R"({"type": "object", "properties": {
    "name": {"type": "string"}, "line": {"type": ["integer", "null"], "minimum": 0},
    "how": {"type": "string", "enum": ["a", "b"], "default": "b"}, "known": {"enum": [true, false, "unknown", null]},
    "place": {"anyOf": [{"$ref": "#/$defs/place"}, {"type": "null"}]},
    "tags": {"type": "array", "items": {"type": "string"}}}})");
  const Report root =
      Report::parse(R"({"$defs": {"place": {"type": "object", "properties": {"file": {"type": "string"}}}}})");
  EXPECT_EQ(shaped(nullptr, part, root),
            Report::parse(R"({"name": "", "line": null, "how": "b", "known": null, "place": null, "tags": []})"));
  EXPECT_EQ(
      shaped(Json::parse(R"({"name": 1, "line": -1, "how": "c", "known": "maybe", "place": {"file": "x", "y": 1},
                                   "tags": ["a", 1, null], "more": 1})"),
             part, root),
      Report::parse(R"({"name": "", "line": null, "how": "b", "known": null, "place": {"file": "x"}, "tags": ["a"]})"));
}

}  // namespace
}  // namespace device_audit::report
