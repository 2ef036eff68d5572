#include "hook/journal.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <algorithm>
#include <thread>

#include "core_test.h"
#include "hook/file.h"

namespace device_audit::core {
namespace {

std::string journal_name(int pid = getpid()) {
  return std::to_string(pid) + ".jsonl";
}

std::string record_of_size(std::size_t size) {
  return "\"type\":\"test\",\"text\":\"" + std::string(size, 'x') + "\"";
}

TEST_F(Core, WritesTheProcessFirstThenWhatItIsGiven) {
  in_process([this] {
    EXPECT_EQ(append_record("\"type\":\"one\""), 0);
    set_runtime_record("\"type\":\"runtime\"");
    EXPECT_EQ(append_record("\"type\":\"two\",\"text\":\"\xC3\xA4\""), 0);
    const auto all = records(folder / journal_name());
    ASSERT_EQ(all.size(), 3u);
    EXPECT_EQ(all[0]["type"], "process");
    EXPECT_EQ(all[0]["journal"], 1);
    EXPECT_EQ(all[0]["pid"], getpid());
    EXPECT_EQ(all[0]["parent"], getppid());
    EXPECT_EQ(all[0]["forked"], false);
    EXPECT_FALSE(all[0]["command"].empty());
    EXPECT_EQ(all[0]["executable"], std::filesystem::read_symlink("/proc/self/exe").string());
    const auto now = std::chrono::system_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
    EXPECT_NEAR(static_cast<double>(all[0]["started"]), static_cast<double>(now), 60e9);
    EXPECT_EQ(all[1]["type"], "one");
    EXPECT_EQ(all[2]["text"], "\xC3\xA4");
    EXPECT_EQ(std::filesystem::status(folder / journal_name()).permissions(), std::filesystem::perms(0600));
  });
}

TEST_F(Core, TakesAnotherNameWhereItsOwnIsTaken) {
  in_process([this] {
    std::ofstream(folder / journal_name()) << "of an earlier process";
    std::filesystem::create_symlink("/etc/passwd", folder / (std::to_string(getpid()) + "-2.jsonl"));
    EXPECT_EQ(append_record("\"type\":\"one\""), 0);
    EXPECT_EQ(content(folder / journal_name()), "of an earlier process");
    const std::string third = std::to_string(getpid()) + "-3";
    EXPECT_EQ(records(folder / (third + ".jsonl")).size(), 2u);
    EXPECT_TRUE(std::filesystem::exists(folder / (third + ".counts")));
  });
}

TEST_F(Core, TwoProcessesOfOnePidHaveAPairEach) {
  // In a pid namespace of its own each is process 1, as in two containers that share a directory.
  for (int i = 0; i < 2; ++i) {
    const int status = status_of_child([this] {
      if (unshare(CLONE_NEWPID) != 0) _exit(77);
      EXPECT_EQ(status_of_child([this] {
                  start();
                  EXPECT_EQ(getpid(), 1);
                  EXPECT_EQ(append_record("\"type\":\"one\""), 0);
                }),
                0);
    });
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) GTEST_SKIP() << "a pid namespace needs root";
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(files(), (std::vector<std::string>{"1-2.counts", "1-2.jsonl", "1.counts", "1.jsonl"}));
}

TEST_F(Core, AForkedChildHasAPairOfItsOwnFromItsFirstEventOn) {
  in_process([this] {
    std::uint32_t slot = 0;
    set_runtime_record("\"type\":\"runtime\"");
    append_record("\"type\":\"one\"");
    std::uint64_t* counters = take_counters(4, &slot);
    ASSERT_NE(counters, nullptr);
    *counters = 5;
    const int parent = getpid();
    EXPECT_EQ(status_of_child([] { EXPECT_FALSE(has_journal()); }), 0);
    EXPECT_EQ(files().size(), 2u);
    EXPECT_EQ(status_of_child([this, parent] {
                EXPECT_EQ(append_record("\"type\":\"of the child\""), 0);
                const auto all = records(folder / journal_name());
                ASSERT_EQ(all.size(), 3u);
                EXPECT_EQ(all[0]["parent"], parent);
                EXPECT_EQ(all[0]["forked"], true);
                EXPECT_EQ(all[1]["type"], "runtime");
                std::uint32_t slot = 0;
                std::uint64_t* counters = take_counters(4, &slot);
                ASSERT_NE(counters, nullptr);
                EXPECT_EQ(*counters, 0u);
                *counters = 9;
              }),
              0);
    EXPECT_EQ(files().size(), 4u);
    EXPECT_EQ(*counters, 5u);
    EXPECT_EQ(append_record("\"type\":\"of the parent again\""), 0);
    EXPECT_EQ(records(folder / journal_name()).size(), 4u);
  });
}

TEST_F(Core, AGrandchildNamesItsOwnParent) {
  in_process([this] {
    append_record("\"type\":\"one\"");
    EXPECT_EQ(status_of_child([this] {
                const int silent = getpid();
                EXPECT_EQ(status_of_child([this, silent] {
                            append_record("\"type\":\"one\"");
                            EXPECT_EQ(records(folder / journal_name())[0]["parent"], silent);
                          }),
                          0);
              }),
              0);
  });
}

TEST_F(Core, AChildByCloneAloneIsToldFromItsParent) {
  in_process([this] {
    append_record("\"type\":\"one\"");
    const int parent = getpid();
    const std::uint32_t number = process_number();
    const auto child = static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr));
    if (child == 0) {
      const bool told = process_number() != number && !has_journal() && append_record("\"type\":\"one\"") == 0;
      const auto all = records(folder / journal_name());
      _exit(told && all.size() == 2 && all[0]["parent"] == parent && all[0]["forked"] == true ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(process_number(), number);
    EXPECT_EQ(records(folder / journal_name()).size(), 2u);
  });
}

TEST_F(Core, AVforkChildWritesNothing) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "vfork is fork under this sanitizer";
#endif
  in_process([this] {
    append_record("\"type\":\"one\"");
    const pid_t child = vfork();
    if (child == 0) {
      const bool refused = !has_journal() && append_record("\"type\":\"wrong\"") != 0;
      _exit(refused ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(append_record("\"type\":\"two\""), 0);
    EXPECT_EQ(records(folder / journal_name()).size(), 3u);
    EXPECT_EQ(files().size(), 2u);
  });
}

TEST_F(Core, ThreadsWriteWhileTheProcessForks) {
  in_process([this] {
    constexpr int writers = 4, each = 300, forks = 60;
    std::vector<std::thread> threads;
    for (int i = 0; i < writers; ++i) {
      threads.emplace_back([] {
        for (int k = 0; k < each; ++k) EXPECT_EQ(append_record("\"type\":\"thread\""), 0);
      });
    }
    for (int i = 0; i < forks; ++i) {
      EXPECT_EQ(status_of_child([] { EXPECT_EQ(append_record("\"type\":\"child\""), 0); }), 0);
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(records(folder / journal_name()).size(), 1u + writers * each);
    EXPECT_EQ(files().size(), 2u * (1 + forks));
    for (const std::string& name : files()) {
      if (name.ends_with(".jsonl")) records(folder / name);
    }
  });
}

TEST_F(Core, AKilledProcessLeavesAtMostATornLastLine) {
  const int status = status_of_child([this] {
    start();
    append_record("\"type\":\"one\"");
    std::thread([] {
      for (;;) append_record(record_of_size(2000));
    }).detach();
    usleep(20'000);
    raise(SIGKILL);
  });
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
  std::string text = content(folder / files().back());
  text.resize(text.rfind('\n') + 1);
  std::ofstream(folder / "whole.jsonl") << text;
  EXPECT_GT(records(folder / "whole.jsonl").size(), 2u);
}

TEST_F(Core, TheLimitOnFileSizesEndsTheJournalAndNotTheProcess) {
  in_process([this] {
    append_record("\"type\":\"one\"");
    const rlimit limit{20'000, 20'000};
    setrlimit(RLIMIT_FSIZE, &limit);
    ::testing::internal::CaptureStderr();
    remember_stderr();
    int written = 0;
    while (append_record(record_of_size(3000)) == 0) ++written;
    EXPECT_EQ(written, 6);
    EXPECT_NE(append_record("\"type\":\"small\""), 0) << "a record after a lost one would hide the loss";
    sigset_t pending;
    sigpending(&pending);
    EXPECT_FALSE(sigismember(&pending, SIGXFSZ));
    const rlimit large{1 << 20, 20'000};
    setrlimit(RLIMIT_FSIZE, &large);
    const std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find("ulimit -f"), std::string::npos) << said;
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1);
    EXPECT_EQ(records(folder / journal_name()).size(), 8u);
  });
}

TEST_F(Core, WithoutRoomForCountsThereAreNone) {
  in_process([this] {
    const rlimit limit{64 * 1024, 64 * 1024};
    setrlimit(RLIMIT_FSIZE, &limit);
    std::uint32_t slot = 0;
    EXPECT_EQ(take_counters(4, &slot), nullptr);
    EXPECT_EQ(append_record("\"type\":\"one\""), 0);
    EXPECT_EQ(files(), std::vector<std::string>{journal_name()});
  });
}

TEST_F(Core, AFullDiskEndsTheJournalAtAWholeLine) {
  const int status = status_of_child([this] {
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("none", folder.c_str(), "tmpfs", 0, "size=160k") != 0) {
      _exit(77);
    }
    start();
    ::testing::internal::CaptureStderr();
    remember_stderr();
    std::uint32_t slot = 0;
    std::uint64_t* counters = take_counters(4, &slot);
    ASSERT_NE(counters, nullptr);
    int error = 0;
    for (int i = 0; i < 100 && error == 0; ++i) error = append_record(record_of_size(3000));
    EXPECT_EQ(error, ENOSPC);
    *counters = 3;  // its space is reserved
    const std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find("no space left on the device"), std::string::npos) << said;
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1);
    EXPECT_GT(records(folder / journal_name()).size(), 5u);
  });
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) GTEST_SKIP() << "mounting needs root";
  EXPECT_EQ(status, 0);
}

