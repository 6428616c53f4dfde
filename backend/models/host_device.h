// Marks functions that both the host and CUDA kernels call.
#pragma once

#if defined(__CUDACC__)
#define SYNCOPATE_HOST_DEVICE __host__ __device__
/// For a template whose argument decides on which side it can run.
#define SYNCOPATE_HOST_OR_DEVICE _Pragma("nv_exec_check_disable") __host__ __device__
#else
#define SYNCOPATE_HOST_DEVICE
#define SYNCOPATE_HOST_OR_DEVICE
#endif
