#include "hook/text.h"

namespace device_audit::core {
namespace {

// The length of the well-formed UTF-8 sequence at the start of `text` (Unicode, table 3-7); 0: there is none.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [text](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto continues = [&](std::size_t i, unsigned lowest = 0x80, unsigned highest = 0xBF) {
    return byte(i) >= lowest && byte(i) <= highest;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return continues(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const bool second = first == 0xE0 ? continues(1, 0xA0) : first == 0xED ? continues(1, 0x80, 0x9F) : continues(1);
    return second && continues(2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const bool second = first == 0xF0 ? continues(1, 0x90) : first == 0xF4 ? continues(1, 0x80, 0x8F) : continues(1);
    return second && continues(2) && continues(3) ? 4 : 0;
  }
  return 0;
}

}  // namespace

Text& Text::quoted(std::string_view text) {
  *this << '"';
  while (!text.empty()) {
    const auto character = static_cast<std::uint8_t>(text.front());
    std::size_t length = sequence_length(text);
    if (length == 0) {
      *this << "\xEF\xBF\xBD";
      length = 1;
    } else if (character == '"' || character == '\\') {
      *this << '\\' << text.front();
    } else if (character == '\n') {
      *this << "\\n";
    } else if (character < 0x20 || character == 0x7F) {
      (*this << "\\u00").hexadecimal(&character, 1);
    } else {
      *this << std::string_view(text.data(), length);
    }
    text.remove_prefix(length);
  }
  return *this << '"';
}

}  // namespace device_audit::core
