// What a transformer does to one token's vector between its linear layers.
#pragma once

#include <cstdint>

namespace syncopate::models::llama {

/// out = x / sqrt(mean(x^2) + eps) * weight (Zhang and Sennrich 2019, "Root Mean Square Layer
/// Normalization").
void rms_norm(const float* x, const float* weight, std::uint32_t size, float eps, float* out);

/// Rotates each pair (i, i + size / 2) of one head in place; that pairing is Hugging Face's.
void rotate(float* head, std::uint32_t size, const float* cosines, const float* sines);

/// out = silu(gate) * up, silu(x) = x / (1 + exp(-x)) (Shazeer 2020, "GLU Variants Improve
/// Transformer").
void swiglu(const float* gate, const float* up, std::uint32_t size, float* out);

/// x += y.
void add(float* x, const float* y, std::uint64_t size);

/// values[i] = exp(values[i]), as exp_in_place (simd.h): of a size rounded up to whole vectors.
void exponentials(float* values, std::uint32_t size);

/// Index of the largest value, the lowest of equal ones; NaNs are passed over. size >= 1.
std::int32_t argmax(const float* values, std::uint32_t size);

}  // namespace syncopate::models::llama
