#include "audit/libraries.h"

#include <algorithm>

namespace device_audit {
namespace {

struct Row {
  std::string_view prefix;  // of the file name
  LibraryOwner owner;
};

constexpr Row kRows[] = {
    {"libdevice_audit", LibraryOwner::device_audit},
    {"libtorch", LibraryOwner::torch},
    {"libc10", LibraryOwner::torch},
    {"libshm", LibraryOwner::torch},
    {"libcaffe2", LibraryOwner::torch},
    {"_C.", LibraryOwner::torch},
    {"libpython", LibraryOwner::python},
    {"python", LibraryOwner::python},
    {"libc.so", LibraryOwner::runtime},
    {"libm.so", LibraryOwner::runtime},
    {"libdl.so", LibraryOwner::runtime},
    {"libpthread.so", LibraryOwner::runtime},
    {"libstdc++.so", LibraryOwner::runtime},
    {"libc++", LibraryOwner::runtime},
    {"libgcc_s", LibraryOwner::runtime},
    {"libgomp", LibraryOwner::runtime},
    {"ld-linux", LibraryOwner::runtime},
    {"libcuda", LibraryOwner::runtime},
    {"libcu", LibraryOwner::runtime},
    {"libnccl", LibraryOwner::runtime},
    {"linux-vdso", LibraryOwner::runtime},
};

}  // namespace

LibraryOwner owner_of_library(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  const auto row =
      std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) { return name.starts_with(r.prefix); });
  return row == std::end(kRows) ? LibraryOwner::user : row->owner;
}

}  // namespace device_audit
