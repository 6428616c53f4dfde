// The weighted selection behind top_k, top_p and the draw.
#pragma once

#include <cstdint>

#include "backend/models/llama/cuda/block_scan.cuh"
#include "backend/models/llama/cuda/rank.cuh"

namespace syncopate::models::llama {

/// Whole numbers, so that a sum is the same in any order.
using Mass = unsigned long long;

/// Finds, in a block of kThreads threads, the id at which the masses of a row's ids, added up in
/// the order of their ranks, reach a goal. Nothing is sorted: a histogram of the masses over the
/// ranks' next kDigit bits, the highest first, tells which of its bins the goal falls into, until a
/// bin holds one id alone. All threads call the functions together, with equal arguments.
class Selection {
 public:
  static constexpr unsigned kThreads = 1024;
  static constexpr unsigned kDigit = 10;

  struct Memory {
    Mass mass[1U << kDigit];
    std::uint32_t count[1U << kDigit];
    std::uint32_t id[1U << kDigit];  ///< One of the bin's.
    unsigned bin;
    Mass before;
  };

  __device__ Selection(const Ranking& ranking, Memory& memory)
      : ranking_(ranking), memory_(memory) {}

  /// `rank_of(id)` for each id; `mass_of(rank)`, 0 for ids that do not count; `goal_of(total)` is
  /// from 1 to the sum of all masses, which is below 2^63 and not 0. Where what the functions read
  /// changes meanwhile, as in a racy run, the result is the rank of some id.
  template <class RankOf, class MassOf, class GoalOf>
  __device__ Rank select(RankOf rank_of, MassOf mass_of, GoalOf goal_of) {
    static_assert(kThreads == 1U << kDigit, "a thread has a bin");
    Rank prefix = 0;  // the bits above `open` of the ranks that are still open
    unsigned open = ranking_.bits();
    Mass goal = 0;
    for (bool first = true;; first = false) {
      const unsigned shift = open > kDigit ? open - kDigit : 0;
      const unsigned width = open - shift;
      memory_.mass[threadIdx.x] = 0;
      memory_.count[threadIdx.x] = 0;
      memory_.id[threadIdx.x] = 0;
      if (threadIdx.x == 0) {
        memory_.bin = 0;
        memory_.before = 0;
      }
      __syncthreads();
      for (std::uint32_t id = threadIdx.x; id < ranking_.vocab(); id += kThreads) {
        const Rank rank = rank_of(id);
        if (rank >> open != prefix) continue;
        const Mass mass = mass_of(rank);
        if (mass == 0) continue;
        const auto bin = static_cast<unsigned>(rank >> shift & ((1U << width) - 1));
        atomicAdd(&memory_.mass[bin], mass);
        atomicAdd(&memory_.count[bin], 1U);
        memory_.id[bin] = id;
      }
      __syncthreads();

      const unsigned bin = kThreads - 1 - threadIdx.x;  // the highest ranks first
      const Mass mine = memory_.mass[bin];
      const Scanned<Mass> masses =
          block_scan<kThreads>(mine, Mass{0}, [](Mass a, Mass b) { return a + b; });
      if (first) goal = goal_of(masses.all);
      if (masses.before < goal && goal <= masses.before + mine) {
        memory_.bin = bin;
        memory_.before = masses.before;
      }
      __syncthreads();
      const unsigned found = memory_.bin;
      goal -= memory_.before;
      prefix = prefix << width | found;
      open = shift;
      const bool alone = memory_.count[found] == 1;
      const std::uint32_t id = memory_.id[found];
      __syncthreads();  // all have read before the next round writes
      if (alone || open == 0) return rank_of(id);
    }
  }

 private:
  const Ranking& ranking_;
  Memory& memory_;
};

}  // namespace syncopate::models::llama
