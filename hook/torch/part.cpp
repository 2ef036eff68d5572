// What the core opens: the adapter's entry, and what happens to it as the process forks and ends.
#include <ATen/Version.h>
#include <ATen/record_function.h>
#include <dlfcn.h>

#include <exception>
#include <string>

#include "hook/object_list.h"
#include "hook/python/stack.h"
#include "hook/torch/core.h"
#include "hook/torch/findings.h"
#include "hook/torch/native_stack.h"
#include "hook/torch/observer.h"

namespace device_audit::hook {
namespace {

// Nothing of ours may leave as an exception: what fails is switched off.
template <class Function>
void guarded(const char* what, const Function& function) noexcept {
  try {
    function();
  } catch (const std::exception& error) {
    core->switched_off(what, error.what());
  } catch (...) {
    core->switched_off(what, "an error of unknown type");
  }
}

void thrown(void* object, const void* type, std::uintptr_t) {
  guarded("errors at the throw", [&] { error_thrown(object, type); });
}

void fork_prepare() {
  // torch keeps each thread's callbacks and rebuilds them under a lock of its own at the thread's first operator. Where
  // another thread holds that lock at the fork it is never given back in the child: the forking thread must not need it
  // there.
  at::getStepCallbacksUnlessEmpty(at::RecordScope::FUNCTION);

  findings_fork_prepare();
  ObjectList::fork_prepare();
}
void fork_parent() {
  ObjectList::fork_parent();
  findings_fork_parent();
}
void fork_child() {
  ObjectList::fork_child();
  guarded("findings in a forked process", [] {
    python::after_fork_in_child();
    findings_fork_child();
  });
}

void terminating() {
  guarded("an error that nobody caught", &program_aborts);
}

void finish() {
  guarded("totals", &write_totals);
}

// The folder of the torch package, whose Python frames are not the user's.
std::string torch_package() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&at::get_cxx_flags), &info) == 0 || info.dli_fname == nullptr) return "";
  const std::string path = info.dli_fname;  // <package>/lib/libtorch_cpu.so
  const std::size_t lib = path.rfind('/');
  return lib == std::string::npos || lib == 0 ? "" : path.substr(0, path.rfind('/', lib - 1) + 1);
}

void start(device_audit_part* part) {
  part->version = DEVICE_AUDIT_BRIDGE_VERSION;
  part->describe = DEVICE_AUDIT_TORCH_VERSION;
  part->thrown = &thrown;
  part->fork_prepare = &fork_prepare;
  part->fork_parent = &fork_parent;
  part->fork_child = &fork_child;
  part->terminating = &terminating;
  part->finish = &finish;
  python::set_library_prefixes({torch_package()});
  python::at_exit([](const python::Uncaught* error) {
    const Unobserved unobserved;
    guarded("the error that ended the program", [&] { program_ended(error); });
  });
  native_stack();  // the unwinder loads and allocates at its first use (P32)
  findings_start();
  observe();
}

}  // namespace
}  // namespace device_audit::hook

extern "C" __attribute__((visibility("default"))) const char* device_audit_part_start(const device_audit_core* core,
                                                                                      device_audit_part* part) {
  using namespace device_audit::hook;
  if (core->version != DEVICE_AUDIT_BRIDGE_VERSION) return "it speaks another version of the bridge than the core";
  device_audit::hook::core = core;
  try {
    const Unobserved unobserved;
    start(part);
    return nullptr;
  } catch (const std::exception&) {
    return "it failed while it started";
  }
}
