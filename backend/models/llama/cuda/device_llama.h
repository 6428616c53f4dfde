// A Llama-family transformer on a CUDA device as a Model: bf16 weights, activations and KV pages,
// sums in fp32, sampling on the device.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "backend/models/llama/config.h"
#include "backend/models/model.h"

namespace syncopate::models::llama {

class DeviceForward;

struct DeviceLlamaOptions {
  std::uint32_t rows = 0;    ///< Of the largest batch.
  std::uint32_t tokens = 0;  ///< Of the largest batch.
  /// A request gives the same ids under every schedule (as LlamaOptions::invariant): rows are
  /// computed in blocks of a fixed size by one algorithm, and attention in tiles of one size.
  bool invariant = true;
  /// File in which the algorithms that were chosen for the linear layers are kept from one start to
  /// the next. Empty: they are chosen anew.
  std::filesystem::path algorithms = {};
};

/// Its kernels have a CUDA body alone. It is made for the device that is current, and for batches
/// of up to some number of rows and tokens. Its graph keys are padded sizes.
class DeviceLlama final : public Model {
 public:
  explicit DeviceLlama(std::unique_ptr<const DeviceForward> forward);
  ~DeviceLlama() override;

  const LlamaConfig& config() const;

  const char* kind() const override { return "llama"; }
  std::uint32_t vocab() const override { return config().vocab; }
  std::uint32_t max_positions() const override { return config().max_position; }
  std::uint64_t kv_page_bytes(const BatchLimits& limits) const override;
  std::uint64_t kv_entry_bytes() const override { return 0; }
  std::uint64_t workspace_bytes(const BatchLimits& limits) const override;
  GraphKey graph_key(std::uint32_t rows, std::uint32_t tokens,
                     std::uint32_t max_kv_tokens) const override;
  runtime::Kernel forward(const BatchLayout& layout, const StepBuffers& buffers,
                          const GraphKey& key) const override;

  /// Why the chosen algorithms could not be kept (DeviceLlamaOptions::algorithms), for a warning;
  /// empty: they are, or were not to be.
  std::string algorithms_lost() const;

  /// Byte of the workspace where a step leaves its logits, fp32 [rows, vocab].
  std::uint64_t logits_offset(const BatchLimits& limits) const;

 private:
  std::unique_ptr<const DeviceForward> forward_;
};

/// Why this shape cannot run on a device, naming the key, as in "head_dim is 32: …"; empty: it can.
std::string device_lacks(const LlamaConfig& config);

/// Random weights: those of make_llama() for the same seed, rounded to bf16. Throws ConfigError
/// unless `config` is valid and device_lacks() nothing, UnavailableError when the device has too
/// little memory, CudaError.
std::unique_ptr<DeviceLlama> make_device_llama(const LlamaConfig& config, std::uint64_t seed,
                                               const DeviceLlamaOptions& options);

/// A Hugging Face checkpoint folder: config.json and safetensors. Throws CheckpointError too.
std::unique_ptr<DeviceLlama> load_device_llama(const std::filesystem::path& folder,
                                               const DeviceLlamaOptions& options);

}  // namespace syncopate::models::llama
