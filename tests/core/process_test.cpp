// Who the process is and where it writes: the family of forks, the run's directory, the settings, what is said.
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>

#include <cstring>
#include <regex>

#include "core_test.h"
#include "hook/elf.h"
#include "hook/file.h"
#include "hook/job.h"
#include "hook/loader_call.h"
#include "hook/mappings.h"

namespace device_audit::core {
namespace {

TEST_F(Core, EachProcessOfAFamilyHasItsNumber) {
  in_process([] {
    const std::uint32_t mine = process_number();
    EXPECT_NE(mine, 0u);
    EXPECT_EQ(process_number(), mine);
    EXPECT_EQ(status_of_child([mine] {
                const std::uint32_t childs = process_number();
                EXPECT_NE(childs, mine);
                EXPECT_EQ(status_of_child([=] {
                            EXPECT_NE(process_number(), mine);
                            EXPECT_NE(process_number(), childs);
                          }),
                          0);
                EXPECT_EQ(identity.pid, getpid());
                EXPECT_EQ(identity.parent, getppid());
                EXPECT_TRUE(identity.forked);
              }),
              0);
    EXPECT_EQ(process_number(), mine);
    EXPECT_FALSE(identity.forked);
  });
}

std::string expanded(std::string_view pattern) {
  FixedText<PATH_MAX> path;
  expand_pattern(pattern, path);
  return std::string(path.view());
}

TEST(Directory, PatternIsExpanded) {
  setenv("RANK", "3", 1);
  setenv("WORLD_SIZE", "8", 1);
  const std::string pid = std::to_string(getpid());
  EXPECT_EQ(expanded("/a/%p-%r%%%x%"), "/a/" + pid + "-3%%x%");
  EXPECT_EQ(expanded("out"), std::filesystem::current_path() / "out");
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  EXPECT_EQ(expanded("/%h"), std::string("/") + host);
  const time_t now = time(nullptr);
  char text[32];
  std::strftime(text, sizeof text, "/%Y%m%d-%H%M%S", gmtime(&now));
  const std::string ours = expanded("/%t");
  EXPECT_EQ(ours.size(), std::strlen(text));
  EXPECT_LE(std::string(text), ours) << "the second may have changed between the two";
  EXPECT_EQ(ours.substr(0, 12), std::string(text).substr(0, 12));
  EXPECT_EQ(job_size(), 8u);
  setenv("WORLD_SIZE", "many", 1);
  EXPECT_EQ(job_size(), std::nullopt);
  unsetenv("RANK");
  EXPECT_EQ(job_rank(), std::nullopt);
  EXPECT_EQ(job_size(), std::nullopt);
}

TEST_F(Core, ADirectoryIsMadeWithWhatIsAboveIt) {
  const auto path = folder / "a" / "b";
  EXPECT_EQ(make_directory(path.c_str()), nullptr);
  EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms(0700));
  EXPECT_EQ(make_directory(path.c_str()), nullptr) << "it may be there already";
}

TEST_F(Core, ADirectoryThatIsNotOursIsRefused) {
  std::filesystem::create_directory(folder / "real");
  std::filesystem::create_directory_symlink(folder / "real", folder / "link");
  EXPECT_STREQ(make_directory((folder / "link").c_str()), "it is a symbolic link, which is not followed");
  EXPECT_EQ(make_directory((folder / "link" / "inside").c_str()), nullptr) << "above it links are followed";
  std::ofstream(folder / "file") << "text";
  EXPECT_STREQ(make_directory((folder / "file").c_str()), "a part of the path is no folder");
  EXPECT_NE(make_directory("/proc/nothing/here"), nullptr);
  if (geteuid() == 0) {
    std::filesystem::create_directory(folder / "theirs");
    ASSERT_EQ(chown((folder / "theirs").c_str(), 12345, 12345), 0);
    EXPECT_STREQ(make_directory((folder / "theirs").c_str()), "it belongs to another user");
  }
}

// Maps a file as the core and its counts are mapped.
void map_file(const std::filesystem::path& path) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path) << std::string(4096, ' ');
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_NE(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
  close(fd);
}

