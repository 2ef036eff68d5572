#include "report/journal.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <random>

#include "report/merge.h"
#include "report/render.h"
#include "report_journals.h"

namespace device_audit::report {
namespace {

TEST(Journal, ReadsTheExampleOfTheDocumentation) {
  // Checksum by Python's zlib.crc32.
  const Journal journal = parse_journal(R"({"crc":"a0945482","seq":0,"type":"process","pid":7})"
                                        "\n");
  ASSERT_EQ(journal.records.size(), 1U);
  EXPECT_EQ(number(journal.records[0], "pid"), 7U);
  EXPECT_EQ(journal.damaged, 0U);
}

TEST(Journal, ReadsWhatItWrites) {
  const std::string text = Lines().add("process", {{"pid", 7}}).add("end", {{"code", 0}}).text();
  const Journal journal = parse_journal(text);
  ASSERT_EQ(journal.records.size(), 2U);
  EXPECT_EQ(journal.bytes, text.size());
  EXPECT_EQ(journal.missing, 0U);
  EXPECT_FALSE(journal.torn);
  ASSERT_TRUE(journal.last("end"));
  EXPECT_FALSE(journal.last("finding"));
}

TEST(Journal, SkipsAndCountsDamagedLines) {
  std::string text = Lines().add("process").add("devices", {{"devices", {"cpu"}}}).add("end").text();
  text[text.find("cpu")] = 'C';
  const Journal journal = parse_journal("\n" + text + "no record\n");
  EXPECT_EQ(journal.records.size(), 2U);
  EXPECT_EQ(journal.damaged, 3U);
  EXPECT_EQ(journal.missing, 1U);
  EXPECT_FALSE(journal.torn);
}

TEST(Journal, ToleratesATornLastLine) {
  const std::string text = Lines().add("process").add("end", {{"code", 0}}).text();
  const Journal torn = parse_journal(text.substr(0, text.size() - 5));
  EXPECT_EQ(torn.records.size(), 1U);
  EXPECT_TRUE(torn.torn);
  EXPECT_EQ(torn.damaged, 0U);
  const Journal without_line_break = parse_journal(text.substr(0, text.size() - 1));
  EXPECT_EQ(without_line_break.records.size(), 2U);
  EXPECT_FALSE(without_line_break.torn);
}

TEST(Journal, FindsTheRecordBehindOneThatTheDiskCutShort) {
  const std::string first = Lines().add("process").text(), both = Lines().add("process").add("end").text();
  const Journal journal = parse_journal(first.substr(0, 30) + both.substr(first.size()));
  ASSERT_EQ(journal.records.size(), 1U);
  EXPECT_EQ(text(journal.records[0], "type"), "end");
  EXPECT_EQ(journal.damaged, 1U);
  EXPECT_EQ(journal.missing, 1U);
}

TEST(Journal, CountsGaps) {
  EXPECT_EQ(parse_journal(Lines().add("process").skip().skip().add("end").text()).missing, 2U);
  EXPECT_EQ(parse_journal(Lines().skip().add("end").text()).missing, 1U);
  EXPECT_EQ(parse_journal("").missing, 0U);
}

TEST(Journal, KeepsUnknownTypesAndMembers) {
  const Journal journal =
      parse_journal(Lines().add("process", {{"journal", 9}, {"mood", "good"}}).add("novelty").text());
  EXPECT_EQ(journal.records.size(), 2U);
  EXPECT_EQ(journal.damaged, 0U);
}

TEST(Journal, RefusesWhatWouldExhaustTheReader) {
  const std::string deep = std::string(100000, '[') + std::string(100000, ']');
  EXPECT_EQ(parse_journal(journal_line(Report{{"seq", 0}, {"type", "x"}})).damaged, 0U);
  std::string line = journal_line(Report{{"seq", 0}, {"type", "x"}, {"deep", "HERE"}});
  line.replace(line.find("\"HERE\""), 6, deep);
  EXPECT_EQ(parse_journal(line).damaged, 1U);
}

TEST(Counts, ReadsSlotsWithinTheFile) {
  const Counts counts(counts_file({500, 60, 0, 0, 0, 0, 3, 99, 4096, 7}));
  EXPECT_EQ(counts.operators(), 500U);
  EXPECT_EQ(counts.self_ns(), 60U);
  const auto four = counts.at(8);
  ASSERT_TRUE(four);
  EXPECT_EQ(four->count, 3U);
  EXPECT_EQ(four->last_seen, 99U);
  EXPECT_EQ(four->bytes, 4096U);
  EXPECT_EQ(four->duration_ns, 7U);
  EXPECT_FALSE(counts.at(9));
  EXPECT_FALSE(counts.at(~0ULL));
}

TEST(Counts, IgnoresWhatIsNone) {
  EXPECT_FALSE(Counts("").at(0));
  EXPECT_FALSE(Counts("short").at(0));
  EXPECT_FALSE(Counts(std::string(800, 'x')).at(8));
  std::string claims_less = counts_file({0, 0, 0, 0, 0, 0, 1, 2, 3, 4});
  claims_less[8] = 4;
  EXPECT_FALSE(Counts(claims_less).at(8));
}

TEST(Recording, ReadsEveryProcessAndTheRun) {
  const Folder folder;
  folder.write("12.jsonl", Lines().add("process", {{"pid", 12}}).text());
  folder.write("12-2.jsonl", Lines().add("process", {{"pid", 12}}).text());
  folder.write("12.counts", counts_file({9, 0, 0, 0, 0, 0}));
  folder.write("run.jsonl", Lines().add("run").text());
  folder.write("notes.jsonl", "");
  folder.write("report.json", "{}");
  const Recording recording = read_recording(folder.path());
  ASSERT_EQ(recording.processes.size(), 2U);
  EXPECT_EQ(recording.processes[0].file, "12-2.jsonl");
  EXPECT_EQ(recording.processes[1].counts.operators(), 9U);
  EXPECT_TRUE(recording.run);
  EXPECT_EQ(recording.problem, "");
}

TEST(Recording, FollowsNoLinkAndOpensNoPipe) {
  const Folder folder;
  folder.write("elsewhere", Lines().add("process").text());
  std::filesystem::create_symlink("elsewhere", folder / "1.jsonl");
  ASSERT_EQ(mkfifo((folder / "2.jsonl").c_str(), 0600), 0);
  std::filesystem::create_directory(folder / "3.jsonl");
  const Recording recording = read_recording(folder.path());
  ASSERT_EQ(recording.processes.size(), 3U);
  for (const Journal& journal : recording.processes) {
    EXPECT_TRUE(journal.records.empty());
    EXPECT_NE(journal.problem, "");
  }
}

TEST(Recording, SaysWhyADirectoryCannotBeRead) {
  EXPECT_NE(read_recording("/nonexistent").problem, "");
}

// A journal with every type of record, the numbers of each finding wrong in some way.
std::string journal_with_everything() {
  return Lines()
      .add("process", {{"journal", 1}, {"pid", 12}, {"rank", 0}, {"started", 5}, {"mode", "full"}, {"host", "h"}})
      .add("runtime", {{"torch", "2.15"}, {"adapter", "a"}})
      .add("devices", {{"devices", {"cuda:0", "cpu"}}})
      .add("finding", {{"id", 0},
                       {"slot", 8},
                       {"verdict", "mismatch"},
                       {"operator", "aten::add"},
                       {"devices", {"cuda:0", "cpu"}},
                       {"operands", {{{"argument", "self"}, {"device", "cpu"}, {"shape", {1, 2}}, {"stray", true}}}},
                       {"site", {{"file", "a.py"}, {"line", 3}}},
                       {"python", {{{"file", "a.py"}, {"line", 3}, {"library", false}}}},
                       {"native", {{0, "0x10"}, {-1, "0xffff"}, {7, "0x1"}}},
                       {"libraries", {{{"path", "/bin/true"}, {"build_id", "00"}}}},
                       {"first_seen", 6}})
      .add("outcome", {{"finding", 0}, {"caught", true}})
      .add("uncaught", {{"kind", "RuntimeError"}, {"text", "x"}, {"finding", 0}})
      .add("switched_off", {{"what", "w"}, {"why", "y"}, {"since", 7}})
      .add("observed", {{"operators", 9}, {"self_ns", 1}})
      .add("counts", {{"finding", 0}, {"count", 2}})
      .add("end", {{"how", "exit"}, {"code", -1}, {"ended", 8}})
      .text();
}

// Changes `text` in a few places; `sound` gives each changed line its checksum again, so that what is behind it is
// reached.
std::string mutated(std::string text, bool sound, std::mt19937& random) {
  const auto below = [&](std::size_t limit) {
    return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random);
  };
  constexpr std::string_view kTokens[] = {
      "null", "[]",      "{}", "\"\"", "-1", "1e999", "18446744073709551615", "true",
      "\xff", "\\u0000", "\n", "[[",   "}}", "0.5",   "\"cuda:0\"",           "99999999999"};
  for (std::size_t i = 1 + below(4); i-- > 0 && !text.empty();) {
    const std::size_t at = below(text.size());
    switch (below(4)) {
      case 0:
        text[at] = static_cast<char>(below(256));
        break;
      case 1:
        text.erase(at, 1 + below(40));
        break;
      case 2:
        text.insert(at, kTokens[below(std::size(kTokens))]);
        break;
      default: {
        // The value of a member, as a whole.
        const std::size_t colon = text.find(':', at), end = text.find_first_of(",}", colon);
        if (end != std::string::npos) text.replace(colon + 1, end - colon - 1, kTokens[below(std::size(kTokens))]);
      }
    }
  }
  if (!sound) return text;
  std::string again;
  while (!text.empty()) {
    const std::string line = text.substr(0, text.find('\n'));
    text.erase(0, line.size() + 1);
    const Report record = Report::parse(line, nullptr, false);
    if (!record.is_object()) continue;
    Report members = record;
    members.erase("crc");
    again += journal_line(members);
  }
  return again;
}

TEST(Journal, SurvivesAnyBytes) {
  std::mt19937 random(20261201);
  const std::string text = journal_with_everything();
  const Folder folder;
  std::size_t records = 0;
  for (int i = 0; i < 1200; ++i) {
    Recording recording;
    recording.processes.push_back(parse_journal(mutated(text, i % 2, random)));
    recording.processes.push_back(parse_journal(mutated(text, i % 2, random)));
    recording.run = parse_journal(mutated(text, true, random));
    records += recording.processes[0].records.size();
    for (const Rendered& each : render(make_report(recording), folder.path(), "json,text")) ASSERT_EQ(each.error, 0);
  }
  EXPECT_GT(records, 4000U);  // what is meant to be reached is
}

}  // namespace
}  // namespace device_audit::report
