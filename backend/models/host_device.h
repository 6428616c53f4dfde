// Marks functions that both the host and CUDA kernels call.
#pragma once

#if defined(__CUDACC__)
#define SYNCOPATE_HOST_DEVICE __host__ __device__
#else
#define SYNCOPATE_HOST_DEVICE
#endif