TEST_F(Core, TheDirectoryOfTheOldestAncestorIsTaken) {
  EXPECT_EQ(status_of_child([this] {
              map_file(folder / "libdevice_audit.so");
              map_file(folder / "user.counts");  // the program's own
              map_file(folder / "run" / "17-2.counts");
              EXPECT_EQ(status_of_child([this] {
                          map_file(folder / "younger" / "18.counts");
                          EXPECT_EQ(status_of_child([this] {
                                      Text(configuration.output, sizeof configuration.output) << "made";
                                      FixedText<1024> why;
                                      find_directory(why);
                                      EXPECT_EQ(run_directory.path, (folder / "run").string());
                                      EXPECT_FALSE(run_directory.owned);
                                      EXPECT_FALSE(run_directory.oldest);
                                      Text(configuration.run, sizeof configuration.run) << (folder / "given").string();
                                      find_directory(why);
                                      EXPECT_EQ(run_directory.path, (folder / "given").string());
                                      EXPECT_FALSE(run_directory.owned);
                                      EXPECT_EQ(why.size(), 0u);
                                    }),
                                    0);
                        }),
                        0);
            }),
            0);
}

TEST_F(Core, WithoutAnAncestorADirectoryIsMade) {
  EXPECT_EQ(status_of_child([this] {
              Text(configuration.output, sizeof configuration.output) << (folder / "made-%p").string();
              FixedText<1024> why;
              find_directory(why);
              EXPECT_EQ(run_directory.path, (folder / "made-").string() + std::to_string(getpid()));
              EXPECT_TRUE(run_directory.owned);
              EXPECT_TRUE(run_directory.oldest);
              Text(configuration.output, sizeof configuration.output) << "/proc/nothing";
              find_directory(why);
              EXPECT_STREQ(run_directory.path, "");
              EXPECT_FALSE(run_directory.owned);
              EXPECT_NE(why.view().find("/proc/nothing cannot be used"), std::string_view::npos) << why.c_str();
              EXPECT_NE(why.view().find("DEVICE_AUDIT_OUTPUT"), std::string_view::npos);
            }),
            0);
}

TEST(Configuration, ReadsTheEnvironment) {
  EXPECT_EQ(status_of_child([] {
              setenv("DEVICE_AUDIT_MODE", "errors", 1);
              setenv("DEVICE_AUDIT_STACKS", "native", 1);
              setenv("DEVICE_AUDIT_MODULES", "", 1);
              setenv("DEVICE_AUDIT_SIGNAL", "SIGUSR2", 1);
              setenv("DEVICE_AUDIT_LOG", "off", 1);
              setenv("DEVICE_AUDIT_ALLOW", "/allowed", 1);
              setenv("DEVICE_AUDIT_RUN", "relative", 1);
              read_configuration();
              const device_audit_settings& parts = configuration.for_parts;
              EXPECT_TRUE(configuration.enabled);
              EXPECT_TRUE(parts.mode_errors && !parts.mode_full && !parts.mode_adaptive);
              EXPECT_TRUE(parts.stacks_native && !parts.stacks_python);
              EXPECT_FALSE(parts.modules_mismatch || parts.modules_first_forward || parts.modules_exit);
              EXPECT_EQ(parts.signal, SIGUSR2);
              EXPECT_EQ(parts.log_level, -1);
              EXPECT_STREQ(parts.allow, "/allowed");
              EXPECT_STREQ(configuration.run, "") << "only an absolute path is one for all processes";
              EXPECT_STREQ(configuration.log_file, "");
              EXPECT_STREQ(configuration.format, "html,json");
            }),
            0);
}

