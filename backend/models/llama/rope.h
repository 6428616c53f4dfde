// Rotary position embedding: the frequencies, and the rotation's cosines and sines.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/models/llama/config.h"

namespace syncopate::models::llama {

/// Angle per position of each of the head_dim / 2 pairs: theta^(-2i / head_dim), and with Llama 3's
/// scaling (Meta's llama-models, apply_scaling), for wavelength w = 2 pi / frequency and original
/// context n:
///   w < n / high_freq_factor   kept
///   w > n / low_freq_factor    divided by factor
///   between                    s * kept + (1 - s) * divided, s = (n / w - low) / (high - low)
std::vector<float> rope_frequencies(const LlamaConfig& config);

/// Writes cos and sin of position * frequency for each frequency.
void rope_angles(std::span<const float> frequencies, std::uint32_t position, float* cosines,
                 float* sines);

}  // namespace syncopate::models::llama
