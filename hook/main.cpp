// __libc_start_main, and the start in a process that was not started with this library.
#include <dlfcn.h>

#include "hook/adapter.h"
#include "hook/arrival.h"
#include "hook/elf.h"
#include "hook/originals.h"
#include "hook/say.h"
#include "hook/throw.h"

namespace device_audit::core {

constinit Originals originals = {nullptr, nullptr, nullptr, nullptr};

namespace {

template <typename Function>
void find(Function*& original, const char* name) {
  __atomic_store_n(&original, reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name)), __ATOMIC_RELEASE);
}

}  // namespace

void find_originals() {
  if (__atomic_load_n(&originals.dlopen, __ATOMIC_ACQUIRE)) return;
  find(originals._exit, "_exit");
  find(originals._Exit, "_Exit");
  find(originals.abort, "abort");
  find(originals.dlopen, "dlopen");
}

namespace {

using Main = int(int, char**, char**);

constinit Main* program_main = nullptr;

void begin() {
  find_originals();
  find_lock_free_lookup();
  remember_stderr();
  allow_arrival();
  look_for_torch();
}

int watched_main(int argc, char** argv, char** environment) {
  note_throw_at_start();
  begin();
  return program_main(argc, argv, environment);
}

}  // namespace

// glibc has this name in two versions: programs from before 2.34 bring their own init and fini. From then on it is one
// function under both names, and before it there was only the older: RTLD_NEXT finds the right one either way.
extern "C" __attribute__((visibility("default"))) int __libc_start_main(Main* main, int argc, char** argv,
                                                                        void (*init)(), void (*fini)(),
                                                                        void (*loader_fini)(), void* stack_end) {
  using Start = int(Main*, int, char**, void (*)(), void (*)(), void (*)(), void*);
  auto* original = reinterpret_cast<Start*>(dlsym(RTLD_NEXT, "__libc_start_main"));
  program_main = main;
  return original(watched_main, argc, argv, init, fini, loader_fini, stack_end);
}

// Returns 1 if the audit runs now, 0 if no libtorch is mapped or there is no adapter for it.
extern "C" __attribute__((visibility("default"))) int device_audit_enable(void) {
  begin();
  return adapter_runs();
}

}  // namespace device_audit::core
