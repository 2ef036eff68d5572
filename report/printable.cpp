#include "report/printable.h"

#include <unistd.h>

#include "report/files.h"

namespace device_audit::report {

std::string printable(std::string_view text) {
  std::string shown;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool control = (byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7f;
    // U+0080 to U+009F, which are control characters too, are 0xc2 and a byte of their own number.
    const bool high = byte == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0;
    const auto number = high ? static_cast<unsigned char>(text[++i]) : byte;
    if (control || high) {
      shown += "\\x";
      shown += "0123456789abcdef"[number >> 4];
      shown += "0123456789abcdef"[number & 15];
    } else {
      shown += text[i];
    }
  }
  return shown;
}

void say(std::string_view text) {
  write_all(STDERR_FILENO, "device-audit: " + printable(text) + "\n");
}

}  // namespace device_audit::report
