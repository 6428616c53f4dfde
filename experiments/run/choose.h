// Variants that a configuration leaves to the search.
#pragma once

#include <optional>
#include <vector>

#include "experiments/config/load.h"
#include "experiments/search/search.h"

namespace syncopate::experiments {

struct ChosenVariants {
  UlyssesConfig config;  ///< Without auto: all variants as they are run.
  std::vector<std::optional<SearchResult>>
      found;  ///< By variant; none where nothing was left open.
};

/// Searches for each variant that is auto, among the transports that this build has for the
/// runtime and of which the search's profile says what they take. `config` is of the Ulysses
/// program.
ChosenVariants choose_variants(const ResolvedConfig& config, const OnCompared& on_compared = {});

}  // namespace syncopate::experiments
