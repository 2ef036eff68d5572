#include "report/places.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "hook/bridge.h"
#include "report/elf_file.h"
#include "report/files.h"

namespace device_audit::report {

std::filesystem::path library_folder() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path().parent_path() / "lib";
}

std::filesystem::path cache_folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache && *cache == '/') return std::filesystem::path(cache) / "device-audit";
  const char* home = std::getenv("HOME");
  if (home && *home == '/') return std::filesystem::path(home) / ".cache/device-audit";
  return {};
}

std::filesystem::path adapter_folder(const std::filesystem::path& cache, const std::string& build_id) {
  return cache / "adapters" / build_id;
}

std::string built_by() {
  return "device-audit " DEVICE_AUDIT_VERSION ", bridge " + std::to_string(DEVICE_AUDIT_BRIDGE_VERSION) + "\n";
}

bool is_of_this_version(const std::filesystem::path& folder) {
  return read_file((folder / kBuiltBy).string(), Links::refuse, 256) == built_by();
}

std::vector<AdapterFile> find_adapters(const std::string& build_id) {
  std::vector<AdapterFile> found;
  const auto look = [&](const std::filesystem::path& folder, bool in_cache) {
    const std::string path = (folder / kAdapterLibrary).string();
    struct stat status {};
    if ((in_cache ? lstat : stat)(path.c_str(), &status) != 0) return;
    AdapterFile file{path, elf_note(path, DEVICE_AUDIT_NOTE_NAME, DEVICE_AUDIT_NOTE_TORCH_BUILD_ID), ""};
    if (access(path.c_str(), R_OK) != 0) {
      file.problem = "cannot be read";
    } else if (file.built_for.empty()) {
      file.problem = "names no torch: it is damaged or no adapter";
    } else if (file.built_for != build_id) {
      file.problem = "was built for another torch, with build-id " + file.built_for;
    } else if (in_cache && status.st_uid != geteuid() && status.st_uid != 0) {
      file.problem = "belongs to another user";
    } else if (in_cache) {
      const bool marked = access((folder / kBuiltBy).c_str(), F_OK) == 0;
      if (marked && !is_of_this_version(folder)) file.problem = "was built by another version of device-audit";
    }
    found.push_back(file);
  };
  if (build_id.empty()) return found;
  // The core goes by the file's own name, without links.
  std::error_code error;
  const auto core = std::filesystem::canonical(library_folder() / kCoreLibrary, error);
  look(error ? library_folder() : core.parent_path(), false);
  if (const auto cache = cache_folder(); !cache.empty()) look(adapter_folder(cache, build_id), true);
  return found;
}

std::filesystem::path simulated_folder_in(const std::filesystem::path& cache) {
  return cache / "simulated-runtime";
}

std::filesystem::path simulated_folder() {
  const auto is_whole = [](const std::filesystem::path& folder, bool in_cache) {
    return std::all_of(std::begin(kSimulatedLibraries), std::end(kSimulatedLibraries), [&](const char* name) {
      struct stat status {};
      const std::string path = (folder / name).string();
      if ((in_cache ? lstat : stat)(path.c_str(), &status) != 0 || access(path.c_str(), R_OK) != 0) return false;
      return !in_cache || status.st_uid == geteuid() || status.st_uid == 0;
    });
  };
  if (auto folder = library_folder(); is_whole(folder, false)) return folder;
  const auto cache = cache_folder();
  if (cache.empty() || !is_whole(simulated_folder_in(cache), true) || !is_of_this_version(simulated_folder_in(cache))) {
    return {};
  }
  return simulated_folder_in(cache);
}

}  // namespace device_audit::report
