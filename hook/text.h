// Text in a buffer of fixed size: what does not fit is left out and `cut` says so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace device_audit::core {

class Text {
 public:
  Text(char* buffer, std::size_t capacity) : data_(buffer), capacity_(capacity) { data_[0] = '\0'; }
  Text(const Text&) = delete;
  Text& operator=(const Text&) = delete;

  // Always ends in a zero byte, which is not counted in `size`.
  const char* c_str() const { return data_; }
  std::size_t size() const { return size_; }
  bool cut() const { return cut_; }
  std::string_view view() const { return {data_, size_}; }
  void clear() { shorten(0); }
  void shorten(std::size_t size) {
    data_[size_ = size] = '\0';
    cut_ = false;
  }

  Text& operator<<(char character) { return *this << std::string_view(&character, 1); }
  Text& operator<<(const char* text) { return *this << std::string_view(text); }
  Text& operator<<(std::string_view text) {
    std::size_t length = text.size();
    if (length >= capacity_ - size_) {
      length = capacity_ - size_ - 1;
      cut_ = true;
    }
    if (length > 0) __builtin_memcpy(data_ + size_, text.data(), length);
    data_[size_ += length] = '\0';
    return *this;
  }
  Text& operator<<(std::uint64_t number) { return padded(number, 1); }
  Text& operator<<(std::uint32_t number) { return padded(number, 1); }
  Text& operator<<(int number) {
    if (number < 0) *this << '-';
    return padded(number < 0 ? -static_cast<std::uint64_t>(number) : static_cast<std::uint64_t>(number), 1);
  }
  // Decimal, with zeros in front up to `width`.
  Text& padded(std::uint64_t number, int width) {
    char digits[20];
    int start = 20;
    do {
      digits[--start] = static_cast<char>('0' + number % 10);
      number /= 10;
    } while (number != 0 || 20 - start < width);
    return *this << std::string_view(digits + start, static_cast<std::size_t>(20 - start));
  }
  Text& hexadecimal(const std::uint8_t* bytes, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      *this << "0123456789abcdef"[bytes[i] >> 4] << "0123456789abcdef"[bytes[i] & 15];
    return *this;
  }
  // As a JSON string, in quotes; bytes that are not UTF-8 become U+FFFD.
  Text& quoted(std::string_view text);
  // quoted(), or `null` for a null pointer.
  Text& quoted_or_null(const char* text) { return text ? quoted(text) : *this << "null"; }

 private:
  char* data_;
  std::size_t capacity_;
  std::size_t size_ = 0;
  bool cut_ = false;
};

template <std::size_t Capacity>
class FixedText : public Text {
 public:
  FixedText() : Text(buffer_, Capacity) {}

 private:
  char buffer_[Capacity];
};

}  // namespace device_audit::core
