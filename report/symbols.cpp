#include "report/symbols.h"

#include <cxxabi.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "report/files.h"

namespace device_audit::report {
namespace {

struct Freed {
  void operator()(void* memory) const { std::free(memory); }
};

struct Ended {
  void operator()(Dwfl* session) const { dwfl_end(session); }
};

std::string hexadecimal(const unsigned char* bytes, int size) {
  std::string digits;
  for (int i = 0; i < size; ++i) {
    digits += "0123456789abcdef"[bytes[i] >> 4];
    digits += "0123456789abcdef"[bytes[i] & 15];
  }
  return digits;
}

std::string clean(const char* path) {
  return path ? std::filesystem::path(path).lexically_normal().string() : std::string();
}

// A function's symbol; `name` belongs to the session.
struct Entry {
  GElf_Addr start, end;
  const char* name;
};

// All functions of a module by address. libdwfl's own look-up walks the whole table each time: 20 ms of libtorch's.
std::vector<Entry> function_table(Dwfl_Module* module) {
  std::vector<Entry> entries;
  const int count = dwfl_module_getsymtab(module);
  for (int i = 0; i < count; ++i) {
    GElf_Sym symbol;
    GElf_Addr address = 0;
    const char* name = dwfl_module_getsym_info(module, i, &symbol, &address, nullptr, nullptr, nullptr);
    const auto type = GELF_ST_TYPE(symbol.st_info);
    if (!name || !*name || symbol.st_shndx == SHN_UNDEF || (type != STT_FUNC && type != STT_GNU_IFUNC)) continue;
    entries.push_back({address, address + symbol.st_size, name});
  }
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.start < b.start; });
  return entries;
}

const char* function_at(const std::vector<Entry>& table, GElf_Addr address) {
  auto entry = std::upper_bound(table.begin(), table.end(), address,
                                [](GElf_Addr wanted, const Entry& each) { return wanted < each.start; });
  constexpr int kNested = 8;  // a function may contain the symbol of a part of it
  for (int i = 0; i < kNested && entry != table.begin(); ++i) {
    --entry;
    if (address < entry->end) return entry->name;
  }
  return nullptr;
}

// The compilation unit that holds `address`. Clang leaves out the index that libdwfl looks into.
Dwarf_Die* unit_at(Dwfl_Module* module, GElf_Addr address, Dwarf_Addr* bias) {
  if (Dwarf_Die* unit = dwfl_module_addrdie(module, address, bias)) return unit;
  for (Dwarf_Die* unit = nullptr; (unit = dwfl_module_nextcu(module, unit, bias));) {
    if (dwarf_haspc(unit, address - *bias) == 1) return unit;
  }
  return nullptr;
}

const char* linkage_name(Dwarf_Die* function) {
  Dwarf_Attribute attribute;
  for (const unsigned name : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name}) {
    if (dwarf_attr_integrate(function, name, &attribute)) return dwarf_formstring(&attribute);
  }
  return nullptr;
}

Dwarf_Word unsigned_value(Dwarf_Die* die, unsigned name) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  return dwarf_attr(die, name, &attribute) && dwarf_formudata(&attribute, &value) == 0 ? value : 0;
}

// The functions at an address of a unit, innermost first; `symbol` is that of the outermost.
std::vector<Symbol> functions_at(Dwarf_Die* unit, Dwarf_Addr address, const char* symbol) {
  Symbol next;
  if (Dwarf_Line* line = dwarf_getsrc_die(unit, address)) {
    next.file = clean(dwarf_linesrc(line, nullptr, nullptr));
    int number = 0;
    if (dwarf_lineno(line, &number) == 0 && number > 0) next.line = static_cast<std::uint64_t>(number);
  }
  Dwarf_Files* files = nullptr;
  std::size_t file_count = 0;
  dwarf_getsrcfiles(unit, &files, &file_count);

  std::vector<Symbol> functions;
  Dwarf_Die* scopes = nullptr;
  int count = dwarf_getscopes(unit, address, &scopes);
  std::unique_ptr<Dwarf_Die, Freed> of_address(count > 0 ? scopes : nullptr);
  std::unique_ptr<Dwarf_Die, Freed> nested;
  if (count > 0) {
    // Where the functions are inlined into each other, not where they are declared.
    Dwarf_Die* chain = nullptr;
    count = dwarf_getscopes_die(of_address.get(), &chain);
    nested.reset(count > 0 ? chain : nullptr);
  }
  for (int i = 0; i < count; ++i) {
    Dwarf_Die* scope = nested.get() + i;
    const int tag = dwarf_tag(scope);
    if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram) continue;
    const char* name = dwarf_diename(scope);
    const char* linkage = linkage_name(scope);
    next.name = name ? name : "";
    next.function = linkage ? demangled(linkage) : next.name;
    next.inlined = tag == DW_TAG_inlined_subroutine;
    if (!next.inlined && symbol) next.function = demangled(symbol);
    functions.push_back(next);
    if (!next.inlined) break;
    next = Symbol();
    next.file = files ? clean(dwarf_filesrc(files, unsigned_value(scope, DW_AT_call_file), nullptr, nullptr)) : "";
    next.line = unsigned_value(scope, DW_AT_call_line);
  }
  return functions;
}

}  // namespace

