// Eight floats at a time, in the compiler's own vector type: the same bits on every machine, since
// the order of the additions is written down and nothing is fused.
#pragma once

#include <cstddef>

namespace syncopate::models::llama {

inline constexpr std::size_t kLanes = 8;
using Float8 = float __attribute__((vector_size(32)));
/// In memory, at any address a float may have.
using Float8InMemory = float __attribute__((vector_size(32), aligned(4), may_alias));

inline const Float8InMemory& as_float8(const float* p) {
  return *reinterpret_cast<const Float8InMemory*>(p);
}
inline Float8InMemory& as_float8(float* p) { return *reinterpret_cast<Float8InMemory*>(p); }

inline float sum(const Float8& v) {
  return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}

/// Compiles a function once for AVX2 and once for any machine, and picks at load time. Both add in
/// the same order.
#if defined(__x86_64__)
#define SYNCOPATE_VECTORISED __attribute__((target_clones("avx2", "default")))
#else
#define SYNCOPATE_VECTORISED
#endif
#define SYNCOPATE_INLINE [[gnu::always_inline]] inline

}  // namespace syncopate::models::llama
