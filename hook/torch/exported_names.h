// The names that a mapped object exports, by address.
#pragma once

#include <link.h>

#include <cstdint>
#include <string>
#include <vector>

namespace device_audit::hook {

// The mangled name of the exported function that each of `addresses` lies in, "" where there is none. `object` is
// mapped, and stays so meanwhile: for a visit of ObjectList::walk. Reads the object's own tables, once for all
// addresses: dladdr waits for the loader's main lock, whose holder may wait for this thread (a constructor that joins
// it), and goes through all symbols of libtorch for each address.
std::vector<std::string> exported_names(const dl_phdr_info& object, const std::vector<std::uintptr_t>& addresses);

}  // namespace device_audit::hook
