// A Python and the torch in it, learnt without importing torch.
#pragma once

#include <optional>
#include <string>

namespace device_audit::report {

struct TorchPackage {
  std::string folder;    // empty: that Python finds none
  std::string version;   // "2.15.0+cu132"; empty: no version.py says it
  std::string cuda;      // "13.2"; empty: built without CUDA
  std::string library;   // libtorch_cpu.so; empty: there is none
  std::string build_id;  // of the library; empty: it has none
  std::optional<bool> cxx11_abi;
};

struct PythonEnvironment {
  std::string path;     // absolute, links kept: a venv is known by its link; empty: none was found
  std::string problem;  // why nothing else is known; empty: it is
  std::string version;
  TorchPackage torch;
  std::string cupti;          // libcupti of NVIDIA's wheels; empty: none
  bool cuda_headers = false;  // NVIDIA's wheels have cuda.h
};

// Of the Python `named` (a program, or the folder of a venv); empty: the active one, which is that of $VIRTUAL_ENV,
// else python3 in PATH.
PythonEnvironment python_environment(const std::string& named);

// What version.py of torch assigns to `name`, read as text; empty: nothing, or None.
std::string assigned(const std::string& version_py, const std::string& name);

}  // namespace device_audit::report
