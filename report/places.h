// Where the libraries of device-audit lie.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace device_audit::report {

inline constexpr const char* kCoreLibrary = "libdevice_audit.so";
inline constexpr const char* kAdapterLibrary = "libdevice_audit_torch.so";
// What `run --simulate` preloads; the last is named after the CUDA that it simulates.
inline constexpr const char* kSimulatedLibraries[] = {"libdevice_audit_simulate.so",
                                                      "libdevice_audit_simulate_cupti.so"};

// The folder of the libraries: beside that of this program.
std::filesystem::path library_folder();

// The user's cache of device-audit, as the core finds it (hook/adapter.cpp); empty: no variable names one.
std::filesystem::path cache_folder();

// Where `device-audit setup` puts the adapter for the torch with this build-id.
std::filesystem::path adapter_folder(const std::filesystem::path& cache, const std::string& build_id);

// Beside what `setup` has built lies this file, which says what version of device-audit it belongs to.
inline constexpr const char* kBuiltBy = "built-by";
std::string built_by();
bool is_of_this_version(const std::filesystem::path& folder);

struct AdapterFile {
  std::string path;
  std::string built_for;  // build-id of a torch
  std::string problem;    // why the core would not take it; empty: none
};

// The adapters that are there for the torch with this build-id, in the order in which the core looks.
std::vector<AdapterFile> find_adapters(const std::string& build_id);

// The folder of the simulated runtime: that of the libraries, else the one that `setup` fills. Empty: it is not built.
std::filesystem::path simulated_folder();
std::filesystem::path simulated_folder_in(const std::filesystem::path& cache);

}  // namespace device_audit::report
