// The value of LD_PRELOAD for the program.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace device_audit::report {

// `ours` in front of the entries of `given` that are not device-audit's (P20, P21).
std::string preload_value(const std::vector<std::string>& ours, std::string_view given);

// A folder by another name: the loader takes LD_PRELOAD apart at spaces and colons, and expands what follows a dollar.
class PlainPath {
 public:
  // A link in a new folder of ours where `folder` has such a character in it, else `folder` itself.
  explicit PlainPath(const std::filesystem::path& folder);
  ~PlainPath();
  PlainPath(const PlainPath&) = delete;
  PlainPath& operator=(const PlainPath&) = delete;

  const std::filesystem::path& path() const { return path_; }
  const std::string& problem() const { return problem_; }  // why there is none; empty: there is

 private:
  std::filesystem::path path_, made_;
  std::string problem_;
};

}  // namespace device_audit::report
