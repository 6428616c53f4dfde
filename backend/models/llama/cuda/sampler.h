// The choice of each row's next token from its logits, on the device.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "backend/models/batch_view.h"
#include "backend/models/history.h"

namespace syncopate::models::llama {

/// Scratch for `rows` rows.
std::size_t sampler_bytes(std::uint32_t rows, std::uint32_t vocab);

/// next_id[r] for each row of the batch, at most `rows`: Sampling in sampling.h says by what rules,
/// llama/cpu/sampler.h in what order. `logits` [rows, vocab] fp32 stay as they are; a NaN counts
/// as the least. Rows that are plain (RowSampling::plain) cost an argmax and no more. A row's id
/// depends on its own logits, sampling and history alone.
void enqueue_sample(cudaStream_t stream, const BatchView& batch, std::uint32_t rows,
                    std::uint32_t vocab, const float* logits, const HistoryView& history,
                    std::byte* scratch, std::int32_t* next_id);

}  // namespace syncopate::models::llama
