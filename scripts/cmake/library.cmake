# syncopate_library(NAME SOURCES pattern... [EXCLUDE file...] [DEPS target...])
#
# A static library of the sources that match the patterns, rooted at the project for its includes.
# Patterns are looked at again at each build, so a new file needs no edit here. A folder without a
# matching source gives no library, and a dependency of ours that gave none is left out.
function(syncopate_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;EXCLUDE;DEPS")
  file(GLOB sources CONFIGURE_DEPENDS ${arg_SOURCES})
  foreach(file IN LISTS arg_EXCLUDE)
    list(REMOVE_ITEM sources ${CMAKE_CURRENT_SOURCE_DIR}/${file})
  endforeach()
  if(NOT sources)
    return()
  endif()
  add_library(${name} STATIC ${sources})
  syncopate_compile_kernels_alone(${sources})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
  syncopate_link(${name} PUBLIC ${arg_DEPS})
  set_property(GLOBAL APPEND PROPERTY SYNCOPATE_LIBRARIES ${name})
endfunction()

# Kernels are compiled one by one, also where C++ sources are batched (CMAKE_UNITY_BUILD).
function(syncopate_compile_kernels_alone)
  list(FILTER ARGN INCLUDE REGEX "\\.cu$")
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# target_link_libraries, less those libraries of ours that have no sources.
function(syncopate_link name scope)
  foreach(dependency IN LISTS ARGN)
    if(TARGET ${dependency} OR NOT dependency MATCHES "^syncopate_")
      target_link_libraries(${name} ${scope} ${dependency})
    endif()
  endforeach()
endfunction()

# For the few targets that choose by what was found. All others compile the same in every preset,
# so that a compiler cache serves them from one to the next.
function(syncopate_define_features name)
  target_compile_definitions(${name} PRIVATE
    SYNCOPATE_HAS_TORCH=${SYNCOPATE_HAS_TORCH} SYNCOPATE_HAS_CUDA=${SYNCOPATE_HAS_CUDA}
    SYNCOPATE_HAS_FLASHINFER=${SYNCOPATE_HAS_FLASHINFER} SYNCOPATE_HAS_CUDNN=${SYNCOPATE_HAS_CUDNN}
    SYNCOPATE_HAS_NCCL=${SYNCOPATE_HAS_NCCL})
endfunction()

# For targets of which nothing runs per step: -O1 compiles in four fifths of the time. Sanitized
# builds have a level of their own.
function(syncopate_compile_cold)
  foreach(name IN LISTS ARGN)
    if(TARGET ${name} AND NOT SYNCOPATE_SANITIZE)
      target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-O1>)
    endif()
  endforeach()
endfunction()