TEST_F(Core, ADescriptorThatTheProgramClosedAndTookIsNotWrittenTo) {
  in_process([this] {
    append_record("\"type\":\"one\"");
    const std::filesystem::path own = folder / "the program's";
    syscall(SYS_close_range, 3, ~0u, 0);
    for (int fd = open(own.c_str(), O_WRONLY | O_CREAT, 0600); fd >= 0 && fd < 1000;) fd = dup(fd);
    EXPECT_EQ(append_record("\"type\":\"two\""), 0);
    EXPECT_EQ(content(own), "");
    EXPECT_EQ(records(folder / journal_name()).size(), 3u);
  });
}

TEST_F(Core, AJournalThatWasReplacedIsNotWrittenTo) {
  in_process([this] {
    append_record("\"type\":\"one\"");
    syscall(SYS_close_range, 3, ~0u, 0);
    std::filesystem::rename(folder / journal_name(), folder / "moved away");
    std::ofstream(folder / journal_name()) << "another";
    EXPECT_EQ(append_record("\"type\":\"two\""), ESTALE);
    EXPECT_EQ(content(folder / journal_name()), "another");
  });
}

TEST_F(Core, WithoutADirectoryNothingIsWritten) {
  in_process([] {
    run_directory.path[0] = '\0';
    std::uint32_t slot = 0;
    EXPECT_NE(append_record("\"type\":\"one\""), 0);
    EXPECT_EQ(take_counters(4, &slot), nullptr);
  });
  EXPECT_TRUE(files().empty());
}

