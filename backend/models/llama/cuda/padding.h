// The sizes that steps are padded to, so that few captured graphs serve all batches.
#pragma once

#include <algorithm>
#include <cstdint>

namespace syncopate::models::llama {

/// The padded size of `n` rows or tokens: the next multiple of 8 up to 64, of 32 up to 256, of 128
/// up to 1,024 and of 512 beyond; but a multiple of `block` in any case, which is a power of two.
inline std::uint32_t padded(std::uint32_t n, std::uint32_t block) {
  const std::uint32_t step = n <= 64 ? 8 : n <= 256 ? 32 : n <= 1024 ? 128 : 512;
  const std::uint32_t multiple = std::max(step, block);
  return (n + multiple - 1) / multiple * multiple;
}

/// Padded size of the largest steps in tokens, whose rows are padded too.
inline std::uint32_t padded_tokens(std::uint32_t rows, std::uint32_t tokens, std::uint32_t block) {
  return std::max(padded(tokens, block), padded(rows, block));
}

}  // namespace syncopate::models::llama
