#include "hook/elf.h"

#include <dlfcn.h>
#include <elf.h>

#include <cstring>

#include "hook/system.h"

namespace device_audit::core {
namespace {

// The note (name, type) among `size` bytes of notes, as gABI section "Note Section" lays them out.
BuildId find_note(const std::uint8_t* notes, std::size_t size, std::size_t alignment, const char* name,
                  std::uint32_t type) {
  alignment = alignment == 8 ? 8 : 4;
  const auto aligned = [alignment](std::size_t value) { return (value + alignment - 1) & ~(alignment - 1); };
  BuildId found;
  while (size >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) header;
    std::memcpy(&header, notes, sizeof header);
    const std::size_t descriptor = aligned(sizeof header + header.n_namesz);
    const std::size_t end = descriptor + header.n_descsz;
    if (end > size) break;
    if (header.n_type == type && header.n_namesz == std::strlen(name) + 1 &&
        std::memcmp(notes + sizeof header, name, header.n_namesz) == 0 && header.n_descsz <= sizeof found.bytes) {
      found.size = header.n_descsz;
      std::memcpy(found.bytes, notes + descriptor, found.size);
      break;
    }
    if (aligned(end) > size) break;
    notes += aligned(end);
    size -= aligned(end);
  }
  return found;
}

struct Symbols {
  const ElfW(Sym) * table = nullptr;
  const char* names = nullptr;
  const std::uint32_t* gnu_hash = nullptr;
  const ElfW(Word) * hash = nullptr;
};

Symbols symbols_of(const LoadedObject& object) {
  Symbols symbols;
  for (const ElfW(Dyn)* entry = object.dynamic; entry && entry->d_tag != DT_NULL; ++entry) {
    // The loader has made these absolute, except where the section is read-only, as in the vDSO.
    const ElfW(Addr) value = entry->d_un.d_ptr;
    const ElfW(Addr) address = value < object.base ? value + object.base : value;
    switch (entry->d_tag) {
      case DT_SYMTAB:
        symbols.table = reinterpret_cast<const ElfW(Sym)*>(address);
        break;
      case DT_STRTAB:
        symbols.names = reinterpret_cast<const char*>(address);
        break;
      case DT_GNU_HASH:
        symbols.gnu_hash = reinterpret_cast<const std::uint32_t*>(address);
        break;
      case DT_HASH:
        symbols.hash = reinterpret_cast<const ElfW(Word)*>(address);
        break;
    }
  }
  return symbols;
}

// Calls `visit(index)` for each symbol whose name may be `name`, until one call returns true.
template <typename Visit>
bool any_candidate(const Symbols& symbols, const char* name, Visit visit) {
  if (symbols.gnu_hash) {
    std::uint32_t hash = 5381;
    for (const char* c = name; *c; ++c) hash = hash * 33 + static_cast<unsigned char>(*c);
    const std::uint32_t buckets = symbols.gnu_hash[0], first = symbols.gnu_hash[1], words = symbols.gnu_hash[2];
    const auto* bloom = reinterpret_cast<const ElfW(Addr)*>(symbols.gnu_hash + 4);
    const auto* bucket = reinterpret_cast<const std::uint32_t*>(bloom + words);
    const std::uint32_t* chain = bucket + buckets;
    if (buckets == 0 || words == 0) return false;
    constexpr std::uint32_t bits = 8 * sizeof(ElfW(Addr));
    const ElfW(Addr) mask = ElfW(Addr){1} << (hash % bits) | ElfW(Addr){1} << ((hash >> symbols.gnu_hash[3]) % bits);
    if ((bloom[(hash / bits) % words] & mask) != mask) return false;
    std::uint32_t index = bucket[hash % buckets];
    if (index < first) return false;
    for (;; ++index) {
      const std::uint32_t entry = chain[index - first];
      if ((entry | 1) == (hash | 1) && visit(index)) return true;
      if (entry & 1) return false;
    }
  }
  if (symbols.hash) {
    for (ElfW(Word) index = 0; index < symbols.hash[1]; ++index) {
      if (visit(index)) return true;
    }
  }
  return false;
}

#ifdef DLFO_STRUCT_HAS_EH_DBASE  // <dlfcn.h> knows it
int (*lock_free_lookup)(void* address, dl_find_object* result);
#endif

bool contains(const dl_phdr_info& object, std::uintptr_t address) {
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object.dlpi_phdr[i];
    if (segment.p_type == PT_LOAD && address - (object.dlpi_addr + segment.p_vaddr) < segment.p_memsz) return true;
  }
  return false;
}

}  // namespace

