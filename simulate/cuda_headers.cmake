# cuda::headers: the include folders of CUDA, from a toolkit (DEVICE_AUDIT_CUDA) or from the nvidia wheels of the Python
# that torch is in. Headers only: no nvcc and no toolkit is needed.

set(cuda_include "")
if(DEVICE_AUDIT_CUDA)
  set(cuda_include ${DEVICE_AUDIT_CUDA}/include)
elseif(DEVICE_AUDIT_PYTHON)
  execute_process(COMMAND ${DEVICE_AUDIT_PYTHON} -c "
import glob, importlib.util as u
spec = u.find_spec('nvidia')
print(';'.join(sorted(p for root in (spec.submodule_search_locations if spec else []) for p in glob.glob(root + '/*/include'))))"
                  OUTPUT_VARIABLE cuda_include OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()

if(cuda_include)
  add_library(cuda::headers INTERFACE IMPORTED)
  target_include_directories(cuda::headers SYSTEM INTERFACE ${cuda_include})
endif()
