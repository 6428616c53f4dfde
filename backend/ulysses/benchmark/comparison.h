// What was computed against what should have been.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/ulysses/element_type.h"

namespace syncopate::ulysses {

/// The worst of some elements.
struct Difference {
  double largest = 0;         ///< Absolute; infinite where one of the two is no number.
  std::uint64_t element = 0;  ///< Where, of those compared …
  double got = 0;             ///< … what was there …
  double expected = 0;        ///< … and what should have been.

  /// Takes the pair if it is worse.
  void add(std::uint64_t at, double value, double right);
};

/// Compares `count` elements, numbered from `first` on.
void compare(Difference& worst, ElementType type, const std::byte* got, const std::byte* expected,
             std::uint64_t count, std::uint64_t first);

}  // namespace syncopate::ulysses
