#include "backend/models/llama/cuda/device_forward.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "backend/cuda/call.h"
#include "backend/cuda/stream.h"
#include "backend/models/llama/cuda/attention.h"
#include "backend/models/llama/cuda/kv_pool.h"
#include "backend/models/llama/cuda/padding.h"
#include "backend/models/llama/cuda/pointwise.h"
#include "backend/models/llama/cuda/sampler.h"
#include "backend/models/llama/rope.h"

namespace syncopate::models::llama {
namespace {

constexpr std::uint32_t kSmallTile = 16;

std::uint32_t row_block(bool invariant) { return invariant ? Gemm::kInvariantRows : 1; }

cuda::DeviceMemory upload(const std::vector<float>& values) {
  const std::size_t bytes = values.size() * sizeof(float);
  cuda::DeviceMemory memory = cuda::make_device_memory(bytes);
  SYNCOPATE_CUDA_CALL(cudaMemcpy(memory.get(), values.data(), bytes, cudaMemcpyHostToDevice));
  return memory;
}

template <class T>
T* at(std::byte* memory, std::uint64_t offset) {
  return reinterpret_cast<T*>(memory + offset);
}

}  // namespace

DeviceForward::DeviceForward(const LlamaConfig& config, DeviceWeights weights, std::uint32_t rows,
                             std::uint32_t tokens, const Options& options)
    : config_(config),
      invariant_(options.invariant),
      most_rows_(padded(rows, row_block(invariant_))),
      most_tokens_(padded_tokens(rows, tokens, row_block(invariant_))),
      weights_(std::move(weights)),
      frequencies_(upload(rope_frequencies(config))),
      gemm_({.invariant = options.invariant, .cache = options.cache}) {
  tune();
  warm_up();
}

GraphKey DeviceForward::key(std::uint32_t rows, std::uint32_t tokens) const {
  const std::uint32_t block = row_block(invariant_);
  const std::uint32_t padded_rows = padded(rows, block);
  if (tokens == rows) return {.rows = padded_rows, .tokens = padded_rows};
  return {.rows = most_rows_, .tokens = std::max(padded(tokens, block), most_rows_)};
}

DeviceWorkspace DeviceForward::workspace(const BatchLimits& limits) const {
  return {config_,
          {most_rows_, most_tokens_, kSmallTile, config_.heads / config_.kv_heads},
          limits.pages_per_row};
}

// FlashInfer's rule, on padded sizes: the tile that an average row fills. One size for all when
// bits must not depend on the batch.
StepShape DeviceForward::shape_of(const GraphKey& key) const {
  const std::uint32_t group = config_.heads / config_.kv_heads;
  const std::uint32_t queries = key.tokens * group / key.rows;
  const bool small = invariant_ || key.tokens == key.rows || queries <= kSmallTile;
  return {key.rows, key.tokens, small ? kSmallTile : queries <= 64 ? 64U : 128U, group};
}

void DeviceForward::tune() {
  std::vector<DeviceMatrix> matrices;
  for (const DeviceLayer& layer : weights_.layers()) {
    matrices.insert(matrices.end(), {layer.qkv, layer.attention_out, layer.gate_up, layer.down});
  }
  matrices.push_back(weights_.head());

  std::vector<GemmShape> shapes;
  const std::uint32_t block = row_block(invariant_);
  const std::vector<DeviceMatrix> one_layer(matrices.begin(), matrices.begin() + 4);
  for (std::uint32_t n = padded(1, block); n <= most_tokens_; n = padded(n + 1, block)) {
    for (const DeviceMatrix& m : one_layer) shapes.push_back({n, m.out, m.in, false});
    if (n <= most_rows_) {
      shapes.push_back({n, weights_.head().out, weights_.head().in, true});
    }
  }
  tuning_ = gemm_.tune(shapes, matrices);
}

void DeviceForward::warm_up() const {
  const BatchLimits limits{.rows = most_rows_,
                           .tokens = most_tokens_,
                           .pages_per_row = 1,
                           .page_tokens = 16,
                           .pages = 1};
  const BatchLayout layout(limits);
  const cuda::DeviceMemory inputs = cuda::make_device_memory(layout.input_bytes());  // no rows
  const cuda::DeviceMemory outputs = cuda::make_device_memory(layout.output_bytes());
  const cuda::DeviceMemory workspace = cuda::make_device_memory(this->workspace(limits).bytes());
  const BatchView batch(static_cast<const std::int32_t*>(inputs.get()), layout);
  const cuda::OwnedStream stream = cuda::make_stream(runtime::StreamKind::kBlocking);
  const Memory memory{nullptr, static_cast<std::byte*>(workspace.get()),
                      static_cast<std::int32_t*>(outputs.get())};
  const HistoryView none(batch, runtime::Exec(nullptr, nullptr), {}, config_.vocab);
  std::vector<std::uint32_t> seen;
  const std::uint32_t block = row_block(invariant_);
  for (std::uint32_t n = most_rows_; n <= most_tokens_; n = padded(n + 1, block)) {
    const GraphKey step{.rows = most_rows_, .tokens = n};
    const std::uint32_t tile = shape_of(step).tile;
    if (std::find(seen.begin(), seen.end(), tile) != seen.end()) continue;
    seen.push_back(tile);
    enqueue(stream.get(), batch, limits, none, step, memory);
  }
  SYNCOPATE_CUDA_CALL(cudaStreamSynchronize(stream.get()));
}

void DeviceForward::enqueue(cudaStream_t stream, const BatchView& batch, const BatchLimits& limits,
                            const HistoryView& history, const GraphKey& key,
                            const Memory& memory) const {
  std::byte* const ws = memory.workspace;
  const DeviceWorkspace layout = workspace(limits);
  const StepShape shape = shape_of(key);
  const std::uint32_t tokens = shape.tokens;
  const KvPool pool(config_, limits, memory.pool);
  const StepPlan plan = step_plan_at(ws + layout.plan, shape, limits.pages_per_row);
  auto* const residual = at<Bf16>(ws, layout.residual);
  auto* const normed = at<Bf16>(ws, layout.normed);
  auto* const qkv = at<Bf16>(ws, layout.qkv);
  auto* const mixed = at<Bf16>(ws, layout.mixed);
  auto* const projected = at<Bf16>(ws, layout.projected);
  auto* const gate_up = at<Bf16>(ws, layout.gate_up);
  auto* const activated = at<Bf16>(ws, layout.activated);
  auto* const last = at<Bf16>(ws, layout.last);
  auto* const logits = at<float>(ws, layout.logits);
  const auto* const frequencies = static_cast<const float*>(frequencies_.get());
  const auto eps = static_cast<float>(config_.rms_eps);
  const auto multiply = [&](const DeviceMatrix& weights, const Bf16* x, Bf16* y) {
    gemm_.enqueue(stream, weights, x, tokens, y, false, ws + layout.gemm);
  };

  enqueue_step_plan(stream, batch, limits, config_.vocab, history, shape, plan);
  const std::vector<DeviceLayer>& layers = weights_.layers();
  enqueue_embed(stream, tokens, plan, weights_.embedding(), {layers[0].attention_norm, eps},
                residual, normed);
  for (std::uint32_t l = 0; l < layers.size(); ++l) {
    const DeviceLayer& layer = layers[l];
    multiply(layer.qkv, normed, qkv);
    enqueue_rope_append(stream, tokens, config_.heads, plan, frequencies, pool, l, qkv);
    enqueue_attention(stream, config_, shape, plan, pool, l, qkv, mixed);
    multiply(layer.attention_out, mixed, projected);
    enqueue_add_norm(stream, tokens, config_.hidden, projected, {layer.mlp_norm, eps}, residual,
                     normed);
    multiply(layer.gate_up, normed, gate_up);
    enqueue_swiglu(stream, tokens, config_.intermediate, gate_up, activated);
    multiply(layer.down, activated, projected);
    if (l + 1 < layers.size()) {
      enqueue_add_norm(stream, tokens, config_.hidden, projected,
                       {layers[l + 1].attention_norm, eps}, residual, normed);
    }
  }
  enqueue_last_norm(stream, shape.rows, config_.hidden, plan, projected, residual,
                    {weights_.final_norm(), eps}, last);
  gemm_.enqueue(stream, weights_.head(), last, shape.rows, logits, true, ws + layout.gemm);
  enqueue_sample(stream, batch, shape.rows, config_.vocab, logits, history, ws + layout.sampler,
                 memory.next_id);
}

}  // namespace syncopate::models::llama
