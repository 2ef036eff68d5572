#include "audit/explanation.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "audit/libraries.h"

namespace device_audit {
namespace {

constexpr std::size_t kLabelWidth = 12;

std::string padded(std::string text, std::size_t width) {
  // Columns are counted in code points, so that a name in another script does not shift the row.
  const auto shown = static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
  if (shown < width) text.append(width - shown, ' ');
  return text;
}

std::string line_of(std::string_view label, std::string_view text) {
  return "  " + padded(std::string(label), kLabelWidth) + std::string(text) + "\n";
}

std::string shape_of(const Operand& operand) {
  if (!operand.shape) return "";
  std::string text = "(";
  for (std::size_t i = 0; i < operand.shape->size(); ++i) {
    if (i) text += ", ";
    text += std::to_string((*operand.shape)[i]);
  }
  return text + (operand.shape->size() == 1 ? ",)" : ")");
}

std::string_view without_namespace(std::string_view name) {
  constexpr std::string_view kAten = "aten::";
  return name.starts_with(kAten) ? name.substr(kAten.size()) : name;
}

std::string headline(const Finding& finding) {
  std::string text = "device-audit: " + std::string(to_string(finding.verdict)) + " in " + finding.call.name;
  std::string enclosing;
  for (std::size_t i = 0; i + 1 < finding.call.chain.size(); ++i) {
    if (i) enclosing += " > ";
    enclosing += without_namespace(finding.call.chain[i]);
  }
  return enclosing.empty() ? text : text + " (" + enclosing + ")";
}

std::string created(const Operand& operand, std::string_view folder) {
  if (!operand.origin) return "";
  return shown_place(operand.origin->place, folder) + " (" + operand.origin->op + ")";
}

std::string operand_table(const Finding& finding, std::string_view folder) {
  std::vector<std::array<std::string, 6>> rows{{"operand", "name", "device", "shape", "dtype", "created"}};
  for (const Operand& operand : finding.call.operands) {
    rows.push_back({operand.argument, operand.name.empty() ? operand.module_path : operand.name, operand.device,
                    shape_of(operand), operand.generator ? "generator" : operand.dtype, created(operand, folder)});
    if (operand.stray) rows.back().back() += rows.back().back().empty() ? "<- wrong" : "   <- wrong";
  }
  std::string text;
  for (const auto& row : rows) {
    std::string cells = "  " + padded(row[0], kLabelWidth);
    for (std::size_t column = 1; column < row.size(); ++column) {
      std::size_t width = 0;
      bool known = false;
      for (const auto& other : rows) {
        width = std::max(width, other[column].size());
        known = known || (&other != &rows.front() && !other[column].empty());
      }
      if (known) cells += padded(row[column], width + 2);
    }
    cells.erase(cells.find_last_not_of(' ') + 1);
    text += cells + "\n";
  }
  return text;
}

std::string python_stack(const Finding& finding, std::string_view folder) {
  std::string text;
  std::size_t folded = 0;
  const auto label = [&] { return text.empty() ? "python" : ""; };
  const auto unfold = [&] {
    if (folded)
      text += line_of(label(), "... " + std::to_string(folded) +
                                   (folded == 1 ? " frame of torch or Python" : " frames of torch or Python"));
    folded = 0;
  };
  for (const Frame& frame : finding.python) {
    if (frame.library) {
      ++folded;
      continue;
    }
    unfold();
    text += line_of(label(), padded(shown_place(frame.place, folder), 40) + "  " + frame.place.code);
  }
  unfold();
  return text;
}

std::string hexadecimal(std::uintptr_t value) {
  std::array<char, 24> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "0x%zx", static_cast<std::size_t>(value));
  return buffer.data();
}

// A demangled name without its arguments, which fill lines and say little: "at::_ops::add_Tensor::call".
std::string without_arguments(const std::string& name) {
  // The arguments begin at the parenthesis that the last one closes; "(anonymous namespace)" and "operator()" have
  // their own.
  const std::size_t close = name.rfind(')');
  if (close == std::string::npos) return name;
  int depth = 0;
  for (std::size_t at = close + 1; at-- > 0;) {
    depth += name[at] == ')' ? 1 : name[at] == '(' ? -1 : 0;
    if (depth == 0) return at == 0 ? name : name.substr(0, at);
  }
  return name;
}

// Python's own frames say nothing beside a Python stack, and what torch does not export has no name to show.
bool is_worth_showing(const Finding& finding, const NativeFrame& frame) {
  if (frame.library < 0) return !frame.function.empty();
  switch (owner_of_library(finding.libraries[static_cast<std::size_t>(frame.library)].path)) {
    case LibraryOwner::user:
      return true;
    case LibraryOwner::torch:
      return !frame.function.empty();
    default:
      return false;
  }
}

std::string native_stack(const Finding& finding) {
  constexpr std::size_t kShown = 12;
  std::string text;
  std::size_t shown = 0;
  for (const NativeFrame& frame : finding.native) {
    if (shown == kShown || !is_worth_showing(finding, frame)) continue;
    std::string where = hexadecimal(frame.offset);
    if (frame.library >= 0) {
      const std::string& path = finding.libraries[static_cast<std::size_t>(frame.library)].path;
      where = path.substr(path.rfind('/') + 1) + "+" + where;
    }
    text += line_of(shown++ ? "" : "native",
                    frame.function.empty() ? where : without_arguments(frame.function) + "  " + where);
  }
  if (finding.native.size() > shown) {
    text += line_of(shown ? "" : "native",
                    "... all " + std::to_string(finding.native.size()) + " frames are in the report");
  }
  return text;
}

}  // namespace

std::string shown_path(std::string_view path, std::string_view folder) {
  if (!folder.empty() && path.size() > folder.size() + 1 && path.starts_with(folder) && path[folder.size()] == '/') {
    return std::string(path.substr(folder.size() + 1));
  }
  return std::string(path);
}

std::string shown_place(const Place& place, std::string_view folder) {
  std::string text = shown_path(place.file, folder) + ":" + std::to_string(place.line);
  return place.function.empty() ? text : text + " in " + place.function;
}

std::string explain(const Finding& finding, std::string_view folder) {
  std::string text = headline(finding) + "\n";
  if (finding.site) {
    std::string at = "  at " + shown_place(*finding.site, folder);
    if (!finding.site->code.empty()) at += "        " + finding.site->code;
    text += at + "\n";
  }
  if (!finding.call.operands.empty()) text += operand_table(finding, folder);
  if (finding.failure) {
    const std::string& error = finding.failure->text;
    text += line_of("error", error.substr(0, error.find('\n')));
  }
  text += python_stack(finding, folder);
  text += native_stack(finding);
  text.erase(text.find_last_not_of('\n') + 1);
  return text + "\n";
}

}  // namespace device_audit