class Symbols::Library {
 public:
  Library(const std::string& path, const std::string& build_id, std::uint64_t recorded, char* debug_folders)
      : debug_folders_(debug_folders) {
    open(path, build_id, recorded);
  }

  const std::vector<Symbol>& at(std::uint64_t offset) {
    const auto [known, is_new] = resolved_.try_emplace(offset);
    if (is_new && module_) known->second = resolve(offset);
    return known->second;
  }

  const Doubt& doubt() const { return doubt_; }

 private:
  void open(const std::string& path, const std::string& build_id, std::uint64_t recorded) {
    const int file = open_regular(path, Links::follow);
    if (file < 0) {
      return refuse(std::string("the file cannot be read: ") + std::strerror(errno));
    }
    struct stat status {};
    fstat(file, &status);
    callbacks_.find_elf = [](Dwfl_Module*, void**, const char*, Dwarf_Addr, char**, Elf**) { return -1; };
    // Not dwfl_standard_find_debuginfo, which asks a server where DEBUGINFOD_URLS is set.
    callbacks_.find_debuginfo = dwfl_build_id_find_debuginfo;
    callbacks_.debuginfo_path = &debug_folders_;
    session_.reset(dwfl_begin(&callbacks_));
    module_ = session_ ? dwfl_report_offline(session_.get(), "", path.c_str(), file) : nullptr;
    if (!module_) {
      close(file);
      return refuse("the file is no library");
    }
    dwfl_report_end(session_.get(), nullptr, nullptr);
    if (!dwfl_module_getelf(module_, &bias_)) return refuse("the file is no library");
    const unsigned char* bytes = nullptr;
    GElf_Addr address = 0;
    const int size = dwfl_module_build_id(module_, &bytes, &address);
    if (hexadecimal(bytes, std::max(size, 0)) != build_id) return refuse("the file has changed since the run");
    const auto changed = static_cast<std::uint64_t>(status.st_mtim.tv_sec) * 1'000'000'000 +
                         static_cast<std::uint64_t>(status.st_mtim.tv_nsec);
    if (build_id.empty() && changed > recorded) return refuse("the file is newer than the run and has no build-id");
    functions_ = function_table(module_);
    Dwarf_Addr bias = 0;
    if (!dwfl_module_getdwarf(module_, &bias)) doubt_ = {"it has no debug information", false};
  }

  void refuse(std::string why) {
    doubt_ = {std::move(why), true};
    module_ = nullptr;
  }

  std::vector<Symbol> resolve(std::uint64_t offset) const {
    // The call lies before the address that it returns to, which may be another function's (P33).
    const GElf_Addr address = offset + bias_ - 1;
    const char* symbol = function_at(functions_, address);
    Dwarf_Addr bias = 0;
    std::vector<Symbol> functions;
    if (Dwarf_Die* unit = unit_at(module_, address, &bias)) functions = functions_at(unit, address - bias, symbol);
    if (functions.empty() && symbol) {
      functions.emplace_back();
      functions.back().function = demangled(symbol);
    }
    return functions;
  }

  char* debug_folders_;
  Dwfl_Callbacks callbacks_{};
  std::unique_ptr<Dwfl, Ended> session_;
  Dwfl_Module* module_ = nullptr;
  GElf_Addr bias_ = 0;
  std::vector<Entry> functions_;
  Doubt doubt_;
  std::map<std::uint64_t, std::vector<Symbol>> resolved_;
};

Symbols::Symbols(std::string debug_folders) : debug_folders_(std::move(debug_folders)) {}

Symbols::~Symbols() = default;

const std::vector<Symbol>& Symbols::at(const std::string& library, const std::string& build_id, std::uint64_t offset,
                                       std::uint64_t recorded) {
  std::unique_ptr<Library>& known = libraries_[{library, build_id}];
  if (!known) known = std::make_unique<Library>(library, build_id, recorded, debug_folders_.data());
  return known->at(offset);
}

const Doubt& Symbols::doubt(const std::string& library, const std::string& build_id) const {
  static const Doubt none;
  const auto known = libraries_.find({library, build_id});
  return known == libraries_.end() ? none : known->second->doubt();
}

std::string demangled(std::string symbol) {
  symbol.resize(std::min(symbol.find('@'), symbol.size()));
  int status = 0;
  const std::unique_ptr<char, Freed> text(abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status));
  return text ? text.get() : symbol;
}

}  // namespace device_audit::report
