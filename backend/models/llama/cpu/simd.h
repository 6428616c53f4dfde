// Eight floats at a time, in the compiler's own vector type: the same bits on every machine, since
// the order of the additions is written down and nothing is fused (the build sets
// -ffp-contract=off).
#pragma once

#include <cstddef>
#include <cstdint>

namespace syncopate::models::llama {

/// Compiles a function once for AVX2 and once for any machine, and picks at load time.
#if defined(__x86_64__)
#define SYNCOPATE_VECTORISED __attribute__((target_clones("avx2", "default")))
#else
#define SYNCOPATE_VECTORISED
#endif
/// For what such a function calls: only what is inlined into it is compiled with it.
#define SYNCOPATE_INLINE [[gnu::always_inline]] inline

inline constexpr std::uint32_t kLanes = 8;
using Float8 = float __attribute__((vector_size(32)));
using Int8 = std::int32_t __attribute__((vector_size(32)));
/// In memory, at any address a float may have.
using Float8InMemory = float __attribute__((vector_size(32), aligned(4), may_alias));

SYNCOPATE_INLINE const Float8InMemory& as_float8(const float* p) {
  return *reinterpret_cast<const Float8InMemory*>(p);
}
SYNCOPATE_INLINE Float8InMemory& as_float8(float* p) {
  return *reinterpret_cast<Float8InMemory*>(p);
}

SYNCOPATE_INLINE float sum(const Float8& v) {
  const Float8 pairs = v + __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3);
  const Float8 quads = pairs + __builtin_shufflevector(pairs, pairs, 2, 3, 0, 1, 6, 7, 4, 5);
  return quads[0] + quads[1];
}

/// values[i] = exp(values[i] - shift), `count` of them rounded up to whole vectors; within 2 units
/// in the last place. Arguments below -87 count as -87, about 1e-38; above 88 as 88.
///
/// exp(x) = 2^n exp(r), n = round(x / ln 2), |r| <= ln(2) / 2, where ln 2 is taken off in two parts
/// of which the first has few enough bits that n times it is exact (Cody and Waite 1980), and
/// exp(r) is the Taylor polynomial of degree 7, whose error is below 2^-27.
SYNCOPATE_INLINE void exp_in_place(float* values, std::uint32_t count, float shift) {
  for (std::uint32_t i = 0; i < count; i += kLanes) {
    Float8 x = as_float8(values + i) - shift;
    x = x < -87.0f ? Float8{} - 87.0f : x;
    x = x > 88.0f ? Float8{} + 88.0f : x;
    constexpr float kRound = 0x1.8p23f;  // Added, it leaves no bits for a fraction.
    const Float8 n = (x * 1.44269504f + kRound) - kRound;
    const Float8 r = (x - n * 0x1.62ep-1f) - n * 0x1.0bfbe8p-15f;
    Float8 p = r * (1.0f / 5040) + 1.0f / 720;
    p = p * r + 1.0f / 120;
    p = p * r + 1.0f / 24;
    p = p * r + 1.0f / 6;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    const Int8 exponent = __builtin_convertvector(n, Int8) + 127;
    as_float8(values + i) = p * reinterpret_cast<Float8>(exponent << 23);
  }
}

}  // namespace syncopate::models::llama
