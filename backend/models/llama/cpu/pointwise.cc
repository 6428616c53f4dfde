#include "backend/models/llama/cpu/pointwise.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "backend/models/llama/cpu/simd.h"

namespace syncopate::models::llama {

SYNCOPATE_VECTORISED
void rms_norm(const float* x, const float* weight, std::uint32_t size, float eps, float* out) {
  Float8 squares = {};
  std::uint32_t i = 0;
  for (; i + kLanes <= size; i += kLanes) squares += as_float8(x + i) * as_float8(x + i);
  float total = sum(squares);
  for (; i < size; ++i) total += x[i] * x[i];
  const float scale = 1.0f / std::sqrt(total / static_cast<float>(size) + eps);
  for (i = 0; i < size; ++i) out[i] = x[i] * scale * weight[i];
}

void rotate(float* head, std::uint32_t size, const float* cosines, const float* sines) {
  const std::uint32_t half = size / 2;
  for (std::uint32_t i = 0; i < half; ++i) {
    const float a = head[i], b = head[i + half];
    head[i] = a * cosines[i] - b * sines[i];
    head[i + half] = b * cosines[i] + a * sines[i];
  }
}

SYNCOPATE_VECTORISED
void swiglu(const float* gate, const float* up, std::uint32_t size, float* out) {
  constexpr std::uint32_t kBlock = 64;
  for (std::uint32_t begin = 0; begin < size; begin += kBlock) {
    const std::uint32_t count = std::min(kBlock, size - begin);
    float powers[kBlock] = {};
    for (std::uint32_t i = 0; i < count; ++i) powers[i] = -gate[begin + i];
    exp_in_place(powers, count, 0.0f);
    for (std::uint32_t i = 0; i < count; ++i)
      out[begin + i] = gate[begin + i] / (1.0f + powers[i]) * up[begin + i];
  }
}

void add(float* x, const float* y, std::uint64_t size) {
  for (std::uint64_t i = 0; i < size; ++i) x[i] += y[i];
}

SYNCOPATE_VECTORISED
void exponentials(float* values, std::uint32_t size) { exp_in_place(values, size, 0.0f); }

std::int32_t argmax(const float* values, std::uint32_t size) {
  std::int32_t best = 0;
  float largest = -std::numeric_limits<float>::infinity();
  for (std::uint32_t i = 0; i < size; ++i) {
    if (values[i] > largest) {
      largest = values[i];
      best = static_cast<std::int32_t>(i);
    }
  }
  return best;
}

}  // namespace syncopate::models::llama
