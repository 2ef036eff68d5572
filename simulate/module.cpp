// Code that a program loads while it runs: any image loads, any name in it is a kernel, and none is run.
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "driver.h"
#include "kernel.h"
#include "objects.h"

// A library of the newer interface is a module, and a kernel of it a function.
struct CUmod_st {};
struct CUfunc_st {
  char* name;
  CUmod_st* module;
};

using namespace device_audit::simulate;

namespace {

constinit Objects<CUmod_st> modules;
constinit Objects<CUfunc_st> functions;

CUlibrary library_of(CUmodule module) {
  return reinterpret_cast<CUlibrary>(module);
}
CUmodule module_of(CUlibrary library) {
  return reinterpret_cast<CUmodule>(library);
}
CUkernel kernel_of(CUfunction function) {
  return reinterpret_cast<CUkernel>(function);
}
CUfunction function_of(CUkernel kernel) {
  return reinterpret_cast<CUfunction>(kernel);
}

CUresult load(CUmodule* module) {
  if (cudaError_t error = enter(); error != cudaSuccess) return static_cast<CUresult>(error);
  *module = modules.make({});
  return *module ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult load(CUlibrary* library) {
  CUmodule module = nullptr;
  const CUresult result = load(&module);
  *library = library_of(module);
  return result;
}

CUresult unload(CUmodule module) {
  if (!modules.drop(module)) return CUDA_ERROR_INVALID_HANDLE;
  functions.for_each([module](CUfunc_st& function) {
    if (function.module == module) function.module = nullptr;
  });
  return CUDA_SUCCESS;
}

CUresult get(CUfunction* function, CUmodule module, const char* name) {
  if (!modules.holds(module)) return CUDA_ERROR_INVALID_HANDLE;
  *function = nullptr;
  functions.for_each([&](CUfunc_st& known) {
    if (known.module == module && strcmp(known.name, name) == 0) *function = &known;
  });
  if (*function) return CUDA_SUCCESS;
  char* copy = strdup(name);
  if (copy) *function = functions.make({copy, module});
  return *function ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult attribute_of(CUfunction_attribute attribute, int* value) {
  const cudaFuncAttributes attributes = kernel_attributes();
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      *value = attributes.maxThreadsPerBlock;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      *value = attributes.numRegs;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      *value = attributes.binaryVersion;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      *value = attributes.maxDynamicSharedSizeBytes;
      return CUDA_SUCCESS;
    default:
      *value = 0;
      return CUDA_SUCCESS;
  }
}

CUresult name_of(CUfunction function, const char** name) {
  if (!functions.holds(function)) return CUDA_ERROR_INVALID_HANDLE;
  *name = function->name;
  return CUDA_SUCCESS;
}

CUresult run(dim3 grid, dim3 block, unsigned shared, CUstream stream) {
  return driver([&]() -> cudaError_t {
    DEVICE_AUDIT_ENTER();
    return launch(grid, block, shared, stream);
  });
}

}  // namespace

extern "C" {

CUresult cuModuleLoad(CUmodule* module, const char*) {
  return load(module);
}
CUresult cuModuleLoadData(CUmodule* module, const void*) {
  return load(module);
}
CUresult cuModuleLoadDataEx(CUmodule* module, const void*, unsigned, CUjit_option*, void**) {
  return load(module);
}
CUresult cuModuleLoadFatBinary(CUmodule* module, const void*) {
  return load(module);
}
CUresult cuModuleUnload(CUmodule module) {
  return unload(module);
}
CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  return get(function, module, name);
}
CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
  *mode = CU_MODULE_LAZY_LOADING;
  return CUDA_SUCCESS;
}
CUresult cuModuleGetGlobal_v2(CUdeviceptr*, size_t*, CUmodule, const char*) {
  return CUDA_ERROR_NOT_FOUND;
}

CUresult cuLibraryLoadData(CUlibrary* library, const void*, CUjit_option*, void**, unsigned, CUlibraryOption*, void**,
                           unsigned) {
  return load(library);
}
CUresult cuLibraryLoadFromFile(CUlibrary* library, const char*, CUjit_option*, void**, unsigned, CUlibraryOption*,
                               void**, unsigned) {
  return load(library);
}
CUresult cuLibraryUnload(CUlibrary library) {
  return unload(module_of(library));
}
CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
  CUfunction function = nullptr;
  const CUresult result = get(&function, module_of(library), name);
  *kernel = kernel_of(function);
  return result;
}
CUresult cuLibraryGetKernelCount(unsigned* count, CUlibrary) {
  *count = 0;
  return CUDA_SUCCESS;
}
CUresult cuLibraryGetModule(CUmodule* module, CUlibrary library) {
  *module = module_of(library);
  return CUDA_SUCCESS;
}
CUresult cuLibraryGetGlobal(CUdeviceptr*, size_t*, CUlibrary, const char*) {
  return CUDA_ERROR_NOT_FOUND;
}
CUresult cuLibraryGetManaged(CUdeviceptr*, size_t*, CUlibrary, const char*) {
  return CUDA_ERROR_NOT_FOUND;
}

CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  *function = function_of(kernel);
  return CUDA_SUCCESS;
}
CUresult cuKernelGetName(const char** name, CUkernel kernel) {
  return name_of(function_of(kernel), name);
}
CUresult cuKernelGetAttribute(int* value, CUfunction_attribute attribute, CUkernel, CUdevice) {
  return attribute_of(attribute, value);
}
CUresult cuKernelSetAttribute(CUfunction_attribute, int, CUkernel, CUdevice) {
  return CUDA_SUCCESS;
}
CUresult cuKernelSetCacheConfig(CUkernel, CUfunc_cache, CUdevice) {
  return CUDA_SUCCESS;
}

