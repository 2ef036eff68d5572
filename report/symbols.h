// Functions and source lines of return addresses in libraries, read from the files after the run (P33).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace device_audit::report {

struct Symbol {
  std::string function;  // demangled, with its parameters; empty: no symbol covers the address
  std::string name;      // of the function alone, as in the source; empty: no debug information
  std::string file;      // empty: no debug information
  std::uint64_t line = 0;
  bool inlined = false;  // into the next one
};

// Why a library gives less than all; nothing to say: `why` is empty.
struct Doubt {
  std::string why;
  bool functions = false;  // it gives no function either, not only no lines
};

// Opens a library when it is first asked for, and keeps it open. A file is believed only if it has the build-id that
// was recorded, or, where the library has none, if it is older than the time of recording. Never asks the network.
class Symbols {
 public:
  // `debug_folders`: where separate debug files lie, in `.build-id/`.
  explicit Symbols(std::string debug_folders = "/usr/lib/debug");
  ~Symbols();
  Symbols(const Symbols&) = delete;
  Symbols& operator=(const Symbols&) = delete;

  // The functions around the call that returns to `offset`, innermost first: several where functions are inlined, none
  // where nothing is known. `offset` is relative to the load address of the library; `recorded` is in nanoseconds.
  const std::vector<Symbol>& at(const std::string& library, const std::string& build_id, std::uint64_t offset,
                                std::uint64_t recorded);

  // Of a library that was asked for.
  const Doubt& doubt(const std::string& library, const std::string& build_id) const;

 private:
  class Library;
  std::string debug_folders_;
  std::map<std::pair<std::string, std::string>, std::unique_ptr<Library>> libraries_;
};

// `symbol` as in the source, without its version (`@GLIBC_2.2.5`).
std::string demangled(std::string symbol);

}  // namespace device_audit::report
