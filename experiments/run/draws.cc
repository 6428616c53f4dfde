#include "experiments/run/draws.h"

#include <cmath>

namespace syncopate::experiments {
namespace {

constexpr double kLn2 = 0.69314718055994530942;
constexpr double kSqrtHalf = 0.70710678118654752440;

}  // namespace

// ln x = k ln 2 + 2 artanh((m - 1) / (m + 1)), with x = 2^k m and m near 1, where the series is
// short.
double exact_log(double x) {
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);  // exact
  if (mantissa < kSqrtHalf) {
    mantissa *= 2;
    --exponent;
  }
  const double z = (mantissa - 1) / (mantissa + 1);  // at most 0.1716
  const double square = z * z;
  double power = z;
  double sum = 0;
  for (int term = 1; term <= 25; term += 2) {
    sum += power / term;
    power *= square;
  }
  return exponent * kLn2 + 2 * sum;
}

// e^x = 2^k e^r, with r within ln 2 / 2 of 0, where the series is short.
double exact_exp(double x) {
  const double times = std::floor(x / kLn2 + 0.5);
  const double rest = x - times * kLn2;
  double term = 1;
  double sum = 1;
  for (int n = 1; n <= 18; ++n) {
    term *= rest / n;
    sum += term;
  }
  return std::ldexp(sum, static_cast<int>(times));  // exact
}

std::uint64_t Draws::next() {
  state_ += 0x9e3779b97f4a7c15;
  std::uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

double Draws::normal() {
  for (;;) {
    const double u = 2 * unit() - 1;
    const double v = 2 * unit() - 1;
    const double square = u * u + v * v;
    if (square < 1) return u * std::sqrt(-2 * exact_log(square) / square);
  }
}

double Draws::gamma(double cv) {
  const double shape = 1 / (cv * cv);
  // Below 1 that of shape + 1, times a power of a draw that takes it there.
  const double boost = shape < 1 ? exact_exp(exact_log(unit()) / shape) : 1;
  const double d = (shape < 1 ? shape + 1 : shape) - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = normal();
    const double root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    if (exact_log(unit()) < x * x / 2 + d - d * v + d * exact_log(v)) {
      return d * v * boost / shape;
    }
  }
}

}  // namespace syncopate::experiments
