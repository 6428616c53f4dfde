// Attention on a GPU: cuDNN's where it has a kernel, a plain kernel of ours elsewhere.
//
// cuDNN through its own graph interface and not through libtorch: libtorch's call allocates the
// output and cannot be given one, so that a pass would copy each band once more (0.13 ms at 37,760
// tokens), and it allocates inside captures.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "backend/ulysses/attention.h"
#include "backend/ulysses/cuda/cudnn_plan.h"

namespace syncopate::ulysses::cuda {

/// fp16 and bf16 in heads of a multiple of 8 elements up to kMaxCudnnHeadDim: cuDNN, one kernel for
/// each run of head_runs(). Anything else: the plain kernel.
///
/// Plans are built by prepare(), which must come before the run: building one loads code, and CUDA
/// may then wait for what runs. Afterwards thread-safe, and nothing is compiled or allocated.
class DeviceAttention final : public Attention {
 public:
  static constexpr std::uint32_t kMaxCudnnHeadDim = 128;

  /// Device d of the runtime is GPU d mod `gpus`.
  explicit DeviceAttention(int gpus) : gpus_(static_cast<std::size_t>(gpus)) {}

  const char* kind() const override { return "device"; }
  void check(const AttentionBand& band) const override;
  std::uint64_t prepare(const AttentionBand& band, runtime::Device device) const override;
  runtime::Kernel kernel(const AttentionBand& band, const AttentionBuffers& buffers) const override;

  /// Plans built so far: how many shapes there are.
  std::size_t plans() const;

 private:
  struct Gpu {
    std::unique_ptr<CudnnHandle> handle;
    std::map<CudnnShape, std::unique_ptr<CudnnPlan>> plans;
    mutable std::mutex mutex;  // held while a plan enqueues: its handle has one stream at a time
  };
  struct EnqueueArgs;
  static void run(runtime::Exec& exec, const EnqueueArgs& args);
  void enqueue(const AttentionBand& band, const DeviceTensors& tensors, std::byte* scratch,
               cudaStream_t stream) const;
  Gpu& current_gpu() const;

  mutable std::vector<Gpu> gpus_;
};

}  // namespace syncopate::ulysses::cuda
