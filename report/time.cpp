#include "report/time.h"

#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>

namespace device_audit::report {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

std::string formatted(const std::tm& time, const char* format) {
  std::array<char, 64> text{};
  return {text.data(), std::strftime(text.data(), text.size(), format, &time)};
}

}  // namespace

std::uint64_t now() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
}

std::string in_utc(std::uint64_t nanoseconds) {
  const auto seconds = static_cast<std::time_t>(nanoseconds / kSecond);
  std::tm time{};
  gmtime_r(&seconds, &time);
  std::array<char, 8> fraction{};
  std::snprintf(fraction.data(), fraction.size(), ".%03dZ", static_cast<int>(nanoseconds % kSecond / 1'000'000));
  return formatted(time, "%Y-%m-%dT%H:%M:%S") + fraction.data();
}

std::string for_file_name(std::uint64_t nanoseconds) {
  const auto seconds = static_cast<std::time_t>(nanoseconds / kSecond);
  std::tm time{};
  gmtime_r(&seconds, &time);
  return formatted(time, "%Y%m%d-%H%M%S");
}

}  // namespace device_audit::report
