// The objects that are mapped into this process, read without the dynamic loader's main lock, which is held while
// constructors run (P4).
#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>

namespace device_audit::core {

struct BuildId {
  std::uint8_t bytes[64];
  std::size_t size = 0;  // 0: none

  bool operator==(const BuildId& other) const {
    return size == other.size && __builtin_memcmp(bytes, other.bytes, size) == 0;
  }
};

// Calls `visit(const dl_phdr_info&)` for each mapped object in the order of loading, until one call returns false.
template <typename Visit>
void for_each_object(Visit visit) {
  dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* data) { return (*static_cast<Visit*>(data))(*object) ? 0 : 1; },
      &visit);
}

struct LoadedObject {
  std::uintptr_t base = 0;
  const ElfW(Dyn) * dynamic = nullptr;  // null: no object; what tells one object from another
};

LoadedObject loaded_object(const dl_phdr_info& object);

// The object that `address` lies in. Takes no lock at all once find_lock_free_lookup() was called on a glibc that has
// one (2.35); before it, the lock of dl_iterate_phdr, which the C++ unwinder then takes too.
LoadedObject object_at(std::uintptr_t address);

// Calls the loader: for a moment at which that is harmless.
void find_lock_free_lookup();

// The address of the function `name` that the object defines and exports; 0: it does not.
std::uintptr_t exported_function(const LoadedObject& object, const char* name);

BuildId build_id(const dl_phdr_info& object);

// The descriptor of the note (name, type) in the ELF file at `path`, read without mapping it. Returns 0 or an errno; a
// file without that note gives an empty one.
int note_of_file(const char* path, const char* name, std::uint32_t type, BuildId& descriptor);

}  // namespace device_audit::core
