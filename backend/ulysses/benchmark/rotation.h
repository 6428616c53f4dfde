// Rotation: who runs when. Everyone runs once an iteration, and iteration i begins with entrant i:
// what drifts meets all alike, and nobody always comes first.
#pragma once

#include <cstddef>
#include <cstdint>

namespace syncopate::ulysses {

struct Rotation {
  std::size_t entrants = 1;
  std::uint32_t warmups = 0;     ///< Iterations that do not count …
  std::uint32_t iterations = 0;  ///< … and after them those that do.

  std::size_t steps() const { return entrants * (std::size_t{warmups} + iterations); }
  std::size_t entrant(std::size_t step) const {
    return (step / entrants + step % entrants) % entrants;
  }
  bool counts(std::size_t step) const { return step / entrants >= warmups; }
  /// From 0, of a step that counts.
  std::uint32_t iteration(std::size_t step) const {
    return static_cast<std::uint32_t>(step / entrants) - warmups;
  }
};

}  // namespace syncopate::ulysses
