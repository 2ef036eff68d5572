#include "report/shape.h"

#include <algorithm>
#include <string>

#include "report/schema_text.h"

namespace device_audit::report {
namespace {

// What a description can point to or offer is followed down to one that has a type.
const Report& described(const Report& part, const Report& root) {
  const std::string reference = text(part, "$ref");
  constexpr std::string_view kDefinitions = "#/$defs/";
  if (!reference.starts_with(kDefinitions)) return part;
  return member(member(root, "$defs"), reference.substr(kDefinitions.size()).c_str());
}

bool is_of_type(const Json& value, const std::string& type) {
  if (type == "null") return value.is_null();
  if (type == "boolean") return value.is_boolean();
  if (type == "integer") return value.is_number_integer();
  if (type == "number") return value.is_number();
  if (type == "string") return value.is_string();
  if (type == "array") return value.is_array();
  return type == "object" && value.is_object();
}

bool is_one_of(const Json& value, const Report& accepted) {
  return std::any_of(accepted.begin(), accepted.end(), [&](const Report& each) { return Json(each) == value; });
}

std::vector<std::string> types_of(const Report& part) {
  if (member(part, "type").is_array()) return texts(part, "type");
  const std::string type = text(part, "type");
  return type.empty() ? std::vector<std::string>() : std::vector<std::string>{type};
}

bool fits(const Json& value, const Report& part, const Report& root) {
  const Report& plain = described(part, root);
  const Report& alternatives = member(plain, "anyOf");
  if (alternatives.is_array()) {
    return std::any_of(alternatives.begin(), alternatives.end(),
                       [&](const Report& each) { return fits(value, each, root); });
  }
  const std::vector<std::string> types = types_of(plain);
  if (!types.empty() &&
      std::none_of(types.begin(), types.end(), [&](const std::string& type) { return is_of_type(value, type); })) {
    return false;
  }
  const Report& accepted = member(plain, "enum");
  if (accepted.is_array() && !is_one_of(value, accepted)) return false;
  const Report& least = member(plain, "minimum");
  return !(least.is_number() && value.is_number() && value < Json(least));
}

Report nothing(const Report& part) {
  if (part.contains("default")) return part["default"];
  const Report& accepted = member(part, "enum");
  if (accepted.is_array() && !accepted.empty()) return is_one_of(nullptr, accepted) ? Report() : accepted.front();
  const std::vector<std::string> types = types_of(part);
  if (types.size() != 1) return nullptr;
  if (types[0] == "boolean") return false;
  if (types[0] == "integer" || types[0] == "number") return 0;
  if (types[0] == "string") return "";
  return nullptr;
}

}  // namespace

const Report& schema() {
  static const Report parsed = Report::parse(kSchemaText);
  return parsed;
}

Report shaped(const Json& value, const Report& part, const Report& root) {
  const Report& plain = described(part, root);
  if (const Report& alternatives = member(plain, "anyOf"); alternatives.is_array()) {
    const auto found = std::find_if(alternatives.begin(), alternatives.end(),
                                    [&](const Report& each) { return fits(value, each, root); });
    return found == alternatives.end() ? Report() : shaped(value, *found, root);
  }
  const std::vector<std::string> types = types_of(plain);
  const auto may_be = [&](const char* type) { return std::find(types.begin(), types.end(), type) != types.end(); };
  if (may_be("object") && member(plain, "properties").is_object()) {
    Report object = Report::object();
    for (const auto& [name, property] : plain["properties"].items()) {
      object[name] = shaped(member(value, name.c_str()), property, root);
    }
    return object;
  }
  if (may_be("object")) {
    Report object = Report::object();
    if (!value.is_object()) return object;
    for (const auto& [name, each] : value.items()) {
      if (fits(each, member(plain, "additionalProperties"), root)) object[name] = each;
    }
    return object;
  }
  if (may_be("array")) {
    Report list = Report::array();
    if (!value.is_array()) return list;
    const Report& element = member(plain, "items");
    for (const Json& each : value) {
      if (fits(each, element, root)) list.push_back(shaped(each, element, root));
    }
    return list;
  }
  return fits(value, plain, root) ? Report(value) : nothing(plain);
}

}  // namespace device_audit::report
