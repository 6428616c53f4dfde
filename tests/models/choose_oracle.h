// What the integer choice must be, written naively.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "backend/models/hash/weight.h"
#include "backend/models/row_sampling.h"

namespace syncopate::models::hash {

/// The id that the definition in sampling.h and the weights' (weight.h) give for these scores:
/// sort, cut, cut, cut, draw.
inline std::uint32_t defined_choice(const std::vector<std::int64_t>& values,
                                    const RowSampling& sampling, std::uint64_t random) {
  std::vector<std::uint32_t> ids(values.size());
  std::iota(ids.begin(), ids.end(), 0U);
  std::stable_sort(ids.begin(), ids.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return values[a] > values[b]; });
  if (sampling.temperature == 0) return ids[0];
  if (sampling.top_k > 0 && sampling.top_k < ids.size()) ids.resize(sampling.top_k);

  std::vector<std::uint64_t> weights;
  for (const std::uint32_t id : ids) {
    const auto distance = static_cast<std::uint64_t>(values[ids[0]] - values[id]);
    weights.push_back(
        distance < furthest(sampling.temperature) ? weight(distance, sampling.temperature) : 0);
  }
  __extension__ using Wide = unsigned __int128;
  const auto total = [&] { return std::accumulate(weights.begin(), weights.end(), Wide{0}); };

  const Wide enough = total() * sampling.top_p;
  Wide sum = 0;
  std::size_t count = 0;
  while (sum * 65536 < enough) sum += weights[count++];
  weights.resize(count);

  const auto rare = [&](std::uint64_t held) {
    return Wide{held} * 65536 < Wide{weights[0]} * sampling.min_p;
  };
  weights.erase(std::find_if(weights.begin(), weights.end(), rare), weights.end());

  // The first id whose sum is above the drawn part: sum / total > random / 2^64.
  const Wide drawn = total() * random >> 64;
  std::size_t place = 0;
  for (sum = weights[0]; sum <= drawn; sum += weights[place]) ++place;
  return ids[place];
}

}  // namespace syncopate::models::hash