TEST_F(Core, NamesEachBadSettingOnce) {
  in_process([] {
    setenv("DEVICE_AUDIT_MODE", "ful", 1);
    setenv("DEVICE_AUDIT_SPEED", "9", 1);
    setenv("DEVICE_AUDIT_FORMAT", "html,pdf", 1);
    setenv("DEVICE_AUDIT_ORIGINS", "0", 1);
    setenv("DEVICE_AUDITOR", "not ours", 1);
    ::testing::internal::CaptureStderr();
    remember_stderr();
    read_configuration();
    say_bad_settings();
    const std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 3) << said;
    EXPECT_NE(said.find("DEVICE_AUDIT_MODE=ful is ignored: accepted is full, adaptive, errors. Used: full\n"),
              std::string::npos)
        << said;
    EXPECT_NE(
        said.find("DEVICE_AUDIT_FORMAT=html,pdf is ignored: accepted is html, json, text, sarif. Used: html,json"),
        std::string::npos);
    EXPECT_NE(said.find("DEVICE_AUDIT_SPEED=9 is ignored: no such setting. Known: DEVICE_AUDIT, DEVICE_AUDIT_MODE"),
              std::string::npos);
    EXPECT_TRUE(configuration.for_parts.mode_full);
    EXPECT_FALSE(configuration.for_parts.origins);
  });
}

// What a process says whose stderr was made so by `prepare`, before (at_start) or after it was first looked at.
template <typename Prepare>
void say_with(bool at_start, Prepare prepare) {
  configuration.for_parts.log_level = DEVICE_AUDIT_WARN;
  if (!at_start) remember_stderr();
  prepare();
  if (at_start) remember_stderr();
  say_line(DEVICE_AUDIT_ERROR, "said");
}

TEST_F(Core, NothingIsSaidWhereStderrWasClosedAtTheStart) {
  const auto own = folder / "own";
  EXPECT_EQ(status_of_child([&] {
              say_with(true, [] { close(2); });
              EXPECT_EQ(open(own.c_str(), O_WRONLY | O_CREAT, 0600), 2);
              say_line(DEVICE_AUDIT_ERROR, "said");
            }),
            0);
  EXPECT_EQ(content(own), "");
}

TEST_F(Core, NothingIsSaidToAFileThatTheProgramOpenedAsItsOwn) {
  const auto own = folder / "own";
  EXPECT_EQ(status_of_child([&] {
              say_with(false, [&] {
                close(2);
                EXPECT_EQ(open(own.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600), 2);
              });
            }),
            0);
  EXPECT_EQ(content(own), "");
}

TEST_F(Core, ARedirectedStderrIsFollowed) {
  const auto log = folder / "log";
  EXPECT_EQ(status_of_child(
                [&] { say_with(false, [&] { dup2(open(log.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600), 2); }); }),
            0);
  EXPECT_EQ(content(log), "said\n");
}

TEST_F(Core, ABrokenPipeRaisesNoSignal) {
  EXPECT_EQ(status_of_child([] {
              say_with(false, [] {
                int ends[2];
                ASSERT_EQ(pipe(ends), 0);
                dup2(ends[1], 2);
                close(ends[0]);
                close(ends[1]);
              });
              sigset_t pending;
              sigpending(&pending);
              EXPECT_FALSE(sigismember(&pending, SIGPIPE));
            }),
            0);
}

TEST(WriteSignals, ThoseOfTheProgramStayPending) {
  EXPECT_EQ(status_of_child([] {
              sigset_t pipe_signal;
              sigemptyset(&pipe_signal);
              sigaddset(&pipe_signal, SIGPIPE);
              sigprocmask(SIG_BLOCK, &pipe_signal, nullptr);
              raise(SIGPIPE);
              { SignalsBlocked blocked(write_signals); }
              sigset_t pending, mask;
              sigpending(&pending);
              EXPECT_TRUE(sigismember(&pending, SIGPIPE));
              sigprocmask(SIG_BLOCK, nullptr, &mask);
              EXPECT_TRUE(sigismember(&mask, SIGPIPE));
              EXPECT_FALSE(sigismember(&mask, SIGXFSZ));
            }),
            0);
}

TEST_F(Core, TheLogFileTakesWholeLines) {
  in_process([this] {
    Text(configuration.log_file, sizeof configuration.log_file) << (folder / "log").string();
    open_log();
    say_line(DEVICE_AUDIT_WARN, "one\ntwo");
    say_line(DEVICE_AUDIT_INFO, "below the level");
    EXPECT_EQ(status_of_child([] { say_line(DEVICE_AUDIT_ERROR, "of a child"); }), 0);
    EXPECT_EQ(content(folder / "log"), "one\ntwo\nof a child\n");
  });
}

