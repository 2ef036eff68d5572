#include "hook/adapter.h"

#include <dlfcn.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <cstring>

#include "hook/bridge.h"
#include "hook/configuration.h"
#include "hook/directory.h"
#include "hook/ending.h"
#include "hook/file.h"
#include "hook/guard.h"
#include "hook/journal.h"
#include "hook/mappings.h"
#include "hook/originals.h"
#include "hook/process.h"
#include "hook/say.h"

namespace device_audit::core {
namespace {

constexpr const char* adapter_name = "libdevice_audit_torch.so";

constinit char folder[PATH_MAX] = {};
constinit device_audit_part part = {};
constinit bool running = false;  // `part` is filled

// What the parts are given (bridge.h).

int journal(const char* members, size_t length) {
  return append_record({members, length});
}

void say(device_audit_level level, const char* text, size_t length) {
  say_line(level, {text, length});
}

int* guard_of_thread() {
  return &guard;
}

void record_switched_off(const char* what, const char* why) {
  FixedText<8192> members;
  members << "\"type\":\"switched_off\",\"what\":";
  members.quoted(std::string_view(what, strnlen(what, 256))) << ",\"why\":";
  members.quoted(std::string_view(why, strnlen(why, 512))) << ",\"since\":" << nanoseconds(CLOCK_REALTIME);
  append_record(members.view());
}

void switched_off(const char* what, const char* why) {
  ErrnoKept kept;
  FixedText<2048> line;
  line << "device-audit: " << what << " is switched off: " << why;
  say_line(DEVICE_AUDIT_WARN, line.view());
  record_switched_off(what, why);
}

constexpr device_audit_core core = {
    .version = DEVICE_AUDIT_BRIDGE_VERSION,
    .settings = &configuration.for_parts,
    .folder = folder,
    .journal = journal,
    .counters = take_counters,
    .say = say,
    .guard = guard_of_thread,
    .process = process_number,
    .switched_off = switched_off,
};

// The kernel's name for the file: absolute, without links, right even where LD_PRELOAD was a relative path.
void find_own_folder() {
  const auto self = reinterpret_cast<std::uintptr_t>(&core);
  for_each_mapping(0, [self](const Mapping& mapping) {
    if (self < mapping.start || self >= mapping.end) return true;
    Text text(folder, sizeof folder);
    text << mapping.path;
    text.shorten(text.view().rfind('/'));
    return false;
  });
}

// Whether the adapter at `path` may run with this torch; if not, `why` says so.
bool fits(const char* path, const MappedTorch& torch, Text& why) {
  BuildId built_for;
  const int error = note_of_file(path, DEVICE_AUDIT_NOTE_NAME, DEVICE_AUDIT_NOTE_TORCH_BUILD_ID, built_for);
  if (error == ENOENT || error == ENOTDIR) return false;
  if (error == 0 && built_for == torch.id) return true;
  why.clear();
  why << path;
  if (error) {
    why << " cannot be read: " << error_text(error);
  } else {
    why << " was built for another torch";
  }
  return false;
}

// The path of the adapter for this torch: beside this library, or in the user's cache, where `device-audit setup` puts
// it. Empty: none, and `why` says so.
void find_adapter(const MappedTorch& torch, Text& path, Text& why) {
  if (torch.id.size == 0) {
    why << "that torch has no build-id to tell it by";
    return;
  }
  why << "there is none yet";
  path << folder << '/' << adapter_name;
  if (fits(path.c_str(), torch, why)) return;
  path.clear();
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  if (cache && *cache == '/') {
    path << cache;
  } else if (home && *home == '/') {
    path << home << "/.cache";
  } else {
    return;
  }
  path << "/device-audit/adapters/";
  path.hexadecimal(torch.id.bytes, torch.id.size) << '/' << adapter_name;
  struct stat status;
  if (path.cut() || sys::link_status(path.c_str(), &status) != 0 || !fits(path.c_str(), torch, why)) {
    path.clear();
  } else if (status.st_uid != geteuid() && status.st_uid != 0) {
    why.clear();
    why << path.view() << " belongs to another user";
    path.clear();
  }
}

// Opens and starts the adapter. Null, or why it does not run.
const char* start_adapter(const char* path) {
  void* handle = originals.dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!handle) return dlerror();
  auto* start = reinterpret_cast<device_audit_part_start_function>(dlsym(handle, "device_audit_part_start"));
  if (!start) return dlerror();
  if (const char* why = start(&core, &part)) return why;
  return part.version == DEVICE_AUDIT_BRIDGE_VERSION ? nullptr : "it was built with another version of device-audit";
}

// "2.15.0+cu132" -> "13.2"; nothing in a torch without CUDA.
void write_cuda_version(Text& json, std::string_view torch_version) {
  const std::size_t mark = torch_version.find("+cu");
  if (mark == std::string_view::npos || torch_version.size() < mark + 5) {
    json << "null";
    return;
  }
  std::string_view digits = torch_version;
  digits.remove_prefix(mark + 3);
  json << '"' << std::string_view(digits.data(), digits.size() - 1) << '.' << digits.back() << '"';
}

void write_python_version(Text& json) {
  auto* version = reinterpret_cast<const char* (*)()>(dlsym(RTLD_DEFAULT, "Py_GetVersion"));
  if (!version) {
    dlerror();  // drops the text, which the program is not to find
    json << "null";
    return;
  }
  const char* text = version();
  json.quoted(std::string_view(text, std::strcspn(text, " ")));
}

void record_runtime(const MappedTorch& torch, const char* path, const char* why) {
  FixedText<16 * 1024> members;
  members << "\"type\":\"runtime\",\"torch\":";
  members.quoted_or_null(running ? part.describe : nullptr) << ",\"torch_path\":";
  members.quoted(torch.path) << ",\"adapter\":";
  members.quoted_or_null(running ? path : nullptr) << ",\"adapter_why\":";
  members.quoted_or_null(why) << ",\"python\":";
  write_python_version(members);
  members << ",\"cuda\":";
  write_cuda_version(members, running && part.describe ? part.describe : "");
  append_record(members.view());
  set_runtime_record(members.view());
}

// The command itself must not record itself (P21).
bool is_our_command() {
  char path[PATH_MAX];
  const long length = syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", path, sizeof path);
  return length > 0 && std::string_view(path, static_cast<std::size_t>(length)).ends_with("/device-audit");
}

}  // namespace

