#include <gtest/gtest.h>

#include "report/diagnosis.h"
#include "report/elf_file.h"
#include "report/python_environment.h"

namespace device_audit::report {
namespace {

// Everything is there, except a real GPU.
Facts whole() {
  Facts facts;
  facts.python.path = "/venv/bin/python";
  facts.python.version = "3.11.2";
  facts.python.torch = {.folder = "/venv/torch",
                        .version = "2.15.0+cu132",
                        .cuda = "13.2",
                        .library = "/venv/torch/lib/libtorch_cpu.so",
                        .build_id = "abcd",
                        .cxx11_abi = true};
  facts.python.cupti = "/venv/nvidia/cu13/lib/libcupti.so.13";
  facts.python.cuda_headers = true;
  facts.adapters = {{"/lib/libdevice_audit_torch.so", "abcd", ""}};
  facts.simulated = "/lib";
  facts.simulated_cuda = "13";
  facts.core = "/lib/libdevice_audit.so";
  return facts;
}

// What stops a run, in order.
std::vector<std::string> stops(const Facts& facts) {
  std::vector<std::string> all;
  for (const Check& each : check(facts)) {
    if (each.mark == Check::Mark::stop) all.push_back(each.what);
  }
  return all;
}

Check of(const Facts& facts, const std::string& what) {
  for (const Check& each : check(facts)) {
    if (each.what == what) return each;
  }
  return {Check::Mark::ok, what, "(left out)"};
}

using Names = std::vector<std::string>;

TEST(Doctor, SaysThatASimulatedRunWorks) {
  EXPECT_TRUE(run_would_work(check(whole())));
  EXPECT_EQ(diagnosis(whole()), R"(ok   Python          3.11.2 at /venv/bin/python
ok   torch           2.15.0+cu132 in /venv/torch, C++11 ABI, build-id abcd
ok   adapter         /lib/libdevice_audit_torch.so, built for that torch
ok   CUDA            13.2, which that torch is built with
ok   CUPTI           /venv/nvidia/cu13/lib/libcupti.so.13
ok   GPUs            no real one; run --simulate N gives N simulated ones
ok   simulated GPUs  for CUDA 13, in /lib
ok   core            /lib/libdevice_audit.so can be preloaded
ok   LD_PRELOAD      no library of others
ok   settings        the defaults; see: device-audit doctor --env
A run works: device-audit run --simulate 2 -- /venv/bin/python train.py
)");
}

TEST(Doctor, CountsRealGpus) {
  Facts facts = whole();
  facts.gpus = {"NVIDIA H200", "NVIDIA H200"};
  facts.simulated = facts.simulated_cuda = "";
  EXPECT_EQ(of(facts, "GPUs").found, "2 real: NVIDIA H200, NVIDIA H200");
  EXPECT_EQ(of(facts, "simulated GPUs").mark, Check::Mark::gap);
  EXPECT_EQ(stops(facts), Names());
  EXPECT_TRUE(diagnosis(facts).ends_with("A run works: device-audit run -- /venv/bin/python train.py\n"));
}

TEST(Doctor, LeavesOutWhatDependsOnAPython) {
  Facts facts = whole();
  facts.python = {};
  facts.python.problem = "no python3 in PATH";
  facts.adapters = {};
  EXPECT_EQ(stops(facts), Names{"Python"});
  for (const char* what : {"torch", "adapter", "CUDA", "CUPTI"}) EXPECT_EQ(of(facts, what).found, "(left out)");
}

TEST(Doctor, EachGapOfTorchStops) {
  Facts facts = whole();
  facts.python.torch = {};
  EXPECT_EQ(stops(facts), Names{"torch"});
  EXPECT_EQ(of(facts, "adapter").found, "(left out)");

  facts = whole();
  facts.python.torch.library = facts.python.torch.build_id = "";
  EXPECT_EQ(of(facts, "torch").found, "2.15.0+cu132 in /venv/torch has no lib/libtorch_cpu.so");
  EXPECT_EQ(stops(facts), Names{"torch"});

  facts = whole();
  facts.python.torch.build_id = "";
  EXPECT_EQ(stops(facts), Names{"torch"});

  facts = whole();
  facts.python.torch.cuda = "";
  EXPECT_EQ(stops(facts), Names{"CUDA"});
  EXPECT_EQ(of(facts, "CUPTI").found, "(left out)");
}

TEST(Doctor, TakesTheFirstAdapterThatFits) {
  Facts facts = whole();
  facts.adapters.insert(facts.adapters.begin(), {"/a.so", "ef", "was built for another torch, with build-id ef"});
  EXPECT_EQ(of(facts, "adapter").mark, Check::Mark::ok);
  facts.adapters.pop_back();
  facts.python.path = "/my venv/bin/python";
  EXPECT_EQ(of(facts, "adapter").found, "/a.so was built for another torch, with build-id ef");
  EXPECT_EQ(of(facts, "adapter").remedy, "run: device-audit setup --python '/my venv/bin/python'");
  facts.adapters = {};
  EXPECT_EQ(of(facts, "adapter").found, "none for that torch");
  EXPECT_EQ(stops(facts), Names{"adapter"});
}

TEST(Doctor, ASimulatedRuntimeOfAnotherCudaIsNone) {
  Facts facts = whole();
  facts.python.torch.cuda = "12.8";
  EXPECT_EQ(stops(facts), Names{"GPUs"});
  EXPECT_EQ(of(facts, "simulated GPUs").found, "for CUDA 13, in /lib, but that torch is built with CUDA 12.8");
  EXPECT_EQ(of(facts, "simulated GPUs").remedy, "use a torch built with CUDA 13");
  facts.gpus = {"NVIDIA H200"};
  EXPECT_EQ(stops(facts), Names());
}

TEST(Doctor, NamesWhatTheLoaderSaysOfTheCore) {
  Facts facts = whole();
  facts.core_problem = "version `GLIBC_2.99' not found";
  EXPECT_EQ(stops(facts), Names{"core"});
  EXPECT_EQ(of(facts, "core").found, "/lib/libdevice_audit.so: version `GLIBC_2.99' not found");
}

TEST(Doctor, LooksAtEachPreloadAndVariable) {
  Facts facts = whole();
  facts.preloads = {{"libjemalloc.so.2", false}, {"/gone.so", true}};
  facts.variables = {{"DEVICE_AUDIT_LOG", "off"},
                     {"DEVICE_AUDIT_MODE", "fast"},
                     {"DEVICE_AUDIT_MODES", "full"},
                     {"DEVICE_AUDIT_RUN", ""}};
  EXPECT_EQ(stops(facts), Names());
  const std::string text = diagnosis(facts);
  for (const char* line :
       {"ok   LD_PRELOAD      libjemalloc.so.2 is kept, behind device-audit's own\n",
        "gap  LD_PRELOAD      /gone.so is not there: the loader says so in every process; take it out of LD_PRELOAD\n",
        "gap  settings        DEVICE_AUDIT_MODE=fast is ignored: accepted is full, adaptive, errors; used is full\n",
        "gap  settings        DEVICE_AUDIT_MODES=full is ignored: no such setting; see: device-audit doctor --env\n",
        "ok   settings        DEVICE_AUDIT_LOG=off, DEVICE_AUDIT_RUN=\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  }
  facts.variables = {{"DEVICE_AUDIT", "0"}};
  EXPECT_EQ(stops(facts), Names{"settings"});
}

TEST(Doctor, ListsEverySettingWithWhatHolds) {
  const std::string text =
      settings_in_force({{"DEVICE_AUDIT_LOG", "off"}, {"DEVICE_AUDIT_MODE", "fast"}, {"DEVICE_AUDIT_X", "1"}});
  for (const char* line :
       {"variable                      in force                     default\n",
        "DEVICE_AUDIT_LOG              off                          warn                          set\n",
        "DEVICE_AUDIT_MODE             full                         full                          fast is not "
        "accepted\n",
        "DEVICE_AUDIT_SIMULATE         0                            0\n",
        "DEVICE_AUDIT_X                no such setting\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  }
}

TEST(PythonEnvironment, ReadsVersionsAsText) {
  const std::string text =
      "from typing import Optional\n\n__all__ = ['__version__', 'cuda']\n__version__ = '2.15.0+cu132'\ndebug = False\n"
      "cuda: Optional[str] = '13.2'\ncuda_more = 'no'\nhip: Optional[str] = None\nlast = \"open";
  EXPECT_EQ(assigned(text, "__version__"), "2.15.0+cu132");
  EXPECT_EQ(assigned(text, "cuda"), "13.2");
  EXPECT_EQ(assigned(text, "hip"), "");
  EXPECT_EQ(assigned(text, "debug"), "");
  EXPECT_EQ(assigned(text, "last"), "open");
  EXPECT_EQ(assigned(text, "absent"), "");
  EXPECT_EQ(assigned("", "cuda"), "");
}

TEST(ElfFile, ReadsTheBuildId) {
  EXPECT_EQ(elf_build_id(FIXTURE_LIBRARY), FIXTURE_BUILD_ID);
  EXPECT_EQ(elf_build_id(FIXTURE_WITHOUT_ID), "");
  EXPECT_EQ(elf_build_id("/dev/null"), "");
  EXPECT_EQ(elf_build_id(FIXTURE_SOURCE), "");
  EXPECT_EQ(has_cxx11_abi(FIXTURE_LIBRARY), std::nullopt);
}

}  // namespace
}  // namespace device_audit::report
