// What there is to say of a GPU, for the record of a run.
#pragma once

#include <cstddef>
#include <string>

namespace syncopate::cuda {

struct DeviceDescription {
  std::string name;
  std::size_t memory_bytes = 0;
  int multiprocessors = 0;
  std::string driver_cuda;   ///< The newest CUDA that the driver serves, as in "13.0".
  std::string runtime_cuda;  ///< The CUDA runtime that this program has linked.
};

/// Describes CUDA's device `device`. Throws CudaError when there is none. Any thread may call it.
DeviceDescription describe_device(int device);

}  // namespace syncopate::cuda
