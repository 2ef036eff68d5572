// CRC-32 as in IEEE 802.3 and zlib, by a table made at compile time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace device_audit::core {

inline constexpr auto crc_table = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ (value & 1 ? 0xEDB88320u : 0);
    table[byte] = value;
  }
  return table;
}();

// The checksum of what `before` is that of, followed by `text`; 0 is that of nothing.
constexpr std::uint32_t crc32(std::string_view text, std::uint32_t before = 0) {
  std::uint32_t value = ~before;
  for (char c : text) value = value >> 8 ^ crc_table[(value ^ static_cast<unsigned char>(c)) & 0xFF];
  return ~value;
}

static_assert(crc32("123456789") == 0xCBF43926u, "the check value of the standard");
static_assert(crc32("6789", crc32("12345")) == crc32("123456789"));

}  // namespace device_audit::core
