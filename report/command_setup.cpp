// device-audit setup [--python PYTHON] [--force]
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <CLI/Option.hpp>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

#include "report/child.h"
#include "report/commands.h"
#include "report/files.h"
#include "report/places.h"
#include "report/printable.h"
#include "report/python_environment.h"

namespace device_audit::report {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSource = DEVICE_AUDIT_SOURCE;
constexpr const char* kSimulatedTargets[] = {"device_audit_simulate", "device_audit_simulate_nvml",
                                             "device_audit_simulate_cupti"};
constexpr const char* kNameOfNvml = "libdevice_audit_simulate_nvml.so";
constexpr const char* kLibraryOfTriton = "simulated/libcuda.so.1";  // a link to the first (simulate/CMakeLists.txt)

struct Arguments {
  std::string python;
  bool force = false;
};

// What of the source goes into the adapter is older than the file at `built`.
bool is_newer_than_source(const fs::path& built) {
  std::error_code error;
  const auto time = fs::last_write_time(built, error);
  if (error) return false;
  for (const char* part : {"audit", "hook"}) {
    for (fs::recursive_directory_iterator each(fs::path(kSource) / part, error), end; !error && each != end;
         each.increment(error)) {
      if (each->is_regular_file(error) && each->last_write_time(error) > time) return false;
    }
  }
  return true;
}

// The adapter that the core takes for that torch, if it need not be built again; empty: none.
std::string adapter_in_place(const std::string& build_id, const fs::path& cached) {
  for (const AdapterFile& each : find_adapters(build_id)) {
    if (!each.problem.empty()) continue;
    const bool in_cache = each.path == (cached / kAdapterLibrary).string();
    if (!in_cache) return each.path;  // built with the core
    return is_newer_than_source(each.path) ? each.path : "";
  }
  return "";
}

// The programs that the build needs and PATH has not, with what stands for each.
std::string missing_programs() {
  const struct {
    const char* what;
    const char* variable;  // names it instead
    std::vector<const char*> names;
  } needed[] = {{"a C++ compiler (g++ or clang++)", "CXX", {"c++", "g++", "clang++"}},
                {"a C compiler (gcc or clang)", "CC", {"cc", "gcc", "clang"}},
                {"cmake", nullptr, {"cmake"}},
                {"ninja", nullptr, {"ninja", "ninja-build"}},
                {"readelf (binutils)", nullptr, {"readelf"}}};
  std::string missing;
  for (const auto& each : needed) {
    bool found = each.variable && std::getenv(each.variable);
    for (const char* name : each.names) found = found || !find_program(name).empty();
    if (!found) missing += (missing.empty() ? "" : ", ") + std::string(each.what);
  }
  return missing;
}

// Waits until no other `setup` builds there. The lock goes with the process.
int lock(const fs::path& path) {
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return errno;
  while (flock(file, LOCK_EX) != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

class Build {
 public:
  // In `folder`, for that torch; the output goes into a file beside it.
  Build(fs::path folder, const PythonEnvironment& python)
      : folder_(std::move(folder)), log_(folder_.string() + ".log") {
    std::error_code error;
    fs::remove_all(folder_, error);  // of one that was interrupted
    fs::remove(log_, error);
    std::vector<std::string> arguments = {"cmake",
                                          "-G",
                                          "Ninja",
                                          "-S",
                                          kSource,
                                          "-B",
                                          folder_.string(),
                                          "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
                                          "-DDEVICE_AUDIT_PYTHON=" + python.path};
    // The adapter shares std::string with torch.
    if (python.torch.cxx11_abi == false) arguments.emplace_back("-DCMAKE_CXX_FLAGS=-D_GLIBCXX_USE_CXX11_ABI=0");
    ready_ = run(arguments);
  }
  ~Build() {
    std::error_code error;
    fs::remove_all(folder_, error);
    if (!failed_) fs::remove(log_, error);
  }
  Build(const Build&) = delete;
  Build& operator=(const Build&) = delete;

  bool ready() const { return ready_; }

  bool has(const std::string& target) const {
    const std::string ninja = find_program("ninja").empty() ? "ninja-build" : "ninja";
    return ask({ninja, "-C", folder_.string(), "-t", "query", target}, clean_environment(), std::chrono::seconds(60))
               .code == 0;
  }

  bool make(const std::vector<std::string>& targets) {
    std::vector<std::string> arguments = {"cmake", "--build", folder_.string(), "--target"};
    arguments.insert(arguments.end(), targets.begin(), targets.end());
    return run(arguments);
  }

  // Moves a file that was built to where it stays; both are in the cache, so it is there whole or not at all.
  bool install(const std::string& name, const fs::path& to) {
    std::error_code error;
    fs::create_directories((to / name).parent_path(), error);
    if (!error) fs::rename(folder_ / "lib" / name, to / name, error);
    if (error) say("cannot put " + name + " into " + to.string() + ": " + error.message());
    return !error;
  }

 private:
  bool run(const std::vector<std::string>& arguments) {
    const Answer answer = run_into(log_, arguments, clean_environment());
    if (answer.error == 0 && answer.code == 0) return true;
    failed_ = true;
    if (answer.error) {
      say(arguments.front() + " cannot be started: " + std::strerror(answer.error));
      return false;
    }
    const std::string text = read_file(log_, Links::refuse).value_or("");
    std::size_t start = text.size();
    for (int lines = 0; lines < 20 && start != std::string::npos && start > 0; ++lines) {
      start = text.rfind('\n', start - 2 < text.size() ? start - 2 : 0);
    }
    write_all(2, printable(text.substr(start == std::string::npos ? 0 : start + 1)));
    say("the build failed; all of its output is in " + log_);
    return false;
  }

  fs::path folder_;
  std::string log_;
  bool ready_ = false, failed_ = false;
};

// Why setup cannot work; empty: it can.
std::string obstacle(const PythonEnvironment& python, const fs::path& cache) {
  const std::string where = "in " + python.torch.folder;
  if (!python.problem.empty()) return python.problem + "; name another with --python";
  if (python.torch.folder.empty()) {
    return python.path + " has no torch: install it there, or name another Python with --python";
  }
  if (python.torch.library.empty()) return "the torch " + where + " has no lib/libtorch_cpu.so: install it again";
  if (python.torch.build_id.empty()) {
    return "the torch " + where + " has no build-id: an adapter could not tell it from another";
  }
  if (cache.empty()) return "neither XDG_CACHE_HOME nor HOME names a folder for the adapter";
  return "";
}

// What `setup` finds again by its version.
bool stamp(const fs::path& folder) {
  const std::string path = (folder / kBuiltBy).string();
  const int error = replace_file(path, built_by());
  if (error) say("cannot write " + path + ": " + std::strerror(error));
  return !error;
}

bool build_adapter(Build& build, const fs::path& to) {
  return build.make({"device_audit_torch"}) && build.install(kAdapterLibrary, to) && stamp(to);
}

bool build_simulated(Build& build, const fs::path& to) {
  if (!build.make({std::begin(kSimulatedTargets), std::end(kSimulatedTargets)})) return false;
  bool done = build.install(kNameOfNvml, to) && build.install(kLibraryOfTriton, to);
  for (const char* library : kSimulatedLibraries) done = done && build.install(library, to);
  return done && stamp(to);
}

int setup(const Arguments& arguments) {
  const PythonEnvironment python = python_environment(arguments.python);
  const fs::path cache = cache_folder();
  if (const std::string why = obstacle(python, cache); !why.empty()) {
    say(why);
    return 1;
  }
  const std::string torch = "torch " + python.torch.version + " in " + python.torch.folder;
  const fs::path cached = adapter_folder(cache, python.torch.build_id);
  const auto in_place = [&] { return arguments.force ? "" : adapter_in_place(python.torch.build_id, cached); };
  // The one beside this command is built with it.
  const auto is_simulated = [&] {
    const fs::path folder = simulated_folder();
    return !folder.empty() && !(arguments.force && folder == simulated_folder_in(cache));
  };
  const auto print = [](const std::string& line) { return write_all(1, printable(line) + "\n"); };
  const auto say_in_place = [&](const std::string& adapter) {
    return print("already there: the adapter for " + torch + ": " + adapter);
  };

  std::string adapter = in_place();
  const bool simulated_wanted = python.cuda_headers && !is_simulated();
  if (!adapter.empty() && !simulated_wanted) return say_in_place(adapter) ? 1 : 0;

  std::error_code error;
  if (!fs::exists(fs::path(kSource) / "CMakeLists.txt", error)) {
    say(std::string("the source that this device-audit was built from is gone: ") + kSource +
        "; put it back there, or build device-audit again from where it is now");
    return 1;
  }
  if (const std::string missing = missing_programs(); !missing.empty()) {
    say("to build the adapter, PATH needs " + missing);
    return 1;
  }
  const fs::path building = cache / "building";
  fs::create_directories(building, error);
  const int refused = error ? error.value() : lock(building / (python.torch.build_id + ".lock"));
  if (refused) {
    say("cannot build in " + building.string() + ": " + std::strerror(refused));
    return 1;
  }
  adapter = in_place();  // by another setup, while this one waited

  say("building for " + torch + ", which takes a minute or two");
  Build build(building / python.torch.build_id, python);
  if (!build.ready()) return 1;
  if (!adapter.empty()) {
    say_in_place(adapter);
  } else {
    if (!build_adapter(build, cached)) return 1;
    print("the adapter for " + torch + ": " + (cached / kAdapterLibrary).string());
  }
  if (!simulated_wanted || is_simulated()) return 0;
  if (!build.has(kSimulatedTargets[0])) {
    say("simulated GPUs are left out: they are made for another version of CUDA than the headers of that Python");
    return 0;
  }
  if (!build_simulated(build, simulated_folder_in(cache))) return 1;
  print("the runtime of simulated GPUs: " + simulated_folder_in(cache).string());
  return 0;
}

}  // namespace

std::function<int()> add_setup(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* verb = app.add_subcommand("setup", "Build what a run needs for the torch of a Python, once");
  verb->add_option("--python", arguments->python, "A Python, or the folder of its venv [the active one]")
      ->type_name("PYTHON");
  verb->add_flag("--force", arguments->force, "Build again, even what is there");
  verb->footer(
      "It goes into ${XDG_CACHE_HOME:-~/.cache}/device-audit, where every run finds it.\n"
      "Exit code: 0 it is there, 1 it could not be built, 2 wrong usage.");
  return [arguments] { return setup(*arguments); };
}

}  // namespace device_audit::report
