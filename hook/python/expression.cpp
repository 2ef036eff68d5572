#include "hook/python/expression.h"

#include <algorithm>
#include <string_view>

#include "hook/python/text.h"

namespace device_audit::python {
namespace {

constexpr std::size_t kLongestKey = 80;  // bytes

bool is_digit(unsigned char c) {
  return c >= '0' && c <= '9';
}

bool is_part_of_name(unsigned char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c >= 0x80;
}

bool is_name(std::string_view text) {
  return !text.empty() && !is_digit(text[0]) && std::ranges::all_of(text, is_part_of_name);
}

bool is_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_digit);
}

std::string subscript(std::string_view key) {
  const bool is_printable = std::ranges::none_of(key, [](unsigned char c) { return c < 0x20 || c == 0x7F; });
  if (key.size() > kLongestKey || !is_printable) return "[...]";
  std::string text = "['";
  for (const char c : key) {
    if (c == '\'' || c == '\\') text += '\\';
    text += c;
  }
  return text + "']";
}

}  // namespace

std::string step_to(const Api& python, const Member& member) {
  if (!member.key) return "[" + std::to_string(member.index) + "]";
  const Reference type(python, python.PyObject_Type(member.key));
  if (python.PyType_IsSubtype(type.get(), python.PyUnicode_Type)) {
    const std::string key = text_of(python, member.key);
    if (member.role == Role::item) return subscript(key);
    if (is_name(key)) return "." + key;
    return is_number(key) ? "[" + key + "]" : subscript(key);  // a child of a Sequential, of a ModuleDict
  }
  int overflow = 0;
  const bool is_integer = type.get() == python.PyLong_Type;
  const long number = is_integer ? python.PyLong_AsLongAndOverflow(member.key, &overflow) : 0;
  return is_integer && !overflow ? "[" + std::to_string(number) + "]" : "[...]";
}

bool stands_in(std::string line, std::string expression) {
  std::ranges::replace(line, '"', '\'');
  std::ranges::replace(expression, '"', '\'');
  const auto continues_at = [&](std::size_t at) { return at < line.size() && is_part_of_name(line[at]); };
  for (std::size_t at = line.find(expression); at != std::string::npos; at = line.find(expression, at + 1)) {
    const bool begins = at == 0 || !(continues_at(at - 1) || line[at - 1] == '.');
    if (begins && !continues_at(at + expression.size())) return true;
  }
  return false;
}

}  // namespace device_audit::python
