# cuDNN out of the wheel that torch brings, and its frontend, which is headers alone: the target
# syncopate::cudnn. The frontend is found in the folder that scripts/setup cuda fills, or in the one
# that SYNCOPATE_CUDNN_FRONTEND names; cuDNN through Python.

set(SYNCOPATE_HAS_CUDNN 0)
if(NOT SYNCOPATE_HAS_CUDA)
  return()
endif()

set(frontend_folder ${PROJECT_SOURCE_DIR}/.venv/cudnn_frontend)
if(SYNCOPATE_CUDNN_FRONTEND)
  set(frontend_folder ${SYNCOPATE_CUDNN_FRONTEND})
endif()
if(NOT EXISTS ${frontend_folder}/include/cudnn_frontend.h)
  if(SYNCOPATE_CUDNN_FRONTEND)
    message(FATAL_ERROR "SYNCOPATE_CUDNN_FRONTEND=${SYNCOPATE_CUDNN_FRONTEND}, but it has no "
                        "include/cudnn_frontend.h: scripts/wheel_headers.py makes such a folder of "
                        "the wheel")
  endif()
  return()
endif()

execute_process(
  COMMAND ${SYNCOPATE_PYTHON} -c "from importlib.util import find_spec
print(list(find_spec('nvidia.cudnn').submodule_search_locations)[0])"
  OUTPUT_VARIABLE cudnn_folder OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT EXISTS "${cudnn_folder}/include/cudnn.h" OR NOT EXISTS "${cudnn_folder}/lib/libcudnn.so.9")
  return()
endif()
set(SYNCOPATE_HAS_CUDNN 1)
set(SYNCOPATE_CUDNN_FOLDER ${cudnn_folder})

# As system headers: their warnings are not ours to mend.
add_library(syncopate_cudnn INTERFACE)
add_library(syncopate::cudnn ALIAS syncopate_cudnn)
target_include_directories(syncopate_cudnn SYSTEM INTERFACE
  ${frontend_folder}/include ${cudnn_folder}/include)
target_link_libraries(syncopate_cudnn INTERFACE
  ${cudnn_folder}/lib/libcudnn.so.9 CUDA::cudart CUDA::nvrtc CUDA::cuda_driver)
