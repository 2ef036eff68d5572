#include "hook/torch/native_stack.h"

#include <cxxabi.h>
#include <dlfcn.h>
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

std::string exported_name(std::uintptr_t address) {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(address), &info) == 0 || info.dli_sname == nullptr) return "";
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> demangled(
      abi::__cxa_demangle(info.dli_sname, nullptr, nullptr, &status), &std::free);
  return demangled ? demangled.get() : info.dli_sname;
}

bool is_our_own(std::uintptr_t address) {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(address), &info) == 0 || info.dli_fname == nullptr) return false;
  const std::string_view path = info.dli_fname;
  return path.substr(path.rfind('/') + 1).starts_with("libdevice_audit");
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
  std::vector<Loaded> loaded;
  ObjectList::walk([&](const dl_phdr_info& info) {
    loaded.push_back(loaded_from(info));
    return true;
  });
  std::vector<int> index(loaded.size(), -1);
  for (const std::uintptr_t address : addresses) {
    // A return address may be the first byte after a function that does not return (P33).
    const std::uintptr_t called = address - 1;
    NativeFrame frame;
    frame.offset = address;
    for (std::size_t i = 0; i < loaded.size(); ++i) {
      if (called < loaded[i].start || called >= loaded[i].end) continue;
      if (index[i] < 0) {
        index[i] = static_cast<int>(finding.libraries.size());
        finding.libraries.push_back({loaded[i].path.empty() ? own_executable() : loaded[i].path, loaded[i].build_id});
      }
      frame.library = index[i];
      frame.offset = address - loaded[i].base;
      break;
    }
    frame.function = exported_name(called);
    finding.native.push_back(std::move(frame));
  }
}

}  // namespace device_audit::hook
