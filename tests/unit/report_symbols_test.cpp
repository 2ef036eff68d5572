#include "report/symbols.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>

#include <cstdlib>
#include <fstream>

#include "report/journal.h"
#include "report/native_stacks.h"
#include "report/user_code.h"
#include "report_journals.h"

namespace device_audit::report {
namespace {

// FIXTURE_LIBRARY has its debug information with it; that of FIXTURE_BARE lies in FIXTURE_DEBUG_FOLDERS; both have the
// build-id FIXTURE_BUILD_ID, and FIXTURE_WITHOUT_ID none.

constexpr std::uint64_t kLater = ~0ULL;

void* return_address() {
  return __builtin_return_address(0);
}

// Where the innermost function of the fixture has called: an offset as the adapter records it.
std::uint64_t recorded_offset(const char* path = FIXTURE_LIBRARY) {
  void* library = dlopen(path, RTLD_NOW);
  auto* call = library ? reinterpret_cast<int (*)(void* (*)(), void**)>(dlsym(library, "fixture_call")) : nullptr;
  if (!call) return 0;
  void* address = nullptr;
  call(return_address, &address);
  link_map* map = nullptr;
  dlinfo(library, RTLD_DI_LINKMAP, &map);
  return reinterpret_cast<std::uintptr_t>(address) - map->l_addr;
}

std::uint64_t line_with(const std::string& mark) {
  std::ifstream source(FIXTURE_SOURCE);
  std::string line;
  for (std::uint64_t number = 1; std::getline(source, line); ++number) {
    if (line.find(mark) != std::string::npos) return number;
  }
  return 0;
}

TEST(Symbols, FindsInlinedFunctionsAndTheLinesOfTheirCalls) {
  Symbols symbols;
  const auto& functions = symbols.at(FIXTURE_LIBRARY, FIXTURE_BUILD_ID, recorded_offset(), kLater);
  ASSERT_EQ(functions.size(), 2U);
  EXPECT_EQ(functions[0].name, "inner");
  EXPECT_EQ(functions[0].function, "fixture::inner(void* (*)(), void**)");
  EXPECT_TRUE(functions[0].inlined);
  EXPECT_EQ(functions[0].line, line_with("// inner line"));
  EXPECT_EQ(functions[1].function, "fixture::outer(void* (*)(), void**)");
  EXPECT_EQ(functions[1].file, FIXTURE_SOURCE);
  EXPECT_EQ(functions[1].line, line_with("// outer line"));
  EXPECT_FALSE(functions[1].inlined);
  EXPECT_EQ(symbols.doubt(FIXTURE_LIBRARY, FIXTURE_BUILD_ID).why, "");
}

TEST(Symbols, FindsASeparateDebugFileByItsBuildId) {
  Symbols symbols(FIXTURE_DEBUG_FOLDERS);
  const auto& functions = symbols.at(FIXTURE_BARE, FIXTURE_BUILD_ID, recorded_offset(), kLater);
  ASSERT_EQ(functions.size(), 2U);
  EXPECT_EQ(functions[0].line, line_with("// inner line"));
}

TEST(Symbols, SaysWhatABareLibraryLacks) {
  Symbols symbols;
  const auto& functions = symbols.at(FIXTURE_BARE, FIXTURE_BUILD_ID, recorded_offset(), kLater);
  ASSERT_EQ(functions.size(), 1U);
  EXPECT_EQ(functions[0].function, "fixture::outer(void* (*)(), void**)");
  EXPECT_EQ(functions[0].file, "");
  EXPECT_EQ(symbols.doubt(FIXTURE_BARE, FIXTURE_BUILD_ID).why, "it has no debug information");
  EXPECT_FALSE(symbols.doubt(FIXTURE_BARE, FIXTURE_BUILD_ID).functions);
}

TEST(Symbols, BelievesNoOtherFile) {
  Symbols symbols;
  EXPECT_TRUE(symbols.at(FIXTURE_LIBRARY, "0123", recorded_offset(), kLater).empty());
  EXPECT_EQ(symbols.doubt(FIXTURE_LIBRARY, "0123").why, "the file has changed since the run");
  EXPECT_TRUE(symbols.at(FIXTURE_LIBRARY, "", recorded_offset(), kLater).empty());
  EXPECT_TRUE(symbols.at("/nonexistent", "", 1, kLater).empty());
  EXPECT_TRUE(symbols.doubt("/nonexistent", "").functions);
  EXPECT_TRUE(symbols.at(FIXTURE_SOURCE, "", 1, kLater).empty());
  EXPECT_EQ(symbols.doubt(FIXTURE_SOURCE, "").why, "the file is no library");
}

TEST(Symbols, WithoutBuildIdTheFileMustBeOlderThanTheRun) {
  Symbols before, after;
  const std::uint64_t offset = recorded_offset(FIXTURE_WITHOUT_ID);
  EXPECT_TRUE(before.at(FIXTURE_WITHOUT_ID, "", offset, 1).empty());
  EXPECT_EQ(before.doubt(FIXTURE_WITHOUT_ID, "").why, "the file is newer than the run and has no build-id");
  EXPECT_EQ(after.at(FIXTURE_WITHOUT_ID, "", offset, kLater).size(), 2U);
}

TEST(Symbols, ADamagedLibraryIsNoHarm) {
  const Folder folder;
  std::ifstream file(FIXTURE_LIBRARY, std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(file), {}};
  for (std::size_t size = 0; size < whole.size(); size += 1 + whole.size() / 40) {
    folder.write("cut.so", whole.substr(0, size));
    Symbols symbols;
    symbols.at(folder / "cut.so", FIXTURE_BUILD_ID, 0x1139, kLater);
  }
}

TEST(NativeStacks, TheInnermostLineOfTheUserIsTheSite) {
  const std::string offset = [] {
    char text[32];
    std::snprintf(text, sizeof text, "0x%zx", static_cast<std::size_t>(recorded_offset()));
    return std::string(text);
  }();
  Json report{{"findings",
               {{{"site", nullptr},
                 {"stack",
                  {{"native",
                    {{{"library", "/x/libc10.so"}, {"build_id", nullptr}, {"offset", "0x10"}},
                     {{"library", FIXTURE_LIBRARY}, {"build_id", FIXTURE_BUILD_ID}, {"offset", offset}},
                     {{"offset", "0x1000"}}}}}}}}},
              {"coverage", {{"unseen", Json::array()}}}};
  Symbols symbols;
  resolve_native_stacks(report, symbols);
  const Json& finding = report["findings"][0];
  EXPECT_EQ(finding["site"]["line"], line_with("// inner line"));
  EXPECT_EQ(finding["site"]["function"], "inner");
  EXPECT_EQ(finding["site"]["code"], "*address = capture();  // inner line");
  const Json& frames = finding["stack"]["native"];
  ASSERT_EQ(frames.size(), 4U);
  EXPECT_FALSE(frames[0]["user"]);
  EXPECT_TRUE(frames[1]["user"]);
  EXPECT_FALSE(frames[3]["user"]);
  ASSERT_EQ(report["coverage"]["unseen"].size(), 1U);
  EXPECT_EQ(report["coverage"]["unseen"][0]["what"], "functions and lines in libc10.so");
}

TEST(UserCode, IsWhatNobodyElseMade) {
  for (const char* theirs :
       {"/v/torch/lib/libtorch_cpu.so", "/v/libc10_cuda.so", "/lib/libc.so.6", "/usr/bin/python3.11",
        "/v/_C.cpython-311-x86_64-linux-gnu.so", "/o/lib/libdevice_audit_torch.so", ""}) {
    EXPECT_FALSE(is_user_library(theirs)) << theirs;
  }
  for (const char* mine : {"/home/user/train", "/home/user/libcustom.so", "/home/user/libcrop.so"}) {
    EXPECT_TRUE(is_user_library(mine)) << mine;
  }
  EXPECT_TRUE(is_user_source("/home/user/include/net.h"));
  EXPECT_FALSE(is_user_source("/v/torch/include/ATen/ops/add.h"));
  EXPECT_FALSE(is_user_source("/usr/include/c++/12/functional"));
}

}  // namespace
}  // namespace device_audit::report
