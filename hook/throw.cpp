// __cxa_throw, as thunk.S calls it.
#include <cstdlib>

#include "hook/adapter.h"
#include "hook/arrival.h"
#include "hook/elf.h"
#include "hook/guard.h"
#include "hook/say.h"
#include "hook/system.h"

namespace device_audit::core {
namespace {

constexpr const char* throw_name = "__cxa_throw";

// The C++ runtime that throws an exception whose type_info has a certain vtable.
struct Runtime {
  std::uintptr_t base;            // where it is mapped; 0: not known
  std::uintptr_t throw_function;  // 0: none found
};

// One process may hold several C++ runtimes, most of them out of reach of RTLD_NEXT (Python loads libstdc++
// RTLD_LOCAL), and an exception thrown by another than the one that allocated it aborts the program. The vtable of the
// type_info tells: it lies in the runtime that the throwing library is bound to. Where that runtime does not export the
// function, or the program has a copy of the vtable (it is not position-independent), the first one behind us is what
// the call would have reached without us. Neither dladdr nor dlsym: they wait for the loader's lock, which another
// thread may hold while a constructor of a library waits for this one.
Runtime find_runtime(const void* vtable) {
  const auto address = reinterpret_cast<std::uintptr_t>(vtable);
  const auto self = reinterpret_cast<std::uintptr_t>(&find_runtime);
  Runtime holder{}, next{};
  bool after_us = false, next_is_hook = false;
  unsigned long long index = 0;
  for_each_object([&](const dl_phdr_info& object) {
    const bool at_start = index++ < objects_at_start();
    if (contains(object, self)) {
      after_us = true;
      return true;
    }
    const Runtime runtime{object.dlpi_addr, exported_function(object, throw_name)};
    if (!runtime.throw_function) return true;
    if (contains(object, address)) holder = runtime;
    if (after_us && !next.throw_function) {
      next = runtime;
      next_is_hook = at_start && !exported_function(object, "__cxa_begin_catch");
    }
    return true;
  });
  if (!holder.throw_function) return next;
  // Another preloaded hook of the same name, such as a sanitizer's, had this call without us: it gets it.
  if (next_is_hook) holder.throw_function = next.throw_function;
  return holder;
}

// Runtimes found before, by vtable: written rarely, read without a lock. Only what holds for the objects now mapped
// counts, so an entry carries the loader's count of removals.
struct Remembered {
  std::uint32_t version;  // odd: being written
  const void* vtable;
  unsigned long long removals;
  Runtime runtime;
};
constexpr std::size_t remembered_count = 16;
Remembered remembered[remembered_count];

Remembered& place_of(const void* vtable) {
  return remembered[(reinterpret_cast<std::uintptr_t>(vtable) >> 4) % remembered_count];
}

bool recall(const void* vtable, unsigned long long removals, Runtime& runtime) {
  const Remembered& place = place_of(vtable);
  const std::uint32_t before = __atomic_load_n(&place.version, __ATOMIC_ACQUIRE);
  const bool same = __atomic_load_n(&place.vtable, __ATOMIC_RELAXED) == vtable &&
                    __atomic_load_n(&place.removals, __ATOMIC_RELAXED) == removals;
  runtime.base = __atomic_load_n(&place.runtime.base, __ATOMIC_RELAXED);
  runtime.throw_function = __atomic_load_n(&place.runtime.throw_function, __ATOMIC_RELAXED);
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  return same && before % 2 == 0 && before != 0 && __atomic_load_n(&place.version, __ATOMIC_RELAXED) == before;
}

void remember(const void* vtable, unsigned long long removals, const Runtime& runtime) {
  Remembered& place = place_of(vtable);
  std::uint32_t version = __atomic_load_n(&place.version, __ATOMIC_RELAXED);
  if (version % 2 == 1) return;
  if (!__atomic_compare_exchange_n(&place.version, &version, version + 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
    return;
  __atomic_thread_fence(__ATOMIC_RELEASE);
  __atomic_store_n(&place.vtable, vtable, __ATOMIC_RELAXED);
  __atomic_store_n(&place.removals, removals, __ATOMIC_RELAXED);
  __atomic_store_n(&place.runtime.base, runtime.base, __ATOMIC_RELAXED);
  __atomic_store_n(&place.runtime.throw_function, runtime.throw_function, __ATOMIC_RELAXED);
  __atomic_store_n(&place.version, version + 2, __ATOMIC_RELEASE);
}

unsigned long long objects_removed() {
  unsigned long long removals = 0;
  for_each_object([&removals](const dl_phdr_info& object) {
    removals = object.dlpi_subs;
    return false;
  });
  return removals;
}

}  // namespace

// `type` is a std::type_info, which begins with the pointer to its vtable.
extern "C" void* device_audit_plan_throw(void* object, const void* type, void*, void**) {
  ErrnoKept kept;
  const void* vtable = *static_cast<const void* const*>(type);
  const unsigned long long removals = objects_removed();
  Runtime runtime;
  if (!recall(vtable, removals, runtime)) {
    runtime = find_runtime(vtable);
    // None found is not remembered: it may come yet.
    if (runtime.throw_function) remember(vtable, removals, runtime);
  }
  if (!runtime.throw_function) {
    say_line(DEVICE_AUDIT_ERROR,
             "device-audit: a C++ exception cannot be thrown: no library of this process defines __cxa_throw");
    abort();
  }
  report_throw(object, type, runtime.base);
  return reinterpret_cast<void*>(runtime.throw_function);
}

}  // namespace device_audit::core
