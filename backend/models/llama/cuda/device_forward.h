// The forward pass on the device.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>

#include "backend/cuda/memory.h"
#include "backend/models/batch_view.h"
#include "backend/models/history.h"
#include "backend/models/llama/config.h"
#include "backend/models/llama/cuda/bf16.h"
#include "backend/models/llama/cuda/device_weights.h"
#include "backend/models/llama/cuda/device_workspace.h"
#include "backend/models/llama/cuda/gemm.h"
#include "backend/models/llama/cuda/step_plan.h"
#include "backend/models/model.h"

namespace syncopate::models::llama {

/// A transformer ready to run on the device that is current when it is made. Immutable once made;
/// enqueue() is safe from any thread, each step with its own memory.
class DeviceForward {
 public:
  struct Options {
    bool invariant = false;       ///< As LlamaOptions::invariant says.
    std::filesystem::path cache;  ///< GemmOptions::cache.
  };
  /// The memory of a step, on the device.
  struct Memory {
    Bf16* pool;
    std::byte* workspace;
    std::int32_t* next_id;
  };

  /// Chooses the products' algorithms for all padded sizes of steps up to `rows` and `tokens`, and
  /// runs every kernel once, since CUDA loads it then, which it must not do in a capture. Waits for
  /// the device.
  DeviceForward(const LlamaConfig& config, DeviceWeights weights, std::uint32_t rows,
                std::uint32_t tokens, const Options& options);

  const LlamaConfig& config() const { return config_; }
  /// How the products' algorithms were found.
  const GemmTuning& tuning() const { return tuning_; }
  /// For steps within `limits`, whose rows and tokens are at most the constructor's.
  DeviceWorkspace workspace(const BatchLimits& limits) const;
  /// The padded size of a batch. Steps in which every row decodes one token have sizes of their
  /// own; the others differ in tokens alone, so that they need few graphs.
  GraphKey key(std::uint32_t rows, std::uint32_t tokens) const;

  /// Enqueues one step over `batch`, which has `limits` and fits `key`: 9 kernels a layer, and
  /// whatever a product reduces with. May be captured. Writes the tokens' KV entries, their ids to
  /// `history`, and next_id[batch.rows()].
  void enqueue(cudaStream_t stream, const BatchView& batch, const BatchLimits& limits,
               const HistoryView& history, const GraphKey& key, const Memory& memory) const;

 private:
  StepShape shape_of(const GraphKey& key) const;
  void tune();
  void warm_up() const;

  LlamaConfig config_;
  bool invariant_;
  std::uint32_t most_rows_, most_tokens_;  // padded
  DeviceWeights weights_;
  cuda::DeviceMemory frequencies_;  // of RoPE
  Gemm gemm_;
  GemmTuning tuning_;
};

}  // namespace syncopate::models::llama