TEST_F(Core, CountersAreAdjacentAndZeroAndEnd) {
  in_process([this] {
    std::uint32_t first = 0, second = 0;
    std::uint64_t* counters = take_counters(4, &first);
    std::uint64_t* more = take_counters(2, &second);
    ASSERT_NE(counters, nullptr);
    EXPECT_EQ(first, 8u);
    EXPECT_EQ(second, 12u);
    EXPECT_EQ(more, counters + 4);
    counters[3] = 77;
    EXPECT_EQ(take_counters(1 << 20, &first), nullptr);
    std::uint64_t taken = 0;
    while (take_counters(4, &first)) ++taken;
    EXPECT_EQ(taken, (16384u - 14) / 4);
    const std::string text = content(folder / (std::to_string(getpid()) + ".counts"));
    ASSERT_EQ(text.size(), 16384u * 8);
    EXPECT_EQ(text.substr(0, 8), "DACOUNT1");
    std::uint64_t slots[12];
    std::memcpy(slots, text.data(), sizeof slots);
    EXPECT_EQ(slots[1], 16384u);
    EXPECT_EQ(slots[11], 77u);
  });
}

TEST_F(Core, ErrnoStaysAsItWas) {
  in_process([] {
    errno = EXDEV;
    std::uint32_t slot = 0;
    append_record("\"type\":\"one\"");
    take_counters(4, &slot);
    process_number();
    EXPECT_EQ(errno, EXDEV);
  });
}

TEST(Lock, RefusesItsHolderAndWhoWaitsTooLong) {
  Lock lock;
  ASSERT_TRUE(lock.acquire(1000));
  EXPECT_FALSE(lock.acquire(1000)) << "a signal handler would wait for itself";
  std::thread([&lock] { EXPECT_FALSE(lock.acquire(20)); }).join();
  std::thread waiting([&lock] {
    EXPECT_TRUE(lock.acquire(10'000));
    lock.release();
  });
  usleep(20'000);
  lock.release();
  waiting.join();
  EXPECT_TRUE(lock.acquire(0));
}

TEST(Lock, ExcludesUnderContention) {
  Lock lock;
  long counter = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 5000; ++k) {
        ASSERT_TRUE(lock.acquire(60'000));
        ++counter;
        lock.release();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(counter, 40000);
}

}  // namespace
}  // namespace device_audit::core
