// The scratch memory of a forward pass on the device.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/models/llama/config.h"
#include "backend/models/llama/cuda/bf16.h"
#include "backend/models/llama/cuda/gemm.h"
#include "backend/models/llama/cuda/sampler.h"
#include "backend/models/llama/cuda/step_plan.h"

namespace syncopate::models::llama {

/// Offsets, in bytes, of what a step passes through. Every token of the padded size has a row. A
/// step leaves its `logits` in place for who wants to look.
class DeviceWorkspace {
 public:
  /// `largest` has the padded sizes of the largest step and the smallest tile that attention uses.
  DeviceWorkspace(const LlamaConfig& c, const StepShape& largest, std::uint32_t pages_per_row)
      : tokens_(largest.tokens) {
    plan = take(step_plan_bytes(largest, pages_per_row));
    residual = per_token(c.hidden);
    normed = per_token(c.hidden);
    qkv = per_token(c.qkv_size());
    mixed = per_token(c.query_size());
    projected = per_token(c.hidden);
    gate_up = per_token(2 * c.intermediate);
    activated = per_token(c.intermediate);
    last = take(std::uint64_t{largest.rows} * c.hidden * sizeof(Bf16));
    logits = take(std::uint64_t{largest.rows} * c.vocab * sizeof(float));
    sampler = take(sampler_bytes(largest.rows, c.vocab));
    gemm = take(Gemm::kScratchBytes);
  }

  std::uint64_t plan;       ///< StepPlan's arrays
  std::uint64_t residual;   ///< bf16 [tokens, hidden]
  std::uint64_t normed;     ///< bf16 [tokens, hidden]
  std::uint64_t qkv;        ///< bf16 [tokens, query | key | value]
  std::uint64_t mixed;      ///< bf16 [tokens, query]: attention's output
  std::uint64_t projected;  ///< bf16 [tokens, hidden]: what is to be added to the residual
  std::uint64_t gate_up;    ///< bf16 [tokens, gate | up]
  std::uint64_t activated;  ///< bf16 [tokens, intermediate]
  std::uint64_t last;       ///< bf16 [rows, hidden]: each row's last token
  std::uint64_t logits;     ///< fp32 [rows, vocab]
  std::uint64_t sampler;    ///< the sampler's scratch
  std::uint64_t gemm;       ///< cuBLASLt's scratch
  std::uint64_t bytes() const { return bytes_; }

 private:
  std::uint64_t per_token(std::uint64_t width) { return take(tokens_ * width * sizeof(Bf16)); }
  std::uint64_t take(std::uint64_t bytes) {
    constexpr std::uint64_t kAlignment = 256;  // what cuBLASLt's fastest algorithms want
    const std::uint64_t begin = bytes_;
    bytes_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    return begin;
  }

  std::uint64_t tokens_;
  std::uint64_t bytes_ = 0;
};

}  // namespace syncopate::models::llama
