// Runs the points of a sweep, in this process.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "experiments/config/sweep_points.h"
#include "experiments/sweep/result_table.h"
#include "experiments/sweep/sweep_folder.h"

namespace syncopate::experiments {

/// Of `count` processes that share a sweep, this is number `index`, from 0.
struct Shard {
  std::size_t index = 0;
  std::size_t count = 1;

  bool has(std::size_t point) const { return point % count == index; }
};

struct SweepOptions {
  /// Points at a time; 0: of virtual time one a core, of other runtimes one.
  unsigned jobs = 0;
  Shard shard;
};

/// How far a sweep has come, of the points that were not finished before.
struct SweepProgress {
  std::size_t done = 0;
  std::size_t of = 0;
};

struct SweepOutcome {
  std::size_t kept = 0;    ///< Finished before.
  std::size_t ran = 0;     ///< Finished now.
  std::size_t failed = 0;  ///< Of them there are no folders, or incomplete ones.
  std::size_t left = 0;    ///< Neither: of other shards, or given up since the disk is full.
  std::size_t outside_profile = 0;  ///< Ran steps larger than any that the profile was made from.
  double seconds = 0;               ///< For what ran now.
  std::string disk_full;            ///< Why no more points were begun; empty: all were.
  std::vector<ResultRow> rows;      ///< Of points that are finished or failed, in order.
};

struct SweepCallbacks {
  // One at a time, on any thread.
  std::function<void(const SweepProgress&)> on_progress;
  std::function<void(std::size_t point, const std::string& message)> on_warning;
};

/// Runs what is not finished in `folder`, which is prepared. A point that fails has its error as
/// its row, and the others go on; once the disk is full no more are begun. What another process
/// finishes at the same time counts as finished.
SweepOutcome run_sweep(const SweepPlan& plan, const SweepFolder& folder,
                       const SweepOptions& options, const SweepCallbacks& callbacks);

}  // namespace syncopate::experiments
