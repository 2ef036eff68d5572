// What an ELF file says of itself, read without loading it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace device_audit::report {

// Lower-case hexadecimal of the note (name, type) of the file at `path`; empty: it has none, or cannot be read.
std::string elf_note(const std::string& path, const std::string& name, std::uint32_t type);

// Its GNU build-id, in lower-case hexadecimal; empty: none, or it cannot be read.
std::string elf_build_id(const std::string& path);

// Its SONAME; empty: none, or it cannot be read.
std::string elf_soname(const std::string& path);

// Whether the C++ of the library takes std::string as libstdc++'s C++11 ABI has it; nothing where no name of it in
// namespace c10 tells.
std::optional<bool> has_cxx11_abi(const std::string& path);

}  // namespace device_audit::report
