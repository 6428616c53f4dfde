# Finds the libraries. Sets SYNCOPATE_HAS_TORCH, SYNCOPATE_HAS_CUDA, SYNCOPATE_HAS_FLASHINFER,
# SYNCOPATE_HAS_CUDNN and SYNCOPATE_HAS_NCCL to 0 or 1; the targets that choose by them get them as definitions from
# syncopate_define_features (library.cmake).

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(Eigen3 3.4 REQUIRED NO_MODULE)
find_package(ZLIB REQUIRED)
find_package(GTest REQUIRED)
find_package(benchmark REQUIRED)

# yaml-cpp before 0.8 names its target without a namespace.
if(NOT TARGET yaml-cpp::yaml-cpp)
  add_library(yaml-cpp::yaml-cpp ALIAS yaml-cpp)
endif()

# Python runs the tests that are written in it, and knows where libtorch is.
find_program(SYNCOPATE_PYTHON python3 PATHS ${PROJECT_SOURCE_DIR}/.venv/bin NO_DEFAULT_PATH)
find_program(SYNCOPATE_PYTHON python3 REQUIRED)
mark_as_advanced(SYNCOPATE_PYTHON)

include(cuda)
include(flashinfer)
include(cudnn)
include(nccl)
include(torch)
