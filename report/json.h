// JSON as this folder uses it: what was read (members in a tree, so that a hostile object costs no more than n log n)
// and what is written (members in the order of the schema). Nothing here throws.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace device_audit::report {

using Json = nlohmann::json;
using Report = nlohmann::ordered_json;

// The member `name`, or a null where `object` is no object or has none.
template <class AnyJson>
const AnyJson& member(const AnyJson& object, const char* name) {
  static const AnyJson null;
  if (!object.is_object()) return null;
  const auto found = object.find(name);
  return found == object.end() ? null : *found;
}

// Its text; empty where it is no string.
template <class AnyJson>
std::string text(const AnyJson& object, const char* name) {
  const AnyJson& value = member(object, name);
  return value.is_string() ? value.template get<std::string>() : std::string();
}

// Its whole number; nothing where it is none or negative.
template <class AnyJson>
std::optional<std::uint64_t> number(const AnyJson& object, const char* name) {
  const AnyJson& value = member(object, name);
  if (value.is_number_unsigned()) return value.template get<std::uint64_t>();
  if (!value.is_number_integer() || value.template get<std::int64_t>() < 0) return std::nullopt;
  return value.template get<std::uint64_t>();
}

// The elements of a list of strings, leaving out what is none.
template <class AnyJson>
std::vector<std::string> texts(const AnyJson& object, const char* name) {
  std::vector<std::string> all;
  const AnyJson& list = member(object, name);
  if (!list.is_array()) return all;
  for (const AnyJson& each : list) {
    if (each.is_string()) all.push_back(each.template get<std::string>());
  }
  return all;
}

// As UTF-8; bytes that are not are replaced by U+FFFD.
template <class AnyJson>
std::string dumped(const AnyJson& value, int indent = -1) {
  return value.dump(indent, ' ', false, AnyJson::error_handler_t::replace);
}

}  // namespace device_audit::report