const char* own_folder() {
  return folder;
}

bool adapter_runs() {
  return __atomic_load_n(&running, __ATOMIC_ACQUIRE);
}

void start_audit(const MappedTorch& torch) {
  read_configuration();
  if (!configuration.enabled || is_our_command()) return;
  find_own_folder();
  start_process_identity();
  open_log();
  FixedText<PATH_MAX + 512> problem;
  find_directory(problem);
  if (run_directory.oldest) say_bad_settings();
  if (problem.size()) say_line(DEVICE_AUDIT_WARN, problem.view());
  watch_ending();

  FixedText<PATH_MAX> path;
  FixedText<PATH_MAX + 512> why;
  find_adapter(torch, path, why);
  if (path.size()) {
    why.clear();
    if (const char* refusal = start_adapter(path.c_str())) {
      // The loader names the file itself.
      if (!std::string_view(refusal).starts_with(path.view())) why << path.view() << ": ";
      why << refusal;
    } else {
      part_fork_handlers = {part.fork_prepare, part.fork_parent, part.fork_child};
      __atomic_store_n(&running, true, __ATOMIC_RELEASE);
    }
  }
  if (!running && run_directory.oldest) {
    FixedText<3 * PATH_MAX> line;
    line << "device-audit: nothing is audited: no adapter for the torch at " << torch.path << ": " << why.view()
         << ". Run: device-audit setup";
    say_line(DEVICE_AUDIT_WARN, line.view());
  }
  record_runtime(torch, path.c_str(), running ? nullptr : why.c_str());
}

void report_hidden(const char* file) {
  if (!adapter_runs() || guard != 0) return;
  ErrnoKept kept;
  FixedText<512> what;
  what << "errors thrown by " << file;
  record_switched_off(what.c_str(), "it was opened with RTLD_DEEPBIND and does not see the hook of __cxa_throw");
}

void report_throw(void* object, const void* type, std::uintptr_t runtime_base) {
  if (!adapter_runs() || !part.thrown || guard != 0) return;
  Unobserved unobserved;
  part.thrown(object, type, runtime_base);
}

void report_abort() {
  if (!adapter_runs() || !part.terminating || guard != 0) return;
  Unobserved unobserved;
  part.terminating();
}

void finish_adapter() {
  if (!adapter_runs() || !part.finish || guard != 0) return;
  Unobserved unobserved;
  part.finish();
}

}  // namespace device_audit::core