CUresult cuFuncGetName(const char** name, CUfunction function) {
  return name_of(function, name);
}
CUresult cuFuncGetModule(CUmodule* module, CUfunction function) {
  if (!functions.holds(function)) return CUDA_ERROR_INVALID_HANDLE;
  *module = function->module;
  return CUDA_SUCCESS;
}
CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction) {
  return attribute_of(attribute, value);
}
CUresult cuFuncSetAttribute(CUfunction, CUfunction_attribute, int) {
  return CUDA_SUCCESS;
}
CUresult cuFuncSetCacheConfig(CUfunction, CUfunc_cache) {
  return CUDA_SUCCESS;
}
CUresult cuFuncLoad(CUfunction) {
  return CUDA_SUCCESS;
}
CUresult cuFuncIsLoaded(CUfunctionLoadingState* state, CUfunction) {
  *state = CU_FUNCTION_LOADING_STATE_LOADED;
  return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(CUfunction, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                        unsigned block_y, unsigned block_z, unsigned shared, CUstream stream, void**, void**) {
  return run({grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared, stream);
}
CUresult cuLaunchKernelEx(const CUlaunchConfig* configuration, CUfunction, void**, void**) {
  return run({configuration->gridDimX, configuration->gridDimY, configuration->gridDimZ},
             {configuration->blockDimX, configuration->blockDimY, configuration->blockDimZ},
             configuration->sharedMemBytes, configuration->hStream);
}
CUresult cuLaunchCooperativeKernel(CUfunction, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                                   unsigned block_y, unsigned block_z, unsigned shared, CUstream stream, void**) {
  return run({grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared, stream);
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction, int block_size, size_t shared) {
  *blocks = blocks_per_multiprocessor(block_size, shared);
  return CUDA_SUCCESS;
}
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, CUfunction, int block_size, size_t shared,
                                                              unsigned) {
  *blocks = blocks_per_multiprocessor(block_size, shared);
  return CUDA_SUCCESS;
}
CUresult cuOccupancyMaxActiveClusters(int* clusters, CUfunction, const CUlaunchConfig*) {
  *clusters = device_attribute(cudaDevAttrMultiProcessorCount, current_device()) / 2;
  return CUDA_SUCCESS;
}
CUresult cuOccupancyMaxPotentialBlockSize(int* grid, int* block, CUfunction, CUoccupancyB2DSize, size_t, int limit) {
  const int most = device_attribute(cudaDevAttrMaxThreadsPerBlock, current_device());
  *block = limit > 0 && limit < most ? limit : most;
  *grid = device_attribute(cudaDevAttrMultiProcessorCount, current_device()) * blocks_per_multiprocessor(*block, 0);
  return CUDA_SUCCESS;
}

// The linker of code compiled at run time: one byte comes out, as from NVRTC.
CUresult cuLinkCreate_v2(unsigned, CUjit_option*, void**, CUlinkState* state) {
  static int linker;
  *state = reinterpret_cast<CUlinkState>(&linker);
  return CUDA_SUCCESS;
}
CUresult cuLinkAddData_v2(CUlinkState, CUjitInputType, void*, size_t, const char*, unsigned, CUjit_option*, void**) {
  return CUDA_SUCCESS;
}
CUresult cuLinkAddFile_v2(CUlinkState, CUjitInputType, const char*, unsigned, CUjit_option*, void**) {
  return CUDA_SUCCESS;
}
CUresult cuLinkComplete(CUlinkState, void** image, size_t* bytes) {
  static char empty;
  *image = &empty;
  *bytes = 1;
  return CUDA_SUCCESS;
}
CUresult cuLinkDestroy(CUlinkState) {
  return CUDA_SUCCESS;
}

// What a kernel reads memory through: never looked at.
CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*,
                                const cuuint64_t*, const cuuint32_t*, const cuuint32_t*, CUtensorMapInterleave,
                                CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
  memset(map, 0, sizeof *map);
  return CUDA_SUCCESS;
}

// The same of the runtime.
cudaError_t cudaLibraryLoadData(cudaLibrary_t* library, const void*, cudaJitOption*, void**, unsigned,
                                cudaLibraryOption*, void**, unsigned) {
  return keep(static_cast<cudaError_t>(load(library)));
}
cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t* library, const char*, cudaJitOption*, void**, unsigned,
                                    cudaLibraryOption*, void**, unsigned) {
  return keep(static_cast<cudaError_t>(load(library)));
}
cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
  return keep(static_cast<cudaError_t>(unload(module_of(library))));
}
cudaError_t cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t library, const char* name) {
  return keep(static_cast<cudaError_t>(cuLibraryGetKernel(kernel, library, name)));
}
cudaError_t cudaLibraryGetKernelCount(unsigned* count, cudaLibrary_t) {
  *count = 0;
  return cudaSuccess;
}
cudaError_t cudaLibraryGetGlobal(void**, size_t*, cudaLibrary_t, const char*) {
  return keep(cudaErrorSymbolNotFound);
}
cudaError_t cudaLibraryGetManaged(void**, size_t*, cudaLibrary_t, const char*) {
  return keep(cudaErrorSymbolNotFound);
}
cudaError_t cudaLibraryGetUnifiedFunction(void**, cudaLibrary_t, const char*) {
  return keep(cudaErrorSymbolNotFound);
}

}  // extern "C"
