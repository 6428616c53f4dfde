# libtorch out of the torch wheel of .venv, or of the system's Python: the target syncopate::torch.
#
# The wheel's own find_package(Torch) is not used: it is a fatal error on a machine without a CUDA
# toolkit, even for a program that stays on the CPU. All that it would add is listed here.

set(SYNCOPATE_HAS_TORCH 0)
if(NOT SYNCOPATE_TORCH)
  return()
endif()

# Importing torch takes seconds, so the answer is kept; a folder that has gone is asked for anew.
if(NOT EXISTS "${SYNCOPATE_TORCH_FOLDER}/lib/libtorch_cpu.so")
  execute_process(
    COMMAND ${SYNCOPATE_PYTHON} -c "import os, torch
print(os.path.dirname(torch.__file__), torch.__version__, int(torch.compiled_with_cxx11_abi()), sep=';')"
    OUTPUT_VARIABLE torch OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_VARIABLE torch_error)
  list(LENGTH torch torch_facts)
  if(NOT torch_facts EQUAL 3)
    if(SYNCOPATE_TORCH STREQUAL "AUTO")
      return()
    endif()
    message(FATAL_ERROR "SYNCOPATE_TORCH=${SYNCOPATE_TORCH}, but ${SYNCOPATE_PYTHON} has no torch "
                        "(scripts/setup torch installs it):\n${torch_error}")
  endif()
  list(GET torch 0 torch_folder)
  list(GET torch 1 torch_version)
  list(GET torch 2 torch_cxx11_abi)
  set(SYNCOPATE_TORCH_FOLDER ${torch_folder} CACHE INTERNAL "The torch wheel's folder")
  set(SYNCOPATE_TORCH_VERSION ${torch_version} CACHE INTERNAL "The torch wheel's version")
  set(SYNCOPATE_TORCH_CXX11_ABI ${torch_cxx11_abi} CACHE INTERNAL "The ABI it was compiled with")
endif()
set(SYNCOPATE_HAS_TORCH 1)

set(torch_lib ${SYNCOPATE_TORCH_FOLDER}/lib)
add_library(syncopate_torch INTERFACE)
add_library(syncopate::torch ALIAS syncopate_torch)
# Behind the system's headers: the wheel carries a copy of {fmt}, newer than the library that we
# link, and in front it would be taken for it.
foreach(folder include include/torch/csrc/api/include)
  set(folder ${SYNCOPATE_TORCH_FOLDER}/${folder})
  target_compile_options(syncopate_torch INTERFACE
    "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-idirafter ${folder}>"
    "$<$<COMPILE_LANGUAGE:CUDA>:SHELL:-Xcompiler=-idirafter,${folder}>")
endforeach()
target_compile_definitions(syncopate_torch INTERFACE
  _GLIBCXX_USE_CXX11_ABI=${SYNCOPATE_TORCH_CXX11_ABI})
target_link_libraries(syncopate_torch INTERFACE
  ${torch_lib}/libtorch_cpu.so ${torch_lib}/libc10.so Threads::Threads)
if(SYNCOPATE_HAS_CUDA AND EXISTS ${torch_lib}/libtorch_cuda.so)
  # libtorch_cuda registers itself when it is loaded, and nobody calls into it by name: without
  # this a linker that drops libraries 'as needed' would drop it.
  target_link_options(syncopate_torch INTERFACE LINKER:--no-as-needed)
  target_link_libraries(syncopate_torch INTERFACE
    ${torch_lib}/libtorch_cuda.so ${torch_lib}/libc10_cuda.so CUDA::cudart)
endif()
