#include "report/run_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "report/files.h"
#include "report/journal.h"
#include "report/time.h"

namespace device_audit::report {
namespace {

std::string rank() {
  for (const char* variable : {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"}) {
    const char* value = std::getenv(variable);
    if (value && *value && std::strspn(value, "0123456789") == std::strlen(value)) return value;
  }
  return "0";
}

std::string replacement(char kind) {
  switch (kind) {
    case '%':
      return "%";
    case 'p':
      return std::to_string(getpid());
    case 'r':
      return rank();
    case 't':
      return for_file_name(now());
    case 'h': {
      std::string name = host();
      std::replace(name.begin(), name.end(), '/', '_');
      return name;
    }
    default:
      return {'%', kind};
  }
}

// Makes one folder and those above it. Returns 0 or an errno: EEXIST where it is there already.
int make_folder(const std::filesystem::path& path) {
  if (mkdir(path.c_str(), 0700) == 0) return 0;
  if (errno != ENOENT || !path.has_parent_path() || path.parent_path() == path) return errno;
  const int error = make_folder(path.parent_path());
  if (error && error != EEXIST) return error;
  return mkdir(path.c_str(), 0700) == 0 ? 0 : errno;
}

bool is_empty_folder_of_ours(const std::filesystem::path& path) {
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) || status.st_uid != geteuid()) return false;
  std::error_code error;
  return std::filesystem::is_empty(path, error) && !error;
}

}  // namespace

std::string expanded(std::string_view pattern) {
  std::string path;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const bool replaced = pattern[i] == '%' && i + 1 < pattern.size();
    path += replaced ? replacement(pattern[++i]) : std::string(1, pattern[i]);
  }
  return path;
}

RunDirectory make_run_directory(std::string_view pattern) {
  std::error_code failure;
  std::filesystem::path wanted = std::filesystem::absolute(expanded(pattern), failure);
  if (failure) return {"", failure.message(), false};
  wanted = wanted.lexically_normal();
  if (!wanted.has_filename()) wanted = wanted.parent_path();
  constexpr int kTries = 1000;
  for (int number = 1; number <= kTries; ++number) {
    const std::filesystem::path path = wanted.native() + (number == 1 ? "" : "-" + std::to_string(number));
    const int error = make_folder(path);
    if (error && error != EEXIST) return {"", path.string() + ": " + std::strerror(error), false};
    if (error && !is_empty_folder_of_ours(path)) {
      std::error_code unknown;
      if (number == 1 && !std::filesystem::is_directory(path, unknown)) {
        return {"", path.string() + ": it is no folder", false};
      }
      continue;
    }
    if (access(path.c_str(), W_OK | X_OK) != 0) return {"", path.string() + ": " + std::strerror(errno), false};
    return {path.string(), "", number > 1};
  }
  return {"", wanted.string() + ": it exists, and so do a thousand with a number behind it", false};
}

std::string host() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

RunJournal::RunJournal(const std::string& directory)
    : file_(open((directory + "/run.jsonl").c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW,
                 0600)) {}

RunJournal::~RunJournal() {
  if (file_ >= 0) close(file_);
}

void RunJournal::write(std::string_view type, const Report& members) {
  Report record{{"seq", sequence_++}, {"type", type}};
  record.update(members);
  if (file_ >= 0) write_all(file_, journal_line(record));
}

}  // namespace device_audit::report
