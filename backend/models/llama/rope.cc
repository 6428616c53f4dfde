#include "backend/models/llama/rope.h"

#include <cmath>
#include <numbers>

namespace syncopate::models::llama {
namespace {

double scaled(double frequency, const RopeScaling& scaling) {
  const double turns = scaling.original_max_position * frequency / (2.0 * std::numbers::pi);
  if (turns > scaling.high_freq_factor) return frequency;
  if (turns < scaling.low_freq_factor) return frequency / scaling.factor;
  const double kept =
      (turns - scaling.low_freq_factor) / (scaling.high_freq_factor - scaling.low_freq_factor);
  return kept * frequency + (1.0 - kept) * frequency / scaling.factor;
}

}  // namespace

std::vector<float> rope_frequencies(const LlamaConfig& config) {
  std::vector<float> frequencies(config.head_dim / 2);
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    double frequency = std::pow(config.rope_theta, -2.0 * static_cast<double>(i) / config.head_dim);
    if (config.rope_scaling) frequency = scaled(frequency, *config.rope_scaling);
    frequencies[i] = static_cast<float>(frequency);
  }
  return frequencies;
}

void rope_angles(std::span<const float> frequencies, std::uint32_t position, float* cosines,
                 float* sines) {
  // The product is rounded to fp32, as in the models' own training code.
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    const float angle = static_cast<float>(position) * frequencies[i];
    cosines[i] = std::cos(angle);
    sines[i] = std::sin(angle);
  }
}

}  // namespace syncopate::models::llama
