// Eight bf16: the 16 bytes that a thread moves at a time.
#pragma once

#include <cstdint>

#include "backend/models/llama/cuda/bf16.h"

namespace syncopate::models::llama {

inline constexpr unsigned kVector = 8;

/// In memory at a multiple of 16 bytes.
struct alignas(16) Bf16x8 {
  __nv_bfloat162 pairs[kVector / 2];
};

__device__ inline Bf16x8 load(const Bf16* values) {
  return *reinterpret_cast<const Bf16x8*>(values);
}
__device__ inline void store(Bf16* values, const Bf16x8& vector) {
  *reinterpret_cast<Bf16x8*>(values) = vector;
}

/// The same in fp32.
struct Float8 {
  float v[kVector];
};

__device__ inline Float8 widened(const Bf16x8& vector) {
  Float8 wide;
  for (unsigned i = 0; i < kVector / 2; ++i) {
    const float2 pair = __bfloat1622float2(vector.pairs[i]);
    wide.v[2 * i] = pair.x;
    wide.v[2 * i + 1] = pair.y;
  }
  return wide;
}
__device__ inline Bf16x8 rounded(const Float8& wide) {
  Bf16x8 vector;
  for (unsigned i = 0; i < kVector / 2; ++i) {
    vector.pairs[i] = __floats2bfloat162_rn(wide.v[2 * i], wide.v[2 * i + 1]);
  }
  return vector;
}

}  // namespace syncopate::models::llama
