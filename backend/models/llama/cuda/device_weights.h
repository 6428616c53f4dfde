// The transformer's parameters on the device, in bf16.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

#include "backend/cuda/memory.h"
#include "backend/models/llama/config.h"
#include "backend/models/llama/cuda/bf16.h"
#include "backend/models/llama/parameters.h"

namespace syncopate::models::llama {

/// A linear layer's weights in device memory, [out, in] row-major: y = W x. A view.
struct DeviceMatrix {
  const Bf16* values = nullptr;
  std::uint32_t out = 0;
  std::uint32_t in = 0;
};

struct DeviceLayer {
  const Bf16* attention_norm = nullptr;  ///< [hidden]
  DeviceMatrix qkv;                      ///< [query | key | value, hidden]
  DeviceMatrix attention_out;            ///< [hidden, query]
  const Bf16* mlp_norm = nullptr;        ///< [hidden]
  DeviceMatrix gate_up;                  ///< [gate | up, hidden]
  DeviceMatrix down;                     ///< [hidden, intermediate]
};

/// Owns one allocation on the device that is current when it is made; every parameter begins at a
/// multiple of 256 bytes. Immutable once made, and all there: making it waits for the device.
class DeviceWeights {
 public:
  /// The values of random_weights() (weights.h), made on the device and rounded to bf16, so that a
  /// seed means the same model on every runtime. `config` must be valid. Throws UnavailableError
  /// when the device has too little memory.
  static DeviceWeights random(const LlamaConfig& config, std::uint64_t seed);
  /// The weights in a Hugging Face checkpoint folder, as load_weights() (weights.h) finds them.
  /// Tensors in bf16 are copied as they are, others rounded to bf16. Throws CheckpointError and
  /// UnavailableError.
  static DeviceWeights load(const LlamaConfig& config, const std::filesystem::path& folder);

  const DeviceMatrix& embedding() const { return views_.embedding; }  ///< [vocab, hidden]
  const std::vector<DeviceLayer>& layers() const { return views_.layers; }
  const Bf16* final_norm() const { return views_.final_norm; }  ///< [hidden]
  const DeviceMatrix& head() const { return views_.head; }  ///< The embedding where they are tied.

 private:
  struct Views {  // for visit_parameters
    DeviceMatrix embedding;
    std::vector<DeviceLayer> layers;
    const Bf16* final_norm = nullptr;
    DeviceMatrix head;
  };

  /// Lays the parameters out, all zeros, and calls fill(its memory, parameter) for each in order.
  DeviceWeights(const LlamaConfig& config,
                const std::function<void(Bf16*, const Parameter&)>& fill);

  cuda::DeviceMemory memory_;
  Views views_;
};

}  // namespace syncopate::models::llama
