# CUDA: the compiler and toolkit, when SYNCOPATE_CUDA allows and they are there.

set(SYNCOPATE_HAS_CUDA 0)
if(NOT SYNCOPATE_CUDA)
  return()
endif()

# Hopper with its architecture-specific instructions (wgmma, bulk tensor copies).
if(NOT CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 90a)
endif()
include(CheckLanguage)
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  if(SYNCOPATE_CUDA STREQUAL "AUTO")
    return()
  endif()
  message(FATAL_ERROR "SYNCOPATE_CUDA=${SYNCOPATE_CUDA}, but no CUDA compiler was found: put nvcc "
                      "on the PATH, or set CUDACXX")
endif()
enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)
set(SYNCOPATE_HAS_CUDA 1)

# A program that links the driver does not start where there is none, not even to say that there
# is none. On such a machine (it compiles CUDA, and runs the rest) the toolkit's stub stands in at
# run time: each call fails, and tests report 'skipped: no CUDA device'. Only the loader knows.
execute_process(
  COMMAND ${SYNCOPATE_PYTHON} -c "import ctypes; ctypes.CDLL('libcuda.so.1')"
  RESULT_VARIABLE no_driver OUTPUT_QUIET ERROR_QUIET)
if(no_driver AND CUDA_cuda_driver_LIBRARY MATCHES "/stubs/")
  set(stub_folder ${PROJECT_BINARY_DIR}/driver-stub)
  file(MAKE_DIRECTORY ${stub_folder})
  file(CREATE_LINK ${CUDA_cuda_driver_LIBRARY} ${stub_folder}/libcuda.so.1 SYMBOLIC)
  list(APPEND CMAKE_BUILD_RPATH ${stub_folder})
endif()
