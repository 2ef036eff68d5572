#include "report/elf_file.h"

#include <elf.h>
#include <gelf.h>
#include <libelf.h>
#include <unistd.h>

#include <string_view>

#include "report/files.h"

namespace device_audit::report {
namespace {

class ElfFile {
 public:
  explicit ElfFile(const std::string& path) : file_(open_regular(path, Links::follow)) {
    elf_version(EV_CURRENT);
    if (file_ >= 0) elf_ = elf_begin(file_, ELF_C_READ_MMAP, nullptr);
    if (elf_ && elf_kind(elf_) != ELF_K_ELF) {
      elf_end(elf_);
      elf_ = nullptr;
    }
  }
  ~ElfFile() {
    if (elf_) elf_end(elf_);
    if (file_ >= 0) close(file_);
  }
  ElfFile(const ElfFile&) = delete;
  ElfFile& operator=(const ElfFile&) = delete;

  // Calls `visit(name, type, descriptor)` for each note that is loaded with the file.
  template <class Visit>
  void for_each_note(Visit visit) const {
    std::size_t count = 0;
    if (!elf_ || elf_getphdrnum(elf_, &count) != 0) return;
    for (std::size_t i = 0; i < count; ++i) {
      GElf_Phdr header;
      if (!gelf_getphdr(elf_, static_cast<int>(i), &header) || header.p_type != PT_NOTE) continue;
      Elf_Data* data = elf_getdata_rawchunk(elf_, static_cast<std::int64_t>(header.p_offset), header.p_filesz,
                                            header.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
      if (!data) continue;
      const char* bytes = static_cast<const char*>(data->d_buf);
      GElf_Nhdr note;
      std::size_t name = 0;
      std::size_t descriptor = 0;
      std::size_t next = 0;
      for (std::size_t at = 0; (next = gelf_getnote(data, at, &note, &name, &descriptor)) > 0; at = next) {
        const std::size_t length = note.n_namesz ? note.n_namesz - 1 : 0;  // without its final zero
        visit(std::string_view(bytes + name, length), note.n_type, std::string_view(bytes + descriptor, note.n_descsz));
      }
    }
  }

  // The section of this kind, with its header; null: there is none.
  Elf_Scn* section(std::uint32_t type, GElf_Shdr& header) const {
    Elf_Scn* each = nullptr;
    while (elf_ && (each = elf_nextscn(elf_, each))) {
      if (gelf_getshdr(each, &header) && header.sh_type == type) return each;
    }
    return nullptr;
  }

  Elf* get() const { return elf_; }

 private:
  int file_;
  Elf* elf_ = nullptr;
};

std::string hexadecimal(std::string_view bytes) {
  std::string digits;
  for (const char each : bytes) {
    digits += "0123456789abcdef"[static_cast<unsigned char>(each) >> 4];
    digits += "0123456789abcdef"[static_cast<unsigned char>(each) & 15];
  }
  return digits;
}

}  // namespace

std::string elf_note(const std::string& path, const std::string& name, std::uint32_t type) {
  std::string found;
  ElfFile(path).for_each_note([&](std::string_view its_name, std::uint32_t its_type, std::string_view descriptor) {
    if (found.empty() && its_name == name && its_type == type) found = hexadecimal(descriptor);
  });
  return found;
}

std::string elf_build_id(const std::string& path) {
  return elf_note(path, "GNU", NT_GNU_BUILD_ID);
}

std::string elf_soname(const std::string& path) {
  const ElfFile file(path);
  GElf_Shdr header;
  Elf_Scn* section = file.section(SHT_DYNAMIC, header);
  Elf_Data* data = section ? elf_getdata(section, nullptr) : nullptr;
  GElf_Dyn entry;
  for (int i = 0; data && gelf_getdyn(data, i, &entry) && entry.d_tag != DT_NULL; ++i) {
    if (entry.d_tag != DT_SONAME) continue;
    const char* name = elf_strptr(file.get(), header.sh_link, entry.d_un.d_val);
    return name ? name : "";
  }
  return "";
}

std::optional<bool> has_cxx11_abi(const std::string& path) {
  const ElfFile file(path);
  GElf_Shdr header;
  Elf_Scn* section = file.section(SHT_DYNSYM, header);
  Elf_Data* data = section ? elf_getdata(section, nullptr) : nullptr;
  std::optional<bool> result;
  GElf_Sym symbol;
  for (int i = 0; data && gelf_getsym(data, i, &symbol); ++i) {
    const char* raw = elf_strptr(file.get(), header.sh_link, symbol.st_name);
    const std::string_view name = raw ? raw : "";
    if (symbol.st_shndx == SHN_UNDEF || !name.starts_with("_ZN3c10")) continue;
    if (name.find("St7__cxx1112basic_string") != std::string_view::npos) return true;
    if (name.find("Ss") != std::string_view::npos) result = false;  // std::string of the old ABI
  }
  return result;
}

}  // namespace device_audit::report
