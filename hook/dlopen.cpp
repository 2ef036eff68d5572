// dlopen, as thunk.S calls it.
#include <dlfcn.h>

#include <cstring>

#include "hook/adapter.h"
#include "hook/arrival.h"
#include "hook/guard.h"
#include "hook/loader_call.h"
#include "hook/originals.h"

namespace device_audit::core {
namespace {

using Dlopen = void*(const char* file, int mode);

#if defined(__x86_64__)
constexpr bool return_address_on_stack = true;
#else
constexpr bool return_address_on_stack = false;
#endif

// Calls the original and looks afterwards whether a libtorch has come.
void* watched_dlopen(const char* file, int mode) {
  auto** slot = static_cast<void**>(__builtin_frame_address(0)) + 1;
  const bool outermost = !LoaderCall::in_progress(slot);
  if (outermost) LoaderCall::begin(slot);
  void* handle = originals.dlopen(file, mode);
  if (outermost) {
    LoaderCall::end(slot);
    // After a failure nothing more is asked of the loader: the caller has yet to read its dlerror().
    if (handle) look_for_torch();
    if (handle && (mode & RTLD_DEEPBIND)) report_hidden(file);
  }
  return handle;
}

}  // namespace

// Where to go on. A bare name is searched along the caller's RPATH and RUNPATH, `$ORIGIN` is the caller's folder, and
// no name at all means the caller's namespace: there the original must see the real caller (P3). For a plain path the
// caller does not matter. `position` is where the stack was when dlopen was called: on x86-64 the slot of the return
// address.
extern "C" Dlopen* device_audit_plan_dlopen(const char* file, int, void*, void** position) {
  find_originals();
  if (guard != 0) return originals.dlopen;
  const bool nested = LoaderCall::in_progress(position);
  // Also before the call: a libtorch may have come by a bare name.
  if (!nested) look_for_torch();
  if (file && std::strchr(file, '/') && !std::strchr(file, '$')) return watched_dlopen;
  if (!nested && return_address_on_stack) LoaderCall::begin(position);
  return originals.dlopen;
}

}  // namespace device_audit::core
