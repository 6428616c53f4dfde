#include "backend/models/llama/cpu/sampler.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "backend/models/llama/cpu/pointwise.h"

namespace syncopate::models::llama {
namespace {

constexpr float kLargest = std::numeric_limits<float>::max();

float real(std::uint32_t q16) {
  return static_cast<float>(q16) / static_cast<float>(RowSampling::kOne);
}

// Each id that has occurred once, however often it did. `marks` holds a word for each id.
void penalise(float* scores, std::uint32_t vocab, float penalty, const RowHistory& history,
              std::uint32_t* marks) {
  std::fill_n(marks, vocab, 0U);
  for (std::uint32_t position = 0; position < history.length; ++position) {
    const std::uint32_t id = history.ids.id(history.row, position);
    if (marks[id] != 0) continue;
    marks[id] = 1;
    scores[id] = scores[id] > 0 ? scores[id] / penalty : scores[id] * penalty;
  }
}

// The ids in order of their scores, the lower id first among equals: all, or the `count` first.
void rank(const float* scores, std::uint32_t vocab, std::uint32_t count, std::uint32_t* ranking) {
  std::iota(ranking, ranking + vocab, 0U);
  const auto before = [scores](std::uint32_t a, std::uint32_t b) {
    return scores[a] > scores[b] || (scores[a] == scores[b] && a < b);
  };
  if (count < vocab) {
    std::partial_sort(ranking, ranking + count, ranking + vocab, before);
  } else {
    std::sort(ranking, ranking + vocab, before);
  }
}

double sum(const float* weights, std::uint32_t count) {
  return std::accumulate(weights, weights + count, 0.0);
}

// The fewest first weights whose sum reaches `goal`; no more than `count`.
std::uint32_t prefix(const float* weights, std::uint32_t count, double goal) {
  double total = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    total += weights[i];
    if (total >= goal) return i + 1;
  }
  return count;
}

}  // namespace

std::int32_t choose(const float* logits, std::uint32_t vocab, const RowSampling& sampling,
                    const RowHistory& history, const SamplerScratch& scratch) {
  if (sampling.plain()) return argmax(logits, vocab);
  float* const scores = scratch.scores;
  std::uint32_t* const ranking = scratch.ranking;

  std::copy_n(logits, vocab, scores);
  if (sampling.penalises() && history.ids) {
    penalise(scores, vocab, real(sampling.penalty), history, ranking);
  }
  if (sampling.greedy()) return argmax(scores, vocab);

  // Finite, so that every distance has an order.
  for (std::uint32_t id = 0; id < vocab; ++id) {
    scores[id] = scores[id] > -kLargest ? std::min(scores[id], kLargest) : -kLargest;
  }
  std::uint32_t kept = sampling.top_k == 0 ? vocab : std::min(sampling.top_k, vocab);
  rank(scores, vocab, kept, ranking);

  // From here on by rank. The first weight is 1.
  float* const weights = scratch.weights;
  const float largest = scores[ranking[0]];
  const float temperature = real(sampling.temperature);
  for (std::uint32_t i = 0; i < kept; ++i) {
    weights[i] = (scores[ranking[i]] - largest) / temperature;
  }
  exponentials(weights, kept);
  if (sampling.top_p < RowSampling::kOne) {
    kept = prefix(weights, kept, sum(weights, kept) * real(sampling.top_p));
  }
  const float least = real(sampling.min_p);
  while (weights[kept - 1] < least) --kept;

  // A part of the whole in (0, 1], in steps of 2^-53: what a double holds exactly.
  const std::uint64_t random = random_bits(sampling.seed, history.length) >> 11;
  const double drawn = static_cast<double>(random + 1) * 0x1p-53;
  const std::uint32_t place = prefix(weights, kept, sum(weights, kept) * drawn) - 1;
  return static_cast<std::int32_t>(ranking[place]);
}

}  // namespace syncopate::models::llama
