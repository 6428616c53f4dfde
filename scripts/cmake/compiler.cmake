# The language, the flags of every target, and the launcher that makes rebuilds cheap.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()
# -O2 and line tables: what a profile or a sanitizer's stack needs, in a fraction of -g's size.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")
set(CMAKE_CUDA_FLAGS_RELWITHDEBINFO "-O2 -lineinfo -DNDEBUG")

# A run in virtual time prints the same bytes on every machine. Fusing a*b+c rounds once instead
# of twice, and compilers fuse where the target has the instruction; so no host code fuses.
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>
                    $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-ffp-contract=off>)

# GCC collects its own garbage at every third of growth, a tenth of the time that a batch of sources
# takes. It need not below 500 MB, which two at a time can spare.
add_compile_options(
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=500000>)

add_compile_options(
  "$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wconversion;-Wnon-virtual-dtor;-Woverloaded-virtual;-Wcast-qual;-Wimplicit-fallthrough>"
  # No -Wpedantic: nvcc's own output is full of extensions.
  "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,-Wshadow>")
if(SYNCOPATE_WERROR)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Werror>
                      "$<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings;-Xcompiler=-Werror>")
endif()

if(SYNCOPATE_SANITIZE STREQUAL "address")
  set(sanitize -fsanitize=address,undefined -fno-sanitize-recover=all)
elseif(SYNCOPATE_SANITIZE STREQUAL "thread")
  set(sanitize -fsanitize=thread)
elseif(SYNCOPATE_SANITIZE STREQUAL "fuzzer")
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "SYNCOPATE_SANITIZE=fuzzer needs clang: libFuzzer comes with it")
  endif()
  set(sanitize -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all)
elseif(NOT SYNCOPATE_SANITIZE STREQUAL "")
  message(FATAL_ERROR
    "SYNCOPATE_SANITIZE is '${SYNCOPATE_SANITIZE}': not empty, address, thread or fuzzer")
endif()
if(SYNCOPATE_SANITIZE)
  if(SYNCOPATE_CUDA)  # AUTO counts: a sanitized program must not depend on what is found
    message(FATAL_ERROR "SYNCOPATE_SANITIZE needs SYNCOPATE_CUDA=OFF: nvcc takes no sanitizer")
  endif()
  # Assertions stay on here, the standard library's included. Optimizing what the address and
  # undefined checks add takes three times as long to compile, and the tests gain less than that.
  if(SYNCOPATE_SANITIZE STREQUAL "address")
    set(optimize -O0)
  else()
    set(optimize -O1)
  endif()
  set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "${optimize} -g1 -fno-omit-frame-pointer")
  add_compile_options(${sanitize})
  add_compile_definitions(_GLIBCXX_ASSERTIONS)
  add_link_options(${sanitize})
endif()

find_program(SYNCOPATE_CCACHE ccache)
mark_as_advanced(SYNCOPATE_CCACHE)
if(SYNCOPATE_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${SYNCOPATE_CCACHE})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${SYNCOPATE_CCACHE})
endif()
