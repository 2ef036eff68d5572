#include "report/user_code.h"

#include <algorithm>
#include <array>

namespace device_audit::report {
namespace {

constexpr std::array kLibraries = {
    "libtorch",        "libc10",     "libcaffe2", "libshm",    "_C.",                         // PyTorch
    "libdnnl",         "libmkl",     "libgomp",   "libiomp",   "libopenblas",                 // what computes for it
    "libcuda",         "libcublas",  "libcudnn",  "libcufft",  "libcurand",   "libcusolver",  // CUDA
    "libcusparse",     "libcupti",   "libnccl",   "libnvrtc",  "libnvidia",   "libnvshmem",   //
    "python",          "libpython",  "_ctypes.",                                              // the interpreter
    "libc.so",         "libc-2",     "libm.so",   "libdl.so",  "libpthread",  "ld-linux",
    "[vdso]",          "linux-vdso",                            // C
    "libstdc++",       "libgcc_s",   "libc++",    "libunwind",  // C++
    "libdevice_audit",                                          // ours
};

constexpr std::array kFolders = {
    "/include/torch/",    "/include/ATen/",   "/include/c10/", "/include/caffe2/", "/include/torch_",
    "/include/pybind11/", "/include/python3", "/include/c++/", "/usr/include/",    "/lib/gcc/",
};

}  // namespace

bool is_user_library(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return !name.empty() && std::none_of(kLibraries.begin(), kLibraries.end(),
                                       [&](const char* theirs) { return name.starts_with(theirs); });
}

bool is_user_source(std::string_view file) {
  return !file.empty() && std::none_of(kFolders.begin(), kFolders.end(),
                                       [&](const char* theirs) { return file.find(theirs) != std::string_view::npos; });
}

}  // namespace device_audit::report