TEST_F(Core, ALogFileThatIsALinkIsNotFollowed) {
  std::ofstream(folder / "precious") << "kept";
  std::filesystem::create_symlink(folder / "precious", folder / "log");
  in_process([this] {
    ::testing::internal::CaptureStderr();
    remember_stderr();
    Text(configuration.log_file, sizeof configuration.log_file) << (folder / "log").string();
    open_log();
    const std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find("symbolic link"), std::string::npos) << said;
  });
  EXPECT_EQ(content(folder / "precious"), "kept");
}

TEST(Elf, ReadsTheSameNoteInMemoryAndInTheFile) {
  BuildId mapped;
  for_each_object([&mapped](const dl_phdr_info& object) {
    mapped = build_id(object);
    return false;  // the first is the program
  });
  BuildId in_file;
  EXPECT_EQ(note_of_file("/proc/self/exe", "GNU", 3, in_file), 0);
  EXPECT_EQ(mapped.size, 20u);
  EXPECT_TRUE(mapped == in_file);
  EXPECT_EQ(note_of_file("/proc/self/exe", "device-audit", 1, in_file), 0);
  EXPECT_EQ(in_file.size, 0u);
  EXPECT_EQ(note_of_file("/nowhere", "GNU", 3, in_file), ENOENT);
  EXPECT_EQ(note_of_file("/proc/self/maps", "GNU", 3, in_file), ENOEXEC);
}

TEST(Elf, FindsFunctionsWhereTheLoaderFindsThem) {
  for (bool lock_free : {false, true}) {
    if (lock_free) find_lock_free_lookup();
    for (const char* name : {"getpid", "dlsym", "pthread_create", "__cxa_throw", "__cxa_begin_catch"}) {
      const auto wanted = reinterpret_cast<std::uintptr_t>(dlsym(RTLD_DEFAULT, name));
      EXPECT_EQ(exported_function(object_at(wanted), name), wanted) << name;
    }
    EXPECT_EQ(object_at(8).dynamic, nullptr);
    int on_the_stack = 0;
    EXPECT_EQ(object_at(reinterpret_cast<std::uintptr_t>(&on_the_stack)).dynamic, nullptr);
  }
  for_each_object([](const dl_phdr_info& object) {
    EXPECT_EQ(exported_function(loaded_object(object), "no such function anywhere"), 0u);
    return true;
  });
  EXPECT_EQ(exported_function({}, "getpid"), 0u);
}

TEST(Mappings, FindTheProgram) {
  std::string found;
  const auto here = reinterpret_cast<std::uintptr_t>(&expanded);
  EXPECT_TRUE(for_each_mapping(0, [&](const Mapping& mapping) {
    if (here >= mapping.start && here < mapping.end) found = mapping.path;
    return true;
  }));
  EXPECT_EQ(found, std::filesystem::read_symlink("/proc/self/exe").string());
  EXPECT_FALSE(for_each_mapping(1 << 22, [](const Mapping&) { return true; }));
}

TEST(LoaderCall, IsInProgressWhileItsReturnAddressIsOnTheStack) {
  void* stack[8] = {};
  stack[6] = &stack;
  LoaderCall::begin(&stack[6]);
  EXPECT_TRUE(LoaderCall::in_progress(&stack[2]));
  EXPECT_FALSE(LoaderCall::in_progress(&stack[6])) << "the same place again: it has returned";
  EXPECT_FALSE(LoaderCall::in_progress(&stack[7]));
  stack[6] = nullptr;
  EXPECT_FALSE(LoaderCall::in_progress(&stack[2])) << "overwritten: it has returned";
  stack[6] = &stack;
  LoaderCall::end(&stack[6]);
  EXPECT_FALSE(LoaderCall::in_progress(&stack[2]));

  auto* gone = static_cast<void**>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  gone[8] = gone;
  LoaderCall::begin(gone + 8);
  EXPECT_TRUE(LoaderCall::in_progress(gone));
  munmap(gone, 4096);
  EXPECT_FALSE(LoaderCall::in_progress(gone)) << "a stack that is no longer mapped";
  LoaderCall::end(gone + 8);
}

}  // namespace
}  // namespace device_audit::core
