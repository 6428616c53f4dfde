// Runs attention on batches of requests whose keys and values are known.
#pragma once

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <span>
#include <vector>

#include "backend/models/llama/cuda/attention.h"
#include "tests/llama_cuda/attention_plan.h"

namespace syncopate::models::llama {

/// What one layer knows of a request: rotated queries, keys and values of all its positions, bf16
/// [position, head, head_dim] on the CPU.
struct Request {
  at::Tensor q, k, v;

  Request(const LlamaConfig& config, std::uint32_t length, std::uint64_t seed) {
    at::manual_seed(seed);
    const auto random = [&](std::uint32_t heads, double scale) {
      return (at::randn({length, heads, config.head_dim}) * scale).to(at::kBFloat16);
    };
    // A few keys get most of the weight, so that the wrong keys give another result.
    q = random(config.heads, 2.0);
    k = random(config.kv_heads, 1.0);
    v = random(config.kv_heads, 1.0);
  }
};

/// Tokens start..start+tokens of a request.
struct AttentionRow {
  const Request* request = nullptr;
  std::uint32_t start = 0;
  std::uint32_t tokens = 0;
};

inline std::uint32_t total_tokens(std::span<const AttentionRow> rows) {
  std::uint32_t tokens = 0;
  for (const AttentionRow& row : rows) tokens += row.tokens;
  return tokens;
}

/// Holds the device's memory for batches up to `shape`, of KV entries up to `max_length` a row.
/// Computes layer 1 of a pool of 2. All that no row owns is NaN.
class AttentionRunner {
 public:
  AttentionRunner(const LlamaConfig& config, const StepShape& shape, std::uint32_t page_tokens,
                  std::uint32_t max_length, std::uint64_t seed)
      : config_(config),
        limits_(limits(shape, page_tokens, max_length)),
        plan_(shape, page_tokens, limits_.pages_per_row),
        pool_(std::size_t{2} * KvPool(config, limits_, nullptr).layer_size),
        qkv_(std::size_t{shape.tokens} * config.qkv_size()),
        out_(std::size_t{shape.tokens} * config.query_size()),
        random_(seed) {}

  /// Gives the rows pages from all over the pool, others at each call.
  void fill(std::span<const AttentionRow> rows) {
    const auto heads = [&](std::int64_t count) { return count * config_.head_dim; };
    const std::int64_t page_tokens = limits_.page_tokens;
    at::Tensor pool = nans({2, limits_.pages, 2, config_.kv_heads, page_tokens, config_.head_dim});
    at::Tensor qkv = nans({plan_.shape().tokens, config_.qkv_size()});
    std::vector<std::int32_t> free(limits_.pages);
    std::iota(free.begin(), free.end(), 0);
    std::shuffle(free.begin(), free.end(), random_);

    std::vector<PlannedRow> planned;
    std::int64_t token = 0;
    for (const AttentionRow& row : rows) {
      const std::int64_t length = row.start + row.tokens;
      PlannedRow& plan = planned.emplace_back();
      plan.tokens = row.tokens;
      plan.kv_length = static_cast<std::uint32_t>(length);
      for (std::int64_t begin = 0; begin < length; begin += page_tokens) {
        plan.pages.push_back(free.back());
        const at::Tensor page = pool[1][free.back()];
        free.pop_back();
        const std::int64_t count = std::min(page_tokens, length - begin);
        const auto write = [&](std::int64_t place, const at::Tensor& values) {
          page[place].narrow(1, 0, count).copy_(values.narrow(0, begin, count).transpose(0, 1));
        };
        write(0, row.request->k);
        write(1, row.request->v);
      }
      const at::Tensor q = row.request->q.narrow(0, row.start, row.tokens).flatten(1);
      qkv.narrow(0, token, row.tokens).narrow(1, 0, heads(config_.heads)).copy_(q);
      token += row.tokens;
    }
    plan_.fill(planned);
    pool_.assign(pool.data_ptr(), pool_.size());
    qkv_.assign(qkv.data_ptr(), qkv_.size());
    tokens_ = token;
  }

  void enqueue(cudaStream_t stream) {
    enqueue_attention(stream, config_, plan_.shape(), plan_.plan(),
                      KvPool(config_, limits_, pool_.data()), 1, qkv_.data(), out_.data());
  }

  /// Waits for the device. bf16 [token, head, head_dim] of the batch's tokens.
  at::Tensor output() const {
    at::Tensor out = nans({plan_.shape().tokens, config_.heads, config_.head_dim});
    const std::vector<Bf16> values = out_.read();
    std::memcpy(out.data_ptr(), values.data(), values.size() * sizeof(Bf16));
    return out.narrow(0, 0, tokens_);
  }

 private:
  static at::Tensor nans(at::IntArrayRef sizes) { return at::full(sizes, NAN, at::kBFloat16); }

  static BatchLimits limits(const StepShape& shape, std::uint32_t page_tokens,
                            std::uint32_t max_length) {
    const std::uint32_t pages_per_row = (max_length + page_tokens - 1) / page_tokens + 1;
    return {.rows = shape.rows,
            .tokens = shape.tokens,
            .pages_per_row = pages_per_row,
            .page_tokens = page_tokens,
            .pages = pages_per_row * shape.rows};
  }

  LlamaConfig config_;
  BatchLimits limits_;
  AttentionPlan plan_;
  DeviceArray<Bf16> pool_, qkv_, out_;
  std::mt19937_64 random_;
  std::int64_t tokens_ = 0;
};

/// One batch, in a step that is padded by some rows and tokens.
inline at::Tensor attend(const LlamaConfig& config, std::span<const AttentionRow> rows,
                         std::uint32_t page_tokens, std::uint32_t tile, std::uint64_t seed) {
  std::uint32_t longest = 0;
  for (const AttentionRow& row : rows) longest = std::max(longest, row.start + row.tokens);
  const StepShape shape{.rows = static_cast<std::uint32_t>(rows.size() + seed % 4),
                        .tokens = static_cast<std::uint32_t>(total_tokens(rows) + seed % 16),
                        .tile = tile,
                        .group = config.heads / config.kv_heads};
  AttentionRunner runner(config, shape, page_tokens, longest, seed);
  runner.fill(rows);
  runner.enqueue(nullptr);
  return runner.output();
}

}  // namespace syncopate::models::llama
