// __cxa_throw, as thunk.S calls it.
#include <cstdlib>

#include "hook/adapter.h"
#include "hook/elf.h"
#include "hook/guard.h"
#include "hook/say.h"
#include "hook/system.h"
#include "hook/throw.h"

namespace device_audit::core {
namespace {

constexpr const char* throw_name = "__cxa_throw";

// What throws an exception whose type_info has a certain vtable.
struct Thrower {
  std::uintptr_t base = 0;            // where its C++ runtime is mapped
  std::uintptr_t function = 0;        // 0: none found
  const void* object_told = nullptr;  // what tells the object that the function is in from another at the same place
};

struct Behind {
  Thrower thrower;
  bool is_hook = false;  // it is no C++ runtime but another hook of the same name, such as a sanitizer's
};

// The first behind us in the order of loading: what a call from the program itself would reach without us.
Behind find_behind_us() {
  const auto self = object_at(reinterpret_cast<std::uintptr_t>(&find_behind_us));
  Behind behind;
  bool passed_us = false;
  for_each_object([&](const dl_phdr_info& each) {
    const LoadedObject object = loaded_object(each);
    if (object.dynamic == self.dynamic) {
      passed_us = true;
      return true;
    }
    const std::uintptr_t function = passed_us ? exported_function(object, throw_name) : 0;
    if (!function) return true;
    behind = {{object.base, function, object.dynamic}, !exported_function(object, "__cxa_begin_catch")};
    return false;
  });
  return behind;
}

constinit Behind behind_at_start = {};

// One process may hold several C++ runtimes, most of them out of reach of RTLD_NEXT (Python loads libstdc++
// RTLD_LOCAL), and an exception thrown by another than the one that allocated it aborts the program. The vtable of the
// type_info tells: it lies in the runtime that the throwing library is bound to. Only where that does not export the
// function, or the program has a copy of the vtable (it is not position-independent), the one behind us is meant.
// Neither dladdr nor dlsym: they wait for the loader's lock, which another thread may hold while a constructor of a
// library waits for this one.
Thrower find_thrower(std::uintptr_t vtable) {
  const LoadedObject holder = object_at(vtable);
  Thrower thrower{holder.base, exported_function(holder, throw_name), holder.dynamic};
  if (!thrower.function) return behind_at_start.thrower.function ? behind_at_start.thrower : find_behind_us().thrower;
  // Another preloaded hook had this call without us: it gets it.
  if (behind_at_start.is_hook) {
    thrower.function = behind_at_start.thrower.function;
    thrower.object_told = behind_at_start.thrower.object_told;
  }
  return thrower;
}

// Those found before, by vtable: written rarely, read without a lock.
struct Remembered {
  std::uint32_t version;  // odd: being written
  std::uintptr_t vtable;
  Thrower thrower;
};
constexpr std::size_t remembered_count = 16;
constinit Remembered remembered[remembered_count] = {};

Remembered& place_of(std::uintptr_t vtable) {
  return remembered[(vtable >> 4) % remembered_count];
}

// A copy counts only if it was not written to meanwhile, and if its library is still there.
Thrower recall(std::uintptr_t vtable) {
  const Remembered& place = place_of(vtable);
  const std::uint32_t before = __atomic_load_n(&place.version, __ATOMIC_ACQUIRE);
  const bool same = __atomic_load_n(&place.vtable, __ATOMIC_RELAXED) == vtable;
  const Thrower thrower{__atomic_load_n(&place.thrower.base, __ATOMIC_RELAXED),
                        __atomic_load_n(&place.thrower.function, __ATOMIC_RELAXED),
                        __atomic_load_n(&place.thrower.object_told, __ATOMIC_RELAXED)};
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  if (!same || before % 2 != 0 || __atomic_load_n(&place.version, __ATOMIC_RELAXED) != before) return {};
  return object_at(thrower.function).dynamic == thrower.object_told ? thrower : Thrower{};
}

void remember(std::uintptr_t vtable, const Thrower& thrower) {
  Remembered& place = place_of(vtable);
  std::uint32_t version = __atomic_load_n(&place.version, __ATOMIC_RELAXED);
  if (version % 2 != 0 ||
      !__atomic_compare_exchange_n(&place.version, &version, version + 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
    return;
  }
  __atomic_thread_fence(__ATOMIC_RELEASE);
  __atomic_store_n(&place.vtable, vtable, __ATOMIC_RELAXED);
  __atomic_store_n(&place.thrower.base, thrower.base, __ATOMIC_RELAXED);
  __atomic_store_n(&place.thrower.function, thrower.function, __ATOMIC_RELAXED);
  __atomic_store_n(&place.thrower.object_told, thrower.object_told, __ATOMIC_RELAXED);
  __atomic_store_n(&place.version, version + 2, __ATOMIC_RELEASE);
}

}  // namespace

void note_throw_at_start() {
  behind_at_start = find_behind_us();
}

// `type` is a std::type_info, which begins with the pointer to its vtable.
extern "C" void* device_audit_plan_throw(void* object, const void* type, void*, void**) {
  ErrnoKept kept;
  const auto vtable = *static_cast<const std::uintptr_t*>(type);
  Thrower thrower = recall(vtable);
  if (!thrower.function) {
    thrower = find_thrower(vtable);
    if (!thrower.function) {
      say_line(DEVICE_AUDIT_ERROR,
               "device-audit: a C++ exception cannot be thrown: no library of this process defines __cxa_throw");
      abort();
    }
    remember(vtable, thrower);
  }
  report_throw(object, type, thrower.base);
  return reinterpret_cast<void*>(thrower.function);
}

}  // namespace device_audit::core
