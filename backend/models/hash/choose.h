// The choice of a row's next token in integers, written once for the host and for CUDA.
//
// Ids are ranked by score, the lower id first among equals. Each filter keeps a prefix of that
// ranking, and the draw too is the end of one: the shortest prefix that holds more than the drawn
// part of the weight. Such prefixes are found by bisecting over ranks, with one pass over the
// vocabulary a step: nothing is sorted and nothing is stored, so it needs no memory whatever the
// vocabulary.
#pragma once

#include <cstdint>

#include "backend/models/hash/weight.h"
#include "backend/models/row_sampling.h"

namespace syncopate::models::hash {

/// An id with its score; better is a larger score, or the lower id.
struct Scored {
  std::int64_t score;
  std::uint32_t id;
};

SYNCOPATE_HOST_DEVICE inline Scored better(Scored a, Scored b) {
  return a.score > b.score || (a.score == b.score && a.id < b.id) ? a : b;
}

/// An id's place in the ranking: distance from the largest score << kIdBits | id.
using Rank = std::uint64_t;
inline constexpr unsigned kIdBits = 24;
inline constexpr std::uint32_t kMaxVocab = 1U << kIdBits;

/// What a prefix of the ranking holds.
struct Mass {
  std::uint64_t weight = 0;
  std::uint64_t ids = 0;
};

struct Prefix {
  Rank last;  ///< Of the ranks up to this one, whether or not an id has it.
  Mass mass;
};

/// Chooses from `Scores`, which has the ids' scores and
///
///   reduce(first, of, join)   join(... join(join(first, of(id0, score0)), of(id1, score1)) ...)
///
/// over all ids, in any order and grouping: `join` is associative and commutative, and `first`
/// changes nothing. On CUDA the threads of a block call together and all get the result.
template <class Scores>
class Chooser {
 public:
  SYNCOPATE_HOST_DEVICE Chooser(Scores& scores, const RowSampling& sampling)
      : scores_(scores), sampling_(sampling), furthest_(furthest(sampling.temperature)) {}

  /// The id, given the row's random_bits.
  SYNCOPATE_HOST_DEVICE std::uint32_t choose(std::uint64_t random) {
    best_ = scores_.reduce(
        Scored{INT64_MIN, UINT32_MAX},
        [](std::uint32_t id, std::int64_t score) { return Scored{score, id}; },
        [](Scored a, Scored b) { return better(a, b); });
    if (sampling_.greedy()) return best_.id;

    Prefix kept = {(furthest_ << kIdBits) - 1, {}};
    kept.mass = mass(kept.last, 0);
    if (sampling_.top_k != 0 && sampling_.top_k < kept.mass.ids) {
      kept = shortest(kept, sampling_.top_k, &Mass::ids);
    }
    if (sampling_.top_p < RowSampling::kOne) {
      kept = shortest(kept, share_of(kept.mass.weight, sampling_.top_p), &Mass::weight);
    }
    // min_p too keeps a prefix; its weight is enough, since the draw ends inside it.
    const std::uint64_t drawable =
        sampling_.min_p > 0 ? mass(kept.last, sampling_.min_p << 15).weight : kept.mass.weight;
    return last_id(shortest(kept, scaled(drawable, random) + 1, &Mass::weight).last);
  }

 private:
  SYNCOPATE_HOST_DEVICE std::uint64_t distance(std::int64_t score) const {
    const auto all = static_cast<std::uint64_t>(best_.score - score);
    return all < furthest_ ? all : furthest_;
  }
  SYNCOPATE_HOST_DEVICE Rank rank(std::uint32_t id, std::int64_t score) const {
    return distance(score) << kIdBits | id;
  }

  /// What the ids up to `last` hold, of those with at least `least` weight.
  SYNCOPATE_HOST_DEVICE Mass mass(Rank last, std::uint32_t least) const {
    return scores_.reduce(
        Mass{},
        [this, last, least](std::uint32_t id, std::int64_t score) -> Mass {
          if (rank(id, score) > last) return {};
          const std::uint32_t held = weight(distance(score), sampling_.temperature);
          return held < least ? Mass{} : Mass{held, 1};
        },
        [](Mass a, Mass b) -> Mass { return {a.weight + b.weight, a.ids + b.ids}; });
  }

  /// The shortest prefix that holds `goal`, which is positive and which `within` holds.
  SYNCOPATE_HOST_DEVICE Prefix shortest(Prefix within, std::uint64_t goal,
                                        std::uint64_t Mass::* held) const {
    Prefix below = {best_.id, {kFullWeight, 1}};  // the best alone; its distance is 0
    if (below.mass.*held >= goal) return below;
    // The prefix ends with the one id that parts the two. Ranks that touch, with no such id, are
    // seen only in a racy run, where the ids of the past change between passes.
    while (within.mass.ids - below.mass.ids > 1 && within.last - below.last > 1) {
      Prefix middle = {below.last + (within.last - below.last) / 2, {}};
      middle.mass = mass(middle.last, 0);
      (middle.mass.*held >= goal ? within : below) = middle;
    }
    return within;
  }

  SYNCOPATE_HOST_DEVICE std::uint32_t last_id(Rank last) const {
    const Rank found = scores_.reduce(
        Rank{0},
        [this, last](std::uint32_t id, std::int64_t score) {
          const Rank own = rank(id, score);
          return own <= last ? own : Rank{0};
        },
        [](Rank a, Rank b) { return a < b ? b : a; });
    return static_cast<std::uint32_t>(found % kMaxVocab);
  }

  Scores& scores_;
  RowSampling sampling_;
  std::uint64_t furthest_;
  Scored best_ = {};
};

}  // namespace syncopate::models::hash
