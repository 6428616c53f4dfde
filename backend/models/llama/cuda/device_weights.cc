#include "backend/models/llama/cuda/device_weights.h"

#include <cstddef>
#include <string>

#include "backend/cuda/call.h"
#include "backend/cuda/stream.h"
#include "backend/models/llama/checkpoint.h"
#include "backend/models/llama/cuda/random_weights.h"
#include "backend/models/llama/cuda/upload.h"
#include "backend/models/llama/random_tensor.h"

namespace syncopate::models::llama {
namespace {

constexpr std::uint64_t kAlignment = 256;  // Bytes.

std::uint64_t slot_bytes(const Parameter& parameter) {
  return (parameter.size() * sizeof(Bf16) + kAlignment - 1) / kAlignment * kAlignment;
}

cuda::DeviceMemory make_arena(const LlamaConfig& config, std::uint64_t bytes) {
  try {
    cuda::DeviceMemory arena = cuda::make_device_memory(bytes);
    SYNCOPATE_CUDA_CALL(cudaDeviceSynchronize());  // Its fill is on no stream of ours.
    return arena;
  } catch (const runtime::UnavailableError& error) {
    throw runtime::UnavailableError("the weights, " + std::to_string(config.parameters()) +
                                    " parameters in bf16, do not fit: " + error.what());
  }
}

void point(DeviceMatrix& matrix, const Parameter& parameter, const Bf16* values) {
  matrix = {values, parameter.out, parameter.in};
}
void point(const Bf16*& norm, const Parameter&, const Bf16* values) { norm = values; }

}  // namespace

DeviceWeights::DeviceWeights(const LlamaConfig& config,
                             const std::function<void(Bf16*, const Parameter&)>& fill) {
  std::uint64_t bytes = 0;
  visit_parameters(config, views_,
                   [&](auto&, const Parameter& parameter) { bytes += slot_bytes(parameter); });
  memory_ = make_arena(config, bytes);
  auto* slot = static_cast<std::byte*>(memory_.get());
  visit_parameters(config, views_, [&](auto& view, const Parameter& parameter) {
    auto* const values = reinterpret_cast<Bf16*>(slot);
    point(view, parameter, values);
    fill(values, parameter);
    slot += slot_bytes(parameter);
  });
  if (config.tied_embeddings) views_.head = views_.embedding;
}

DeviceWeights DeviceWeights::random(const LlamaConfig& config, std::uint64_t seed) {
  const cuda::OwnedStream stream = cuda::make_stream(runtime::StreamKind::kNonBlocking);
  std::uint64_t matrices = 0;
  DeviceWeights weights(config, [&](Bf16* values, const Parameter& parameter) {
    if (parameter.variance == 0.0)
      enqueue_ones(stream.get(), parameter.size(), values);
    else
      enqueue_random(stream.get(), {seed, ++matrices, parameter.variance}, parameter.size(),
                     values);
  });
  SYNCOPATE_CUDA_CALL(cudaStreamSynchronize(stream.get()));
  return weights;
}

DeviceWeights DeviceWeights::load(const LlamaConfig& config, const std::filesystem::path& folder) {
  const Checkpoint checkpoint(folder);
  std::vector<Upload> uploads;
  DeviceWeights weights(config, [&](Bf16* values, const Parameter& parameter) {
    for (const ParameterTensor& tensor : parameter.tensors)
      uploads.push_back({checkpoint.find(tensor.name, tensor.shape), values + tensor.first});
  });
  upload(uploads);
  return weights;
}

}  // namespace syncopate::models::llama
