#include "report/native_stacks.h"

#include <cstdlib>
#include <filesystem>
#include <set>
#include <utility>

#include "report/files.h"
#include "report/user_code.h"

namespace device_audit::report {
namespace {

constexpr std::size_t kLargestSource = 16 << 20;
constexpr std::size_t kLongestLine = 500;

// Line `number` of a source file without its indent; null where it cannot be read.
Json source_line(const std::string& path, std::uint64_t number) {
  const std::optional<std::string> source = read_file(path, Links::follow, kLargestSource);
  if (!source || number == 0) return nullptr;
  std::size_t start = 0;
  for (std::uint64_t line = 1; line < number; ++line) {
    start = source->find('\n', start);
    if (start == std::string::npos) return nullptr;
    ++start;
  }
  std::string code = source->substr(start, source->find('\n', start) - start);
  code.erase(0, code.find_first_not_of(" \t"));
  code.erase(code.find_last_not_of(" \t\r") + 1);
  if (code.empty() || code.size() > kLongestLine) return nullptr;
  return code;
}

using Gaps = std::set<std::pair<std::string, std::string>>;  // library, why

struct Stack {
  Json frames = Json::array();
  Json site;  // the user's innermost line, null: none
};

Json with_symbol(Json frame, const Symbol& symbol) {
  frame["function"] = symbol.function.empty() ? Json() : Json(symbol.function);
  frame["file"] = symbol.file.empty() ? Json() : Json(symbol.file);
  frame["line"] = symbol.line ? Json(symbol.line) : Json();
  frame["inlined"] = symbol.inlined;
  return frame;
}

Stack resolve(const Json& recorded, std::uint64_t time, bool lines_wanted, Symbols& symbols, Gaps& gaps) {
  Stack stack;
  for (const Json& frame : recorded) {
    const std::string library = text(frame, "library");
    const std::string build_id = text(frame, "build_id");
    const bool user_library = is_user_library(library);
    const std::uint64_t offset = std::strtoull(text(frame, "offset").c_str(), nullptr, 16);
    std::vector<Symbol> functions;
    if (!library.empty() && offset) functions = symbols.at(library, build_id, offset, time);
    const Doubt& doubt = symbols.doubt(library, build_id);
    if (functions.empty()) functions.emplace_back();
    for (const Symbol& function : functions) {
      Json resolved = with_symbol(frame, function);
      // Without a line where others have one, it is what the compiler adds to a program.
      const bool user = user_library && (function.file.empty() ? !doubt.why.empty() : is_user_source(function.file));
      resolved["user"] = user;
      if (user && stack.site.is_null() && function.line) {
        stack.site = {{"file", function.file},
                      {"line", function.line},
                      {"function", function.name},
                      {"code", source_line(function.file, function.line)}};
      }
      stack.frames.push_back(std::move(resolved));
    }
    // Lines are expected of the user's own, where no Python line says as much.
    if (!doubt.why.empty() && (doubt.functions || (user_library && lines_wanted))) gaps.insert({library, doubt.why});
  }
  return stack;
}

}  // namespace

void resolve_native_stacks(Json& report, Symbols& symbols) {
  Gaps gaps;
  for (Json& finding : report["findings"]) {
    Json& native = finding["stack"]["native"];
    const bool site_wanted = !member(finding, "site").is_object();
    Stack stack = resolve(native, number(finding, "first_seen_ns").value_or(0), site_wanted, symbols, gaps);
    native = std::move(stack.frames);
    if (site_wanted) finding["site"] = std::move(stack.site);
  }
  for (const auto& [library, why] : gaps) {
    report["coverage"]["unseen"].push_back(
        {{"what", "functions and lines in " + std::filesystem::path(library).filename().string()}, {"why", why}});
  }
}

}  // namespace device_audit::report
