// One NCCL communicator for each rank of a group, in one process.
#pragma once

#include <nccl.h>

#include <cstdint>
#include <vector>

#include "backend/cuda/call.h"
#include "backend/ulysses/packed_communicator.h"

namespace syncopate::ulysses::cuda {

inline void check_nccl(ncclResult_t status, const char* call, const char* file, int line) {
  if (status == ncclSuccess) return;
  syncopate::cuda::throw_failed_call("NCCL", ncclGetErrorString(status), status, call, file, line);
}

/// Puts the current device of this thread back at its end.
class KeptDevice {
 public:
  KeptDevice() { SYNCOPATE_CUDA_CALL(cudaGetDevice(&device_)); }
  ~KeptDevice() { static_cast<void>(cudaSetDevice(device_)); }
  KeptDevice(const KeptDevice&) = delete;
  KeptDevice& operator=(const KeptDevice&) = delete;

 private:
  int device_ = 0;
};

class NcclExchange final : public DeviceExchange {
 public:
  /// Rank r is on GPU `gpus[r]`, all different. Makes the communicators and connects every rank to
  /// every other and to itself. Leaves the current device as it was. Throws CudaError.
  explicit NcclExchange(const std::vector<int>& gpus);
  NcclExchange(const NcclExchange&) = delete;
  NcclExchange& operator=(const NcclExchange&) = delete;
  /// Waits until no graph holds them.
  ~NcclExchange() override;

  runtime::Body body(std::uint32_t rank, PackedMoves sends, PackedMoves receives,
                     const Given& given) const override;

 private:
  void connect();

  std::vector<int> gpus_;
  std::vector<ncclComm_t> communicators_;  // by rank
};

}  // namespace syncopate::ulysses::cuda

/// Throws CudaError unless `call` succeeds.
#define SYNCOPATE_NCCL_CALL(call) \
  ::syncopate::ulysses::cuda::check_nccl((call), #call, __FILE__, __LINE__)
