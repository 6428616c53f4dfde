#include "experiments/run/ulysses_figures.h"

#include <algorithm>
#include <cstdint>
#include <span>

#include "analysis/percentiles.h"
#include "experiments/units.h"

namespace syncopate::experiments {
namespace {

using ulysses::Part;
/// Of each iteration that counts the most of its ranks, by entrant.
std::vector<std::vector<runtime::Nanos>> most(const UlyssesResult& run,
                                              runtime::Nanos ulysses::Sample::* member) {
  std::vector<std::vector<runtime::Nanos>> out(run.entrants.size());
  for (std::size_t i = 0; i < run.samples.size(); i += run.ranks) {
    const std::size_t step = run.samples[i].step;
    if (!run.rotation.counts(step)) continue;
    const auto ranks = std::span(run.samples).subspan(i, run.ranks);
    out[run.rotation.entrant(step)].push_back(std::ranges::max(ranks, {}, member).*member);
  }
  return out;
}

/// Medians of what a variant is held against.
class Medians {
 public:
  Medians(const UlyssesResult& run, const std::vector<EntrantFigures>& entrants)
      : run_(run), entrants_(entrants) {}

  std::optional<double> of_variant(std::size_t variant) const { return find({}, variant); }
  /// Of a division into one band the first and the last are all there are.
  std::optional<double> of_part(Part part, std::size_t division) const {
    if (run_.divisions[division].schedule.size() == 1 && part == Part::kFirstInput)
      part = Part::kInput;
    if (run_.divisions[division].schedule.size() == 1 && part == Part::kLastOutput)
      part = Part::kOutput;
    return find(part, division);
  }
  std::optional<double> best(PassStrategy strategy) const {
    std::optional<double> least;
    for (std::size_t i = 0; i < run_.variants.size(); ++i) {
      if (run_.variants[i].config.strategy != strategy) continue;
      const auto median = of_variant(i);
      if (median && (!least || *median < *least)) least = median;
    }
    return least;
  }

 private:
  std::optional<double> find(std::optional<Part> part, std::size_t of) const {
    for (std::size_t i = 0; i < run_.entrants.size(); ++i) {
      if (run_.entrants[i].part != part || run_.entrants[i].of != of) continue;
      if (!entrants_[i].time) return {};
      return entrants_[i].time->median;
    }
    return {};
  }

  const UlyssesResult& run_;
  const std::vector<EntrantFigures>& entrants_;
};

VariantFigures figures_of(const Medians& medians, std::size_t variant, std::size_t division,
                          bool one_band) {
  VariantFigures out;
  const auto pass = medians.of_variant(variant);
  if (!pass || *pass <= 0) return out;
  if (const auto best = medians.best(PassStrategy::kOrdinary)) out.over_ordinary = *best / *pass;
  if (const auto best = medians.best(PassStrategy::kWholeFused)) out.over_fused = *best / *pass;
  const auto input = medians.of_part(Part::kInput, division);
  const auto attention = medians.of_part(Part::kAttention, division);
  const auto output = medians.of_part(Part::kOutput, division);
  const auto first = medians.of_part(Part::kFirstInput, division);
  const auto last = medians.of_part(Part::kLastOutput, division);
  if (!input || !attention || !output || !first || !last) return out;
  out.communication = *input + *output;
  out.exposed = *pass - *attention;
  if (*out.communication > 0) out.hidden_pct = 100 * (1 - *out.exposed / *out.communication);
  out.limit = one_band ? *input + *attention + *output
                       : *first + std::max({*input, *attention, *output}) + *last;
  return out;
}

}  // namespace

std::optional<Spread> spread(std::vector<runtime::Nanos> values) {
  if (values.empty()) return {};
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  Spread out;
  out.count = values.size();
  out.median = milliseconds(values[middle]);
  if (values.size() % 2 == 0) out.median = (out.median + milliseconds(values[middle - 1])) / 2;
  out.p90 = milliseconds(analysis::percentile(std::span<const runtime::Nanos>(values), 90));
  out.min = milliseconds(values.front());
  out.max = milliseconds(values.back());
  return out;
}

std::vector<EntrantFigures> entrant_figures(const UlyssesResult& run) {
  const auto times = most(run, &ulysses::Sample::time);
  const auto enqueues = most(run, &ulysses::Sample::enqueue);
  std::vector<EntrantFigures> out;
  for (std::size_t i = 0; i < run.entrants.size(); ++i) {
    out.push_back({spread(times[i]), spread(enqueues[i])});
  }
  return out;
}

std::vector<VariantFigures> variant_figures(const UlyssesResult& run,
                                            const std::vector<EntrantFigures>& entrants) {
  const Medians medians(run, entrants);
  std::vector<VariantFigures> out;
  for (std::size_t i = 0; i < run.variants.size(); ++i) {
    const std::size_t division = run.variants[i].division;
    const bool one_band = run.divisions[division].schedule.size() == 1;
    out.push_back(figures_of(medians, i, division, one_band));
  }
  return out;
}

}  // namespace syncopate::experiments
