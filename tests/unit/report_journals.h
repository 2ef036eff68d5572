// Journals for the tests of report/.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "report/journal.h"

namespace device_audit::report {

// The lines of a journal, numbered as they are added.
class Lines {
 public:
  Lines& add(const char* type, Report members = Report::object()) {
    Report record{{"seq", sequence_++}, {"type", type}};
    record.update(members);
    text_ += journal_line(record);
    return *this;
  }
  Lines& skip() {
    ++sequence_;
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  std::uint64_t sequence_ = 0;
  std::string text_;
};

// A folder that goes with its test.
class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "device-audit-test-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  std::string path() const { return path_.string(); }
  void write(const std::string& name, const std::string& content) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << content;
  }

 private:
  std::filesystem::path path_;
};

// A counts file with these slots.
inline std::string counts_file(std::vector<std::uint64_t> slots) {
  slots.insert(slots.begin(), {0x31544e554f434144, slots.size() + 2});
  std::string bytes;
  for (const std::uint64_t slot : slots) {
    for (int shift = 0; shift < 64; shift += 8) bytes += static_cast<char>(slot >> shift & 0xff);
  }
  return bytes;
}

}  // namespace device_audit::report
