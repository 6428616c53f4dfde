// The transformer by libtorch's operators, for one sequence at a time: no pages, no batch.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/models/llama/config.h"
#include "backend/models/llama/weights.h"

namespace syncopate::models::llama {

enum class Precision : std::uint8_t { kFp32, kBf16 };

/// Logits [ids.size()][vocab] after each token. The weights are rounded to bf16 first, as the
/// device has them; the arithmetic is of `precision`. On the GPU.
std::vector<std::vector<float>> reference_logits(const LlamaConfig& config, const Weights& weights,
                                                 const std::vector<std::int32_t>& ids,
                                                 Precision precision);

}  // namespace syncopate::models::llama
