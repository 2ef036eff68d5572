#include "hook/torch/exported_names.h"

#include <elf.h>

#include <algorithm>
#include <numeric>

namespace device_audit::hook {
namespace {

struct Symbols {
  const ElfW(Sym) * first = nullptr;
  std::size_t count = 0;
  const char* names = nullptr;
};

// How many symbols the table has that this hash table finds: the last is the end of the chain of the highest bucket.
std::size_t count_of(const std::uint32_t* gnu_hash) {
  const std::uint32_t buckets = gnu_hash[0], first_hashed = gnu_hash[1], words = gnu_hash[2];
  const auto* bucket =
      reinterpret_cast<const std::uint32_t*>(reinterpret_cast<const ElfW(Addr)*>(gnu_hash + 4) + words);
  const std::uint32_t* chain = bucket + buckets;
  std::uint32_t last = buckets ? *std::max_element(bucket, bucket + buckets) : 0;
  if (last < first_hashed) return 0;
  while ((chain[last - first_hashed] & 1U) == 0) ++last;
  return std::size_t{last} + 1;
}

const ElfW(Dyn) * dynamic_section_of(const dl_phdr_info& object) {
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object.dlpi_phdr[i];
    if (segment.p_type == PT_DYNAMIC) return reinterpret_cast<const ElfW(Dyn)*>(object.dlpi_addr + segment.p_vaddr);
  }
  return nullptr;
}

Symbols symbols_of(const dl_phdr_info& object) {
  Symbols symbols;
  for (const ElfW(Dyn)* entry = dynamic_section_of(object); entry && entry->d_tag != DT_NULL; ++entry) {
    // The loader has made these absolute, except where the section is read-only, as in the vDSO.
    const ElfW(Addr) value = entry->d_un.d_ptr;
    const ElfW(Addr) address = value < object.dlpi_addr ? value + object.dlpi_addr : value;
    if (entry->d_tag == DT_SYMTAB) symbols.first = reinterpret_cast<const ElfW(Sym)*>(address);
    if (entry->d_tag == DT_STRTAB) symbols.names = reinterpret_cast<const char*>(address);
    if (entry->d_tag == DT_GNU_HASH) symbols.count = count_of(reinterpret_cast<const std::uint32_t*>(address));
    // The older table has the count as its second word.
    if (entry->d_tag == DT_HASH) symbols.count = reinterpret_cast<const std::uint32_t*>(address)[1];
  }
  return symbols.first && symbols.names ? symbols : Symbols();
}

bool is_function(const ElfW(Sym) & symbol) {
  const auto type = ELF64_ST_TYPE(symbol.st_info);
  return symbol.st_shndx != SHN_UNDEF && (type == STT_FUNC || type == STT_GNU_IFUNC);
}

}  // namespace

std::vector<std::string> exported_names(const dl_phdr_info& object, const std::vector<std::uintptr_t>& addresses) {
  std::vector<std::string> names(addresses.size());
  std::vector<std::size_t> ascending(addresses.size());
  std::iota(ascending.begin(), ascending.end(), std::size_t{0});
  const auto address_of = [&](std::size_t index) { return addresses[index]; };
  std::ranges::sort(ascending, {}, address_of);
  const Symbols symbols = symbols_of(object);
  for (std::size_t i = 0; i < symbols.count; ++i) {
    const ElfW(Sym)& symbol = symbols.first[i];
    if (!is_function(symbol)) continue;
    const std::uintptr_t start = object.dlpi_addr + symbol.st_value;
    for (auto at = std::ranges::lower_bound(ascending, start, {}, address_of);
         at != ascending.end() && addresses[*at] - start < symbol.st_size; ++at) {
      names[*at] = symbols.names + symbol.st_name;
    }
  }
  return names;
}

}  // namespace device_audit::hook
