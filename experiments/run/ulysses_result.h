// What a run of the Ulysses program leaves behind, beside its timeline.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/ulysses/benchmark/benchmark.h"
#include "backend/ulysses/benchmark/samples.h"
#include "experiments/config/ulysses_config.h"
#include "experiments/search/search.h"

namespace syncopate::experiments {

/// What is known of a variant without timing it.
struct VariantFacts {
  VariantConfig config;               ///< As it was run: resolved, and never auto …
  std::optional<SearchResult> found;  ///< … but this, where it was.
  std::size_t division = 0;           ///< Entrant::of of the parts that it is made of.
  std::uint64_t workspace_bytes = 0;  ///< Of the rank with the most; so below.
  ulysses::Traffic sent;
  std::optional<ulysses::VariantCheck> check;  ///< None: its output was not compared.
};

/// Plain data. Of an interrupted run: the steps that were finished at every rank.
struct UlyssesResult {
  std::string attention;  ///< Its kind.
  std::uint32_t ranks = 0;
  double tolerance = 0;
  ulysses::Rotation rotation;
  std::vector<ulysses::Entrant> entrants;
  std::vector<ulysses::Division> divisions;   ///< By Entrant::of of parts.
  std::vector<VariantFacts> variants;         ///< In the order of the configuration.
  std::optional<ulysses::Difference> oracle;  ///< Of one device's attention; None as above.
  std::vector<ulysses::Sample> samples;

  std::size_t finished_steps() const { return samples.size() / ranks; }
};

}  // namespace syncopate::experiments
