#include <gtest/gtest.h>
#include <unistd.h>

#include "report/preload.h"
#include "report/run_directory.h"
#include "report_journals.h"

namespace device_audit::report {
namespace {

TEST(Preload, PutsOursInFrontOfTheOthers) {
  EXPECT_EQ(preload_value({"/l/libdevice_audit.so"}, ""), "/l/libdevice_audit.so");
  EXPECT_EQ(preload_value({"/l/libdevice_audit.so"}, "/x/libjemalloc.so.2 : libasan.so"),
            "/l/libdevice_audit.so:/x/libjemalloc.so.2:libasan.so");
  EXPECT_EQ(preload_value({"/new/libdevice_audit.so"}, "/old/libdevice_audit.so:a.so:/old/libdevice_audit_simulate.so"),
            "/new/libdevice_audit.so:a.so");
  EXPECT_EQ(preload_value({}, "/old/libdevice_audit.so"), "");
}

TEST(PlainPath, IsALinkWhereTheLoaderWouldTakeThePathApart) {
  const Folder folder;
  EXPECT_EQ(PlainPath(folder.path()).path(), folder.path());
  folder.write("a b:c/lib/file", "content");
  std::filesystem::path link;
  {
    const PlainPath plain(folder / "a b:c/lib");
    link = plain.path();
    EXPECT_EQ(plain.problem(), "");
    EXPECT_EQ(link.string().find_first_of(" :$"), std::string::npos);
    EXPECT_TRUE(std::filesystem::exists(link / "file"));
    EXPECT_TRUE(std::filesystem::exists(link / ".." / "lib"));
  }
  EXPECT_FALSE(std::filesystem::exists(link.parent_path()));
}

TEST(RunDirectory, ExpandsThePattern) {
  const std::string pid = std::to_string(getpid());
  EXPECT_EQ(expanded("a-%p"), "a-" + pid);
  EXPECT_EQ(expanded("%%p%h"), "%p" + host());
  EXPECT_EQ(expanded("%z%"), "%z%");
  EXPECT_EQ(expanded("%t").size(), std::string("20261201-160000").size());
  setenv("RANK", "3", 1);
  EXPECT_EQ(expanded("r%r"), "r3");
  setenv("RANK", "no", 1);
  EXPECT_EQ(expanded("r%r"), "r0");
  unsetenv("RANK");
}

TEST(RunDirectory, MakesWhatIsMissingForItsOwnerAlone) {
  const Folder folder;
  const RunDirectory made = make_run_directory((folder / "a/b/").string());
  EXPECT_EQ(made.path, (folder / "a/b").string());
  EXPECT_FALSE(made.renamed);
  EXPECT_EQ(std::filesystem::status(folder / "a").permissions(), std::filesystem::perms(0700));
}

TEST(RunDirectory, MixesNoTwoRuns) {
  const Folder folder;
  std::filesystem::create_directory(folder / "run");
  EXPECT_EQ(make_run_directory((folder / "run").string()).path, (folder / "run").string());
  folder.write("run/1.jsonl", "");
  const RunDirectory second = make_run_directory((folder / "run").string());
  EXPECT_EQ(second.path, (folder / "run-2").string());
  EXPECT_TRUE(second.renamed);
  folder.write("run-2/1.jsonl", "");
  EXPECT_EQ(make_run_directory((folder / "run").string()).path, (folder / "run-3").string());
}

TEST(RunDirectory, SaysWhyThereIsNone) {
  const Folder folder;
  folder.write("file", "");
  EXPECT_EQ(make_run_directory((folder / "file").string()).problem, (folder / "file").string() + ": it is no folder");
  EXPECT_EQ(make_run_directory((folder / "file/run").string()).problem,
            (folder / "file/run").string() + ": Not a directory");
}

TEST(RunDirectory, FollowsNoLink) {
  const Folder folder;
  std::filesystem::create_directory(folder / "elsewhere");
  std::filesystem::create_directory_symlink("elsewhere", folder / "run");
  EXPECT_EQ(make_run_directory((folder / "run").string()).path, (folder / "run-2").string());
}

TEST(RunJournal, IsReadable) {
  const Folder folder;
  {
    RunJournal journal(folder.path());
    journal.write("run", {{"command", {"a\n\xff"}}});
    journal.write("ended", {{"exit", 0}});
  }
  const Recording recording = read_recording(folder.path());
  ASSERT_TRUE(recording.run);
  EXPECT_EQ(recording.run->records.size(), 2U);
  EXPECT_EQ(recording.run->damaged, 0U);
}

}  // namespace
}  // namespace device_audit::report
