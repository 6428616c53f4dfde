# NCCL, for the `nccl` transport of Ulysses passes: the target syncopate::nccl. It is the wheel's that
# torch brings, found through Python, else the toolkit's.

set(SYNCOPATE_HAS_NCCL 0)
if(NOT SYNCOPATE_HAS_CUDA)
  return()
endif()

execute_process(
  COMMAND ${SYNCOPATE_PYTHON} -c "from importlib.util import find_spec
print(list(find_spec('nvidia.nccl').submodule_search_locations)[0])"
  OUTPUT_VARIABLE wheel_folder OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
find_path(nccl_include nccl.h NO_CACHE NO_DEFAULT_PATH
  PATHS ${wheel_folder}/include ${CUDAToolkit_INCLUDE_DIRS})
find_library(nccl_library NAMES nccl libnccl.so.2 NO_CACHE NO_DEFAULT_PATH
  PATHS ${wheel_folder}/lib ${CUDAToolkit_LIBRARY_DIR})
if(NOT nccl_include OR NOT nccl_library)
  return()
endif()
set(SYNCOPATE_HAS_NCCL 1)
set(SYNCOPATE_NCCL_LIBRARY ${nccl_library})

# As system headers: their warnings are not ours to mend.
add_library(syncopate_nccl INTERFACE)
add_library(syncopate::nccl ALIAS syncopate_nccl)
target_include_directories(syncopate_nccl SYSTEM INTERFACE ${nccl_include})
target_link_libraries(syncopate_nccl INTERFACE ${nccl_library} CUDA::cudart)
