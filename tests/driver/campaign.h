// Many seeds, on all cores.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>

#include "tests/driver/play.h"

namespace syncopate::driver {

struct CampaignOptions {
  PlayOptions play;
  std::uint64_t first = 1;
  std::uint64_t count = 1;
  unsigned jobs = 1;
  /// A case that takes longer hangs: the process says which and aborts, since nothing can end a
  /// thread that does not end by itself.
  std::chrono::seconds patience{60};
  /// Called now and then with the seeds done, from one thread at a time. May be empty.
  std::function<void(std::uint64_t done)> on_progress;
};

struct FailingSeed {
  std::uint64_t seed = 0;
  Failure failure;
};

/// Plays the seeds until one fails: the least of them that does, whatever the number of jobs.
std::optional<FailingSeed> run_campaign(const CampaignOptions& options);

/// The case of a failing seed, as small as it gets while it breaks the same rule. On threads, where
/// the same case may fail now and then only, each step is tried a few times.
Case shrink_seed(const FailingSeed& failing, const PlayOptions& options);

}  // namespace syncopate::driver
