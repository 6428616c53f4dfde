// Draws for workloads, the same on every machine: the standard library's distributions differ
// between implementations, and so do the last bits of its logarithm.
#pragma once

#include <cstdint>

namespace syncopate::experiments {

/// Natural logarithm of a positive, normal number, and e to the power of one between -700 and 700,
/// within 1e-14 of their value, in basic IEEE arithmetic alone.
double exact_log(double x);
double exact_exp(double x);

/// SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014). Not
/// thread-safe.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next();
  /// Even over [0, bound), bound <= 2^32, up to a bias of bound / 2^32.
  std::uint32_t below(std::uint64_t bound) {
    return static_cast<std::uint32_t>(((next() >> 32) * bound) >> 32);
  }
  /// Even over (0, 1), in steps of 2^-53.
  double unit() { return (static_cast<double>(next() >> 11) + 0.5) * 0x1p-53; }

  /// Of mean 1.
  double exponential() { return -exact_log(unit()); }
  /// Of mean 0 and deviation 1: Marsaglia's polar method ("A convenient method for generating
  /// normal variables", 1964).
  double normal();
  /// Of mean 1 and coefficient of variation `cv` > 0: shape 1 / cv^2, by Marsaglia and Tsang ("A
  /// simple method for generating gamma variables", 2000).
  double gamma(double cv);

 private:
  std::uint64_t state_;
};

}  // namespace syncopate::experiments
