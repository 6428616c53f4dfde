// What the tensors of a benchmark hold: values that anyone can work out from their place alone, so
// that a part of a tensor, the whole of it and an oracle on the host agree without a copy.
#pragma once

#include <cstdint>

#include "backend/models/host_device.h"
#include "backend/models/mix64.h"
#include "backend/runtime/handles.h"
#include "backend/runtime/kernel.h"
#include "backend/ulysses/element_type.h"
#include "backend/ulysses/head_chunk_layout.h"

namespace syncopate::ulysses {

/// Element `element` of a whole q, k or v (all tokens of all ranks), before it is rounded to the
/// element type: even over [-1, 1), in steps of 2^-23, so a float holds it exactly.
SYNCOPATE_HOST_DEVICE inline float input_value(std::uint64_t seed, Tensor tensor,
                                               std::uint64_t element) {
  const std::uint64_t stream =
      models::mix64(seed * 4 + static_cast<std::uint64_t>(tensor) + models::kGoldenGamma);
  const std::uint64_t drawn = models::mix64(stream + (element + 1) * models::kGoldenGamma);
  return static_cast<float>(drawn >> 40) * 0x1p-23F - 1.0F;
}

/// Some tokens of q, k or v, in memory: [batch, tokens, row elements], dense.
struct InputPart {
  runtime::Buffer buffer;
  ElementType type = ElementType::kBf16;
  Tensor tensor = Tensor::kQ;
  std::uint32_t batch = 0;
  std::uint32_t tokens = 0;
  std::uint32_t row = 0;          ///< Elements of a token: heads x head_dim.
  std::uint32_t first_token = 0;  ///< Of the whole sequence …
  std::uint32_t all_tokens = 0;   ///< … which has this many.
  std::uint64_t offset = 0;       ///< Bytes into the buffer.
  std::uint64_t seed = 0;

  std::uint64_t bytes() const { return std::uint64_t{batch} * tokens * row * element_bytes(type); }
};

/// Writes input_value() of each element, the same bits on every runtime.
runtime::Kernel fill_kernel(const InputPart& part);

/// Makes the first `bytes` of a buffer NaN in every element type: what is not overwritten shows.
runtime::Kernel poison_kernel(runtime::Buffer buffer, std::uint64_t bytes);

/// Does nothing. Its operation marks a point of its stream, with a time on every runtime.
runtime::Kernel mark_kernel();

}  // namespace syncopate::ulysses
