# torch::torch, an imported target made from an installed torch: find_package(Torch) fails where there is no nvcc.
# Source: DEVICE_AUDIT_TORCH (a LibTorch folder), else the torch package of DEVICE_AUDIT_PYTHON. Neither: no target.

set(torch_root "")
if(DEVICE_AUDIT_TORCH)
  set(torch_root ${DEVICE_AUDIT_TORCH})
elseif(DEVICE_AUDIT_PYTHON)
  execute_process(COMMAND ${DEVICE_AUDIT_PYTHON} -c
                          "import importlib.util as u; print(u.find_spec('torch').submodule_search_locations[0])"
                  OUTPUT_VARIABLE torch_root OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed ERROR_QUIET)
  if(failed)
    message(FATAL_ERROR "${DEVICE_AUDIT_PYTHON} has no torch: install it there, or name a LibTorch folder with -DDEVICE_AUDIT_TORCH=")
  endif()
endif()

if(torch_root)
  set(DEVICE_AUDIT_TORCH_ROOT ${torch_root})
  file(STRINGS ${torch_root}/include/torch/headeronly/version.h version_line REGEX "define TORCH_VERSION ")
  string(REGEX REPLACE ".*\"(.*)\".*" "\\1" DEVICE_AUDIT_TORCH_VERSION "${version_line}")
  # The package knows its whole version, local part included ("2.15.0+cu132").
  if(EXISTS ${torch_root}/version.py)
    file(STRINGS ${torch_root}/version.py version_line REGEX "^__version__ = ")
    string(REGEX REPLACE ".*'(.*)'.*" "\\1" DEVICE_AUDIT_TORCH_VERSION "${version_line}")
  endif()
  add_library(torch::c10 SHARED IMPORTED)
  set_target_properties(torch::c10 PROPERTIES IMPORTED_LOCATION ${torch_root}/lib/libc10.so)
  add_library(torch::torch SHARED IMPORTED)
  set_target_properties(torch::torch PROPERTIES IMPORTED_LOCATION ${torch_root}/lib/libtorch_cpu.so)
  target_include_directories(torch::torch SYSTEM INTERFACE ${torch_root}/include
                                                           ${torch_root}/include/torch/csrc/api/include)
  # Without NDEBUG the headers assert in RecordFunction::inputs().
  target_compile_definitions(torch::torch INTERFACE NDEBUG)
  target_link_libraries(torch::torch INTERFACE torch::c10)
  # libtorch_cpu finds its CUDA libraries by its own RPATH when it is loaded, not when we are linked.
  target_link_options(torch::torch INTERFACE -Wl,--unresolved-symbols=ignore-in-shared-libs)

  # torch::program: what a LibTorch program links. Nothing in it refers to libtorch_cuda, which registers itself when it is loaded.
  add_library(torch::program INTERFACE IMPORTED)
  target_link_libraries(torch::program INTERFACE torch::torch)
  if(EXISTS ${torch_root}/lib/libtorch_cuda.so)
    target_link_options(torch::program INTERFACE -Wl,--no-as-needed ${torch_root}/lib/libtorch_cuda.so -Wl,--as-needed)
  endif()
  target_link_options(torch::program INTERFACE -Wl,-rpath,${torch_root}/lib)
  message(STATUS "torch ${DEVICE_AUDIT_TORCH_VERSION} in ${torch_root}")
endif()
