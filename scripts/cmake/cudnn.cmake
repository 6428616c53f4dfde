# cuDNN out of the wheel that comes with libtorch's, and its frontend (headers alone): the target
# syncopate::cudnn. Sets SYNCOPATE_HAS_CUDNN.

set(SYNCOPATE_HAS_CUDNN 0)
if(NOT SYNCOPATE_HAS_CUDA)
  return()
endif()

execute_process(
  COMMAND ${SYNCOPATE_PYTHON} -c "import sysconfig
from importlib.util import find_spec
spec = find_spec('nvidia.cudnn')
print(list(spec.submodule_search_locations)[0], sysconfig.get_path('purelib'), sep=';')"
  OUTPUT_VARIABLE cudnn_folders OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
list(LENGTH cudnn_folders cudnn_facts)
if(NOT cudnn_facts EQUAL 2)
  return()
endif()
list(GET cudnn_folders 0 cudnn_folder)
list(GET cudnn_folders 1 python_folder)

set(frontend_folder ${python_folder}/include)
if(SYNCOPATE_CUDNN_FRONTEND)
  set(frontend_folder ${SYNCOPATE_CUDNN_FRONTEND}/include)
endif()
if(NOT EXISTS ${frontend_folder}/cudnn_frontend.h)
  if(SYNCOPATE_CUDNN_FRONTEND)
    message(FATAL_ERROR "SYNCOPATE_CUDNN_FRONTEND=${SYNCOPATE_CUDNN_FRONTEND}, but it has no "
                        "include/cudnn_frontend.h")
  endif()
  return()
endif()
if(NOT EXISTS ${cudnn_folder}/include/cudnn.h OR NOT EXISTS ${cudnn_folder}/lib/libcudnn.so.9)
  return()
endif()
set(SYNCOPATE_HAS_CUDNN 1)
set(SYNCOPATE_CUDNN_FOLDER ${cudnn_folder})

# As system headers: their warnings are not ours to mend.
add_library(syncopate_cudnn INTERFACE)
add_library(syncopate::cudnn ALIAS syncopate_cudnn)
target_include_directories(syncopate_cudnn SYSTEM INTERFACE
  ${frontend_folder} ${cudnn_folder}/include)
target_link_libraries(syncopate_cudnn INTERFACE
  ${cudnn_folder}/lib/libcudnn.so.9 CUDA::cudart CUDA::nvrtc CUDA::cuda_driver)
