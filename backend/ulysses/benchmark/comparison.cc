#include "backend/ulysses/benchmark/comparison.h"

#include <cmath>
#include <limits>

namespace syncopate::ulysses {

void Difference::add(std::uint64_t at, double value, double right) {
  double difference = std::abs(value - right);
  if (std::isnan(difference)) difference = std::numeric_limits<double>::infinity();
  if (difference <= largest) return;
  largest = difference;
  element = at;
  got = value;
  expected = right;
}

void compare(Difference& worst, ElementType type, const std::byte* got, const std::byte* expected,
             std::uint64_t count, std::uint64_t first) {
  with_element(type, [&]<class T>() {
    const auto* values = reinterpret_cast<const T*>(got);
    const auto* right = reinterpret_cast<const T*>(expected);
    for (std::uint64_t i = 0; i < count; ++i) {
      worst.add(first + i, to_float(values[i]), to_float(right[i]));
    }
  });
}

}  // namespace syncopate::ulysses
