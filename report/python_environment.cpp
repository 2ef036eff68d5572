#include "report/python_environment.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "report/child.h"
#include "report/elf_file.h"
#include "report/files.h"
#include "report/json.h"

namespace device_audit::report {
namespace {

// Prints one line of JSON. The current folder is taken off the path before anything is imported from there.
constexpr const char* kQuestion = R"(
import sys
if sys.path and not sys.path[0]:
    del sys.path[0]
import glob, importlib.util, json, os

def folders(package):
    spec = importlib.util.find_spec(package)
    return list(spec.submodule_search_locations or []) if spec else []

def wheel_files(pattern):
    return sorted(path for folder in folders("nvidia") for path in glob.glob(os.path.join(glob.escape(folder), pattern)))

print("\n" + json.dumps({
    "version": ".".join(map(str, sys.version_info[:3])),
    "torch": folders("torch"),
    "cupti": wheel_files("*/lib/libcupti.so.*"),
    "headers": wheel_files("*/include/cuda.h"),
}))
)";

std::string first(const std::vector<std::string>& all) {
  return all.empty() ? "" : all.front();
}

std::string last_line(std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  return std::string(text.substr(text.rfind('\n') + 1));
}

std::string find_python(const std::string& named) {
  if (!named.empty()) {
    std::error_code error;
    return find_program(std::filesystem::is_directory(named, error) ? named + "/bin/python" : named);
  }
  if (const char* active = std::getenv("VIRTUAL_ENV"); active && *active) {
    std::string path = find_program(std::string(active) + "/bin/python");
    if (!path.empty()) return path;
  }
  return find_program("python3");
}

TorchPackage torch_package(const std::string& folder) {
  TorchPackage torch;
  torch.folder = folder;
  if (folder.empty()) return torch;
  const std::string text = read_file(folder + "/version.py", Links::follow, 1 << 16).value_or("");
  torch.version = assigned(text, "__version__");
  torch.cuda = assigned(text, "cuda");
  const std::string library = folder + "/lib/libtorch_cpu.so";
  std::error_code error;
  if (!std::filesystem::is_regular_file(library, error)) return torch;
  torch.library = library;
  torch.build_id = elf_build_id(library);
  torch.cxx11_abi = has_cxx11_abi(folder + "/lib/libc10.so");
  return torch;
}

}  // namespace

std::string assigned(const std::string& version_py, const std::string& name) {
  std::string_view rest = version_py;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    // `name = 'text'` or `name: Optional[str] = 'text'`
    if (!line.starts_with(name) || line.size() == name.size()) continue;
    if (line[name.size()] != ' ' && line[name.size()] != ':' && line[name.size()] != '=') continue;
    const std::size_t equals = line.find('=');
    const std::size_t start = line.find_first_of("'\"", equals);
    if (equals == std::string_view::npos || start == std::string_view::npos) return "";
    const std::size_t end = line.find(line[start], start + 1);
    return std::string(line.substr(start + 1, end == std::string_view::npos ? end : end - start - 1));
  }
  return "";
}

PythonEnvironment python_environment(const std::string& named) {
  PythonEnvironment python;
  python.path = find_python(named);
  if (python.path.empty()) {
    python.problem = named.empty() ? "no python3 in PATH" : named + ": no such program";
    return python;
  }
  std::error_code error;
  python.path = std::filesystem::absolute(python.path, error).lexically_normal().string();
  const Answer answer = ask({python.path, "-c", kQuestion}, clean_environment(), std::chrono::seconds(60));
  const Json facts = Json::parse(last_line(answer.output), nullptr, /*allow_exceptions=*/false);
  python.version = text(facts, "version");
  if (python.version.empty()) {
    const std::string why = answer.error  ? std::strerror(answer.error)
                            : answer.late ? "it does not answer"
                                          : last_line(answer.errors);
    python.problem = python.path + " is no Python that works: " +
                     (why.empty() ? "it answers nothing, exit code " + std::to_string(answer.code) : why);
    return python;
  }
  python.torch = torch_package(first(texts(facts, "torch")));
  python.cupti = first(texts(facts, "cupti"));
  python.cuda_headers = !texts(facts, "headers").empty();
  return python;
}

}  // namespace device_audit::report
