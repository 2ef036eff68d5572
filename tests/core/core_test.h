// What the tests of the core share: each scenario runs in a process of its own, with an empty folder as the run's
// directory.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "hook/configuration.h"
#include "hook/directory.h"
#include "hook/process.h"
#include "hook/say.h"

namespace device_audit::core {

// What waitpid() says of a child that ran `scenario` and then ended with 0, or with 1 if an expectation failed in it.
template <typename Scenario>
int status_of_child(Scenario scenario) {
  const pid_t child = fork();
  if (child == 0) {
    scenario();
    _exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

class Core : public ::testing::Test {
 protected:
  Core() {
    std::string pattern = (std::filesystem::temp_directory_path() / "device-audit-test-XXXXXX").string();
    folder = mkdtemp(pattern.data());
  }
  ~Core() override { std::filesystem::remove_all(folder); }

  // As when a libtorch has come: identity, directory, log level.
  void start() const {
    configuration.for_parts.log_level = DEVICE_AUDIT_WARN;
    Text(run_directory.path, sizeof run_directory.path) << folder.string();
    remember_stderr();
    start_process_identity();
  }

  // In a process of its own, so that each test begins with a core that has not started.
  template <typename Scenario>
  void in_process(Scenario scenario) {
    EXPECT_EQ(status_of_child([&] {
                start();
                scenario();
              }),
              0);
  }

  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }

  std::filesystem::path folder;
};

inline std::string content(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

// CRC-32 bit by bit, as the standard defines it.
inline std::uint32_t slow_crc(std::string_view text) {
  std::uint32_t value = 0xFFFFFFFF;
  for (unsigned char byte : text) {
    for (int bit = 0; bit < 8; ++bit) {
      const bool odd = (value ^ byte >> bit) & 1;
      value >>= 1;
      if (odd) value ^= 0xEDB88320;
    }
  }
  return ~value;
}

// The records of a journal, each line of which must be whole, rightly numbered and have the right checksum.
inline std::vector<nlohmann::json> records(const std::filesystem::path& path) {
  std::vector<nlohmann::json> all;
  const std::string text = content(path);
  EXPECT_TRUE(text.empty() || text.back() == '\n') << "a torn last line in " << path;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    nlohmann::json record = nlohmann::json::parse(line, nullptr, false);
    if (record.is_discarded()) {
      ADD_FAILURE() << "no JSON: " << line;
      continue;
    }
    EXPECT_EQ(record["seq"], all.size());
    char crc[9];
    std::snprintf(crc, sizeof crc, "%08x", slow_crc(std::string_view(line).substr(line.find("\"seq\""))));
    EXPECT_EQ(record["crc"], crc);
    all.push_back(record);
  }
  return all;
}

}  // namespace device_audit::core
