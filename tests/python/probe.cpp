// Questions of hook/python put through ctypes: by CDLL, which gives the GIL back as a torch operator does, or by PyDLL,
// which keeps it.
#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <unordered_map>

#include "hook/python/names.h"
#include "hook/python/stack.h"

namespace python = device_audit::python;

namespace {

std::string exit_report;  // path

std::string text_of(const std::vector<python::Frame>& frames) {
  std::string text;
  for (const python::Frame& frame : frames) {
    text += frame.file + '\x1f' + std::to_string(frame.line) + '\x1f' + frame.function + '\x1f' + frame.code + '\x1f' +
            (frame.library ? '1' : '0') + '\x1f' + (frame.standard ? '1' : '0') + '\x1e';
  }
  return text;
}

void write_report(const python::Uncaught* error) {
  std::ofstream file(exit_report, std::ios::app);
  if (error) {
    file << error->kind << '\x1d' << error->text << '\x1d' << text_of(error->stack) << '\x1c';
  } else {
    file << "none\x1c";
  }
}

// By address, as the program told them.
std::unordered_map<const void*, const void*> storages;

const void* storage_of(const void* tensor) {
  const auto found = storages.find(tensor);
  return found == storages.end() ? nullptr : found->second;
}

std::string text_of(const python::Names& names) {
  std::string text;
  for (const python::Named& named : names.tensors) {
    text += named.name + '\x1f' + std::to_string(named.frame) + '\x1f' + named.module_path + '\x1f' +
            (named.same_object ? "object " : "") + (named.parameter ? "parameter " : "") +
            (named.buffer ? "buffer " : "") + (named.plain_attribute ? "attribute " : "") + '\x1e';
  }
  text += '\x1d';
  if (names.module) text += names.module->path + '\x1f' + names.module->type;
  return text;
}

template <class Function>
Function from_python(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

// As the adapter does.
[[maybe_unused]] const int at_fork = pthread_atfork(nullptr, nullptr, &python::after_fork_in_child);

}  // namespace

#define PROBE extern "C" __attribute__((visibility("default")))

PROBE int probe_available() {
  return python::available();
}

PROBE const char* probe_version() {
  static std::string version;
  version = python::version();
  return version.c_str();
}

// The caller gives the answer back to probe_free.
PROBE char* probe_stack(std::size_t limit) {
  std::string text = text_of(python::stack(limit));
  std::replace(text.begin(), text.end(), '\0', '?');
  return strdup(text.c_str());
}
PROBE void probe_free(char* text) {
  free(text);
}

PROBE void probe_storage(const void* tensor, const void* storage) {
  storages[tensor] = storage;
}

// `objects` may be null, for all of them. The caller gives the answer back to probe_free.
PROBE char* probe_names(const void* const* objects, const void* const* storages, int count) {
  std::vector<python::Sought> sought;
  for (int i = 0; i < count; ++i) sought.push_back({objects ? objects[i] : nullptr, storages[i]});
  return strdup(text_of(python::names_of(sought, &storage_of)).c_str());
}

// Nanoseconds for the name of an object.
PROBE double probe_names_cost(const void* object, int times) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < times; ++i) python::names_of({{object, nullptr}}, &storage_of);
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() / times;
}

// Index in stack() of the frame that is the site, -1: none.
PROBE int probe_site_of() {
  const auto frames = python::stack();
  const python::Frame* site = python::site_of(frames);
  return site ? static_cast<int>(site - frames.data()) : -1;
}

PROBE const void* probe_site(int* instruction) {
  const python::Site site = python::site();
  *instruction = site.instruction;
  return site.code;
}

PROBE void probe_prefix(const char* folder) {
  python::set_library_prefixes({folder});
}

PROBE void probe_at_exit(const char* path) {
  exit_report = path;
  python::at_exit(&write_report);
}

// Asks from a thread that Python does not know, while this one waits for it. Number of frames, -1 if it was available.
PROBE int probe_from_native_thread() {
  int frames = 0;
  std::thread([&] {
    frames = static_cast<int>(python::stack().size());
    if (python::available() || python::site().code) frames = -1;
  }).join();
  return frames;
}

// With an error pending and errno set. By PyDLL, which raises the error. Returns errno.
PROBE int probe_with_pending_error(const char* text) {
  using Set = void (*)(void*, const char*);
  from_python<Set>("PyErr_SetString")(*from_python<void**>("PyExc_ValueError"), text);
  errno = 77;
  python::stack();
  python::site();
  return errno;
}

// Asks in a child of a fork that Python does not know of: number of frames there, -1 if it did not come back.
PROBE int probe_in_raw_fork() {
  const pid_t child = fork();
  if (child == 0) {
    alarm(10);
    _exit(static_cast<int>(python::stack().size()));
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Nanoseconds per question: 0 available, 1 site, 2 stack.
PROBE double probe_cost(int what, int times) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < times; ++i) {
    if (what == 0) python::available();
    if (what == 1) python::site();
    if (what == 2) python::stack();
  }
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() / times;
}

// Asks until the program ends.
PROBE void probe_forever() {
  for (;;) {
    python::stack();
    python::site();
  }
}