LoadedObject loaded_object(const dl_phdr_info& object) {
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object.dlpi_phdr[i];
    if (segment.p_type != PT_DYNAMIC) continue;
    return {object.dlpi_addr, reinterpret_cast<const ElfW(Dyn)*>(object.dlpi_addr + segment.p_vaddr)};
  }
  return {object.dlpi_addr, nullptr};
}

void find_lock_free_lookup() {
#ifdef DLFO_STRUCT_HAS_EH_DBASE
  auto* found = reinterpret_cast<decltype(lock_free_lookup)>(dlsym(RTLD_DEFAULT, "_dl_find_object"));
  if (!found) dlerror();  // drops the text, which the program is not to find
  __atomic_store_n(&lock_free_lookup, found, __ATOMIC_RELEASE);
#endif
}

LoadedObject object_at(std::uintptr_t address) {
  LoadedObject found;
#ifdef DLFO_STRUCT_HAS_EH_DBASE
  if (auto* lookup = __atomic_load_n(&lock_free_lookup, __ATOMIC_ACQUIRE)) {
    dl_find_object result;
    if (lookup(reinterpret_cast<void*>(address), &result) == 0) {
      found = {result.dlfo_link_map->l_addr, result.dlfo_link_map->l_ld};
    }
    return found;
  }
#endif
  for_each_object([&](const dl_phdr_info& object) {
    if (!contains(object, address)) return true;
    found = loaded_object(object);
    return false;
  });
  return found;
}

std::uintptr_t exported_function(const LoadedObject& object, const char* name) {
  const Symbols symbols = symbols_of(object);
  std::uintptr_t address = 0;
  if (!symbols.table || !symbols.names) return address;
  any_candidate(symbols, name, [&](std::uint32_t index) {
    const ElfW(Sym)& symbol = symbols.table[index];
    if (symbol.st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol.st_info) != STT_FUNC) return false;
    if (ELF64_ST_BIND(symbol.st_info) == STB_LOCAL || std::strcmp(symbols.names + symbol.st_name, name) != 0)
      return false;
    address = object.base + symbol.st_value;
    return true;
  });
  return address;
}

BuildId build_id(const dl_phdr_info& object) {
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object.dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    const auto* notes = reinterpret_cast<const std::uint8_t*>(object.dlpi_addr + segment.p_vaddr);
    const BuildId found = find_note(notes, segment.p_memsz, segment.p_align, "GNU", NT_GNU_BUILD_ID);
    if (found.size) return found;
  }
  return {};
}

int note_of_file(const char* path, const char* name, std::uint32_t type, BuildId& descriptor) {
  descriptor.size = 0;
  const int fd = sys::open_at(AT_FDCWD, path, O_RDONLY);
  if (fd < 0) return errno;
  int error = ENOEXEC;
  ElfW(Ehdr) header;
  if (sys::read_at(fd, &header, sizeof header, 0) == sizeof header &&
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_phentsize == sizeof(ElfW(Phdr))) {
    error = 0;
    for (unsigned i = 0; i < header.e_phnum && descriptor.size == 0; ++i) {
      ElfW(Phdr) segment;
      if (sys::read_at(fd, &segment, sizeof segment, header.e_phoff + i * sizeof segment) != sizeof segment) break;
      std::uint8_t notes[2048];
      if (segment.p_type != PT_NOTE || segment.p_filesz > sizeof notes) continue;
      const ssize_t got = sys::read_at(fd, notes, segment.p_filesz, segment.p_offset);
      if (got > 0) descriptor = find_note(notes, static_cast<std::size_t>(got), segment.p_align, name, type);
    }
  }
  sys::close(fd);
  return error;
}

}  // namespace device_audit::core
