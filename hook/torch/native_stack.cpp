#include "hook/torch/native_stack.h"

#include <cxxabi.h>
#include <elf.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/stacktrace/safe_dump_to.hpp>
#include <cstdlib>
#include <memory>
#include <string>

#include "hook/object_list.h"
#include "hook/torch/core.h"
#include "hook/torch/exported_names.h"

namespace device_audit::hook {
namespace {

struct Loaded {
  std::string path, build_id;
  std::uintptr_t base = 0, start = UINTPTR_MAX, end = 0;
};

std::string build_id_in(const char* notes, std::size_t size) {
  std::string hexadecimal;
  for (std::size_t at = 0; at + sizeof(ElfW(Nhdr)) <= size;) {
    const auto* note = reinterpret_cast<const ElfW(Nhdr)*>(notes + at);
    const char* name = notes + at + sizeof *note;
    const char* description = name + ((note->n_namesz + 3U) & ~3U);
    if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && std::string_view(name, 3) == "GNU") {
      for (ElfW(Word) i = 0; i < note->n_descsz; ++i) {
        const auto byte = static_cast<unsigned char>(description[i]);
        hexadecimal += "0123456789abcdef"[byte >> 4];
        hexadecimal += "0123456789abcdef"[byte & 15];
      }
      break;
    }
    at = static_cast<std::size_t>(description - notes) + ((note->n_descsz + 3U) & ~3U);
  }
  return hexadecimal;
}

Loaded loaded_from(const dl_phdr_info& info) {
  Loaded loaded;
  loaded.path = info.dlpi_name;
  loaded.base = info.dlpi_addr;
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info.dlpi_phdr[i];
    if (header.p_type == PT_LOAD) {
      loaded.start = std::min(loaded.start, loaded.base + header.p_vaddr);
      loaded.end = std::max(loaded.end, loaded.base + header.p_vaddr + header.p_memsz);
    } else if (header.p_type == PT_NOTE && loaded.build_id.empty()) {
      loaded.build_id = build_id_in(reinterpret_cast<const char*>(loaded.base + header.p_vaddr), header.p_memsz);
    }
  }
  return loaded;
}

std::string own_executable() {
  std::array<char, 4096> path{};
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size());
  return length > 0 ? std::string(path.data(), static_cast<std::size_t>(length)) : "";
}

std::string demangled(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> readable(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
  return readable ? readable.get() : name;
}

bool is_in(const Loaded& loaded, std::uintptr_t address) {
  return address >= loaded.start && address < loaded.end;
}

// Our own libraries. Those that can be on a stack are there from the start.
const std::vector<Loaded>& our_own() {
  static const auto* const ours = [] {
    auto* found = new std::vector<Loaded>;
    ObjectList::walk([&](const dl_phdr_info& info) {
      const std::string_view path = info.dlpi_name;
      if (path.substr(path.rfind('/') + 1).starts_with("libdevice_audit")) found->push_back(loaded_from(info));
      return true;
    });
    return found;
  }();
  return *ours;
}

bool is_our_own(std::uintptr_t address) {
  return std::ranges::any_of(our_own(), [&](const Loaded& loaded) { return is_in(loaded, address); });
}

}  // namespace

std::vector<std::uintptr_t> native_stack() {
  std::array<const void*, kNativeDepth + 1> raw{};
  // Boost counts the terminating zero as a frame.
  const std::size_t dumped = boost::stacktrace::safe_dump_to(raw.data(), sizeof raw);
  std::vector<std::uintptr_t> addresses;
  for (std::size_t i = 0; i < std::min(dumped, kNativeDepth) && raw[i] != nullptr; ++i) {
    const auto address = reinterpret_cast<std::uintptr_t>(raw[i]);
    if (addresses.empty() && is_our_own(address)) continue;
    addresses.push_back(address);
  }
  return addresses;
}

void locate(const std::vector<std::uintptr_t>& addresses, Finding& finding) {
  for (const std::uintptr_t address : addresses) {
    finding.native.emplace_back();
    finding.native.back().offset = address;
  }
  ObjectList::walk([&](const dl_phdr_info& info) {
    const Loaded loaded = loaded_from(info);
    std::vector<std::size_t> inside;
    std::vector<std::uintptr_t> called;
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      // A return address may be the first byte after a function that does not return (P33).
      if (!is_in(loaded, addresses[i] - 1)) continue;
      inside.push_back(i);
      called.push_back(addresses[i] - 1);
    }
    if (inside.empty()) return true;
    const std::vector<std::string> names = exported_names(info, called);
    for (std::size_t i = 0; i < inside.size(); ++i) {
      NativeFrame& frame = finding.native[inside[i]];
      frame.library = static_cast<int>(finding.libraries.size());
      frame.offset = addresses[inside[i]] - loaded.base;
      frame.function = names[i];
    }
    finding.libraries.push_back({loaded.path.empty() ? own_executable() : loaded.path, loaded.build_id});
    return true;
  });
  for (NativeFrame& frame : finding.native) frame.function = demangled(frame.function);
}

}  // namespace device_audit::hook
