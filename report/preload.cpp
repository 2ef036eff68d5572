#include "report/preload.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace device_audit::report {
namespace {

bool is_plain(std::string_view path) {
  return path.find_first_of(" :$\t\n") == std::string_view::npos;
}

}  // namespace

std::string preload_value(const std::vector<std::string>& ours, std::string_view given) {
  std::string value;
  const auto add = [&](std::string_view entry) { value.append(value.empty() ? "" : ":").append(entry); };
  for (const std::string& library : ours) add(library);
  while (!given.empty()) {
    const std::string_view entry = given.substr(0, given.find_first_of(": "));
    given.remove_prefix(std::min(entry.size() + 1, given.size()));
    const bool is_ours = entry.substr(entry.rfind('/') + 1).starts_with("libdevice_audit");
    if (!entry.empty() && !is_ours) add(entry);
  }
  return value;
}

PlainPath::PlainPath(const std::filesystem::path& folder) : path_(folder) {
  if (is_plain(folder.native())) return;
  std::error_code error;
  std::filesystem::path temporary = std::filesystem::temp_directory_path(error);
  if (error || !is_plain(temporary.native())) temporary = "/tmp";
  std::string pattern = (temporary / "device-audit-XXXXXX").string();
  if (!mkdtemp(pattern.data())) {
    problem_ = "cannot make a folder in " + temporary.string() + ": " + std::strerror(errno);
    return;
  }
  made_ = pattern;
  path_ = made_ / "lib";
  if (symlink(folder.c_str(), path_.c_str()) != 0) {
    problem_ = "cannot make the link " + path_.string() + ": " + std::strerror(errno);
  }
}

PlainPath::~PlainPath() {
  if (made_.empty()) return;
  unlink(path_.c_str());
  rmdir(made_.c_str());
}

}  // namespace device_audit::report
