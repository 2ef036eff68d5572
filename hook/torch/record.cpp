#include "hook/torch/record.h"

#include <cstdio>
#include <nlohmann/json.hpp>

namespace device_audit::hook {
namespace {

using Json = nlohmann::ordered_json;

Json or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

Json json_of(const Place& place) {
  return {
      {"file", place.file}, {"line", place.line}, {"function", or_null(place.function)}, {"code", or_null(place.code)}};
}

Json json_of(const Frame& frame) {
  Json json = json_of(frame.place);
  json["library"] = frame.library;
  return json;
}

Json json_of(const Operand& operand) {
  Json json{{"argument", operand.argument}, {"position", operand.position}, {"device", operand.device}};
  json["shape"] = operand.shape ? Json(*operand.shape) : Json(nullptr);
  json["dtype"] = or_null(operand.dtype);
  json["stray"] = operand.stray;
  json["name"] = or_null(operand.name);
  json["module_path"] = or_null(operand.module_path);
  json["origin"] = nullptr;
  if (operand.origin) {
    json["origin"] = json_of(operand.origin->place);
    json["origin"]["operator"] = operand.origin->op;
  }
  json["moved"] = operand.moved ? json_of(*operand.moved) : Json(nullptr);
  return json;
}

Json json_of(const Pair& pair) {
  return {{"a", pair.a}, {"b", pair.b}};
}

Json json_of(const Library& library) {
  return {{"path", library.path}, {"build_id", or_null(library.build_id)}};
}

Json json_of(const NativeFrame& frame) {
  std::string offset(24, '\0');
  offset.resize(static_cast<std::size_t>(
      std::snprintf(offset.data(), offset.size(), "0x%zx", static_cast<std::size_t>(frame.offset))));
  return Json::array({frame.library, offset});
}

template <class T>
Json list_of(const std::vector<T>& items) {
  Json json = Json::array();
  for (const T& item : items) json.push_back(json_of(item));
  return json;
}

// The object without its braces; what is not UTF-8 (a file name can be) is replaced, since nothing may throw here.
std::string members_of(const Json& json) {
  const std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  return text.substr(1, text.size() - 2);
}

}  // namespace

std::vector<Frame> frames_of(const std::vector<python::Frame>& stack) {
  std::vector<Frame> frames;
  for (const python::Frame& frame : stack)
    frames.push_back({{frame.file, frame.line, frame.function, frame.code}, frame.library});
  return frames;
}

std::string record_of(const Finding& finding, std::optional<std::uint32_t> slot) {
  Json json{{"type", "finding"}, {"id", finding.id}};
  json["slot"] = slot ? Json(*slot) : Json(nullptr);
  json["verdict"] = to_string(finding.verdict);
  json["operator"] = finding.call.name;
  json["overload"] = or_null(finding.call.overload);
  json["chain"] = finding.call.chain;
  json["operands"] = list_of(finding.call.operands);
  json["pairs"] = list_of(finding.pairs);
  json["devices"] = finding.devices;
  json["site"] = finding.site ? json_of(*finding.site) : Json(nullptr);
  json["python"] = list_of(finding.python);
  json["native"] = list_of(finding.native);
  json["libraries"] = list_of(finding.libraries);
  json["module"] =
      finding.module ? Json{{"path", finding.module->path}, {"class", finding.module->type}} : Json(nullptr);
  json["phase"] = to_string(finding.phase);
  json["cause"] = nullptr;
  json["alternatives"] = Json::array();
  json["explanation"] = nullptr;
  json["fix"] = nullptr;
  json["legal_because"] = or_null(finding.legal_because);
  json["error"] = finding.failure ? or_null(finding.failure->text) : Json(nullptr);
  json["error_type"] = finding.failure ? or_null(finding.failure->type) : Json(nullptr);
  json["thread"] = finding.thread;
  json["first_seen"] = finding.first_seen;
  return members_of(json);
}

std::string record_of(const python::Uncaught& error, std::optional<std::uint32_t> finding) {
  Json json{{"type", "uncaught"}, {"kind", error.kind}, {"text", error.text}};
  json["stack"] = list_of(frames_of(error.stack));
  json["finding"] = finding ? Json(*finding) : Json(nullptr);
  return members_of(json);
}

}  // namespace device_audit::hook
