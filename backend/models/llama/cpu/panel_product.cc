#include "backend/models/llama/cpu/panel_product.h"

#include <algorithm>
#include <cstring>

#include "backend/models/llama/cpu/simd.h"

namespace syncopate::models::llama {
namespace {

/// One panel against kRows rows; `width` of its outputs exist. The sums stay in registers.
template <int kRows>
SYNCOPATE_INLINE void multiply(const float* __restrict panel, std::uint32_t in,
                               const float* __restrict x, float* __restrict y, std::size_t out,
                               std::uint32_t width) {
  Float8 low[kRows] = {}, high[kRows] = {};
  for (std::uint32_t k = 0; k < in; ++k) {
    const Float8 w_low = as_float8(panel + std::size_t{k} * kPanel);
    const Float8 w_high = as_float8(panel + std::size_t{k} * kPanel + kLanes);
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const float value = x[static_cast<std::size_t>(r) * in + k];
      low[r] += value * w_low;
      high[r] += value * w_high;
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
    float* to = y + static_cast<std::size_t>(r) * out;
    if (width == kPanel) {
      as_float8(to) = low[r];
      as_float8(to + kLanes) = high[r];
    } else {
      float values[kPanel];
      as_float8(values) = low[r];
      as_float8(values + kLanes) = high[r];
      std::memcpy(to, values, width * sizeof(float));
    }
  }
}

}  // namespace

std::size_t packed_floats(std::uint32_t out, std::uint32_t in) {
  return (std::size_t{out} + kPanel - 1) / kPanel * kPanel * in;
}

void pack_panels(const Matrix& weights, float* panels) {
  std::fill_n(panels, packed_floats(weights.out, weights.in), 0.0f);
  for (std::uint32_t o = 0; o < weights.out; ++o) {
    float* lane = panels + std::size_t{o / kPanel} * kPanel * weights.in + o % kPanel;
    const float* row = weights.row(o);
    for (std::uint32_t k = 0; k < weights.in; ++k) lane[std::size_t{k} * kPanel] = row[k];
  }
}

SYNCOPATE_VECTORISED
void panel_product(const float* panels, std::uint32_t out, std::uint32_t in, const float* x,
                   std::uint32_t rows, float* y) {
  for (std::uint32_t o = 0; o < out; o += kPanel) {
    const float* panel = panels + std::size_t{o} * in;
    const std::uint32_t width = std::min(kPanel, out - o);
    std::uint32_t r = 0;
    const auto from = [&] { return x + std::size_t{r} * in; };
    const auto to = [&] { return y + std::size_t{r} * out + o; };
    for (; r + 4 <= rows; r += 4) multiply<4>(panel, in, from(), to(), out, width);
    switch (rows - r) {
      case 3:
        multiply<3>(panel, in, from(), to(), out, width);
        break;
      case 2:
        multiply<2>(panel, in, from(), to(), out, width);
        break;
      case 1:
        multiply<1>(panel, in, from(), to(), out, width);
        break;
    }
  }
}

}  // namespace syncopate::models::llama
