// The objects that are mapped into this process, read without the dynamic loader's main lock: dl_iterate_phdr takes
// only the lock that the C++ unwinder takes too, so this is as safe wherever an exception may be thrown (P4).
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

bool contains(const dl_phdr_info& object, std::uintptr_t address);

// The address of the function `name` that the object defines and exports; 0: it does not.
std::uintptr_t exported_function(const dl_phdr_info& object, const char* name);

BuildId build_id(const dl_phdr_info& object);

// The descriptor of the note (name, type) in the ELF file at `path`, read without mapping it. Returns 0 or an errno; a
// file without that note gives an empty one.
int note_of_file(const char* path, const char* name, std::uint32_t type, BuildId& descriptor);

}  // namespace device_audit::core
