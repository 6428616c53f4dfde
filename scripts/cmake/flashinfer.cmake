# FlashInfer's headers, for attention on a device: the target syncopate::flashinfer. Found in the
# folder that scripts/setup cuda fills, or in the one that SYNCOPATE_FLASHINFER names.

set(SYNCOPATE_HAS_FLASHINFER 0)
if(NOT SYNCOPATE_HAS_CUDA)
  return()
endif()

set(SYNCOPATE_FLASHINFER_FOLDER ${PROJECT_SOURCE_DIR}/.venv/flashinfer)
if(SYNCOPATE_FLASHINFER)
  set(SYNCOPATE_FLASHINFER_FOLDER ${SYNCOPATE_FLASHINFER})
endif()
if(NOT EXISTS ${SYNCOPATE_FLASHINFER_FOLDER}/include/flashinfer/attention/prefill.cuh)
  if(SYNCOPATE_FLASHINFER)
    message(FATAL_ERROR "SYNCOPATE_FLASHINFER=${SYNCOPATE_FLASHINFER}, but it has no "
                        "include/flashinfer/attention/prefill.cuh: scripts/wheel_headers.py "
                        "makes such a folder of the wheel")
  endif()
  return()
endif()
set(SYNCOPATE_HAS_FLASHINFER 1)

# As system headers: their warnings are not ours to mend.
add_library(syncopate_flashinfer INTERFACE)
add_library(syncopate::flashinfer ALIAS syncopate_flashinfer)
target_include_directories(syncopate_flashinfer SYSTEM INTERFACE
  ${SYNCOPATE_FLASHINFER_FOLDER}/include)
