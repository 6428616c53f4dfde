#include "experiments/sweep/sweep_run.h"

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <filesystem>
#include <iterator>
#include <mutex>
#include <new>
#include <nlohmann/json.hpp>
#include <system_error>
#include <thread>
#include <utility>

#include "experiments/run/profile_ranges.h"
#include "experiments/run/report.h"
#include "experiments/run/run.h"
#include "experiments/run/run_folder.h"

namespace syncopate::experiments {
namespace {

namespace fs = std::filesystem;

using Json = nlohmann::ordered_json;

bool in_virtual_time(const SweepPoint& point) {
  return runtime_of(point.config.config).kind == RuntimeKind::kSim;
}

class SweepRun {
 public:
  SweepRun(const SweepPlan& plan, const SweepFolder& folder, const SweepOptions& options,
           const SweepCallbacks& callbacks)
      : plan_(plan),
        folder_(folder),
        options_(options),
        callbacks_(callbacks),
        table_(plan),
        rows_(plan.points.size()) {}

  SweepOutcome run() {
    std::vector<std::size_t> simulated;
    std::vector<std::size_t> measured;
    for (std::size_t i = 0; i < plan_.points.size(); ++i) {
      const SweepPoint& point = plan_.points[i];
      if (keep_finished(i)) {
        ++outcome_.kept;
      } else if (options_.shard.has(i)) {
        (in_virtual_time(point) ? simulated : measured).push_back(i);
      }
    }
    keep_memory();
    progress_.of = simulated.size() + measured.size();
    const auto start = std::chrono::steady_clock::now();
    const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
    run_all(simulated, options_.jobs == 0 ? cores : options_.jobs);
    run_all(measured, options_.jobs == 0 ? 1 : options_.jobs);
    outcome_.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      // Another shard may have finished it meanwhile: whoever is last sees all of them.
      if (rows_[i].empty() && !keep_finished(i)) ++outcome_.left;
      std::ranges::move(rows_[i], std::back_inserter(outcome_.rows));
    }
    return std::move(outcome_);
  }

 private:
  /// Each point needs the memory that the one before gave up: it need not be mapped anew.
  static void keep_memory() {
#ifdef __GLIBC__
    constexpr int kMost = 1 << 30;
    ::mallopt(M_MMAP_THRESHOLD, kMost);
    ::mallopt(M_TRIM_THRESHOLD, kMost);
#endif
  }

  /// Takes over a point that has its folder.
  bool keep_finished(std::size_t number) {
    const SweepPoint& point = plan_.points[number];
    if (!folder_.finished(point)) return false;
    const auto figures = folder_.figures(point);
    if (!figures) {
      throw RunFolderError("cannot read " + (folder_.point(point) / "metrics.json").string());
    }
    rows_[number] = table_.rows(number, *figures);
    return true;
  }

  void run_all(const std::vector<std::size_t>& numbers, unsigned jobs) {
    std::atomic<std::size_t> next = 0;
    const auto work = [&] {
      for (std::size_t i = next++; i < numbers.size() && !stopped_; i = next++) {
        run_point(numbers[i]);
      }
    };
    const std::size_t threads = std::min<std::size_t>(jobs, numbers.size());
    if (threads <= 1) return work();
    std::vector<std::jthread> workers;
    for (std::size_t i = 0; i < threads; ++i) workers.emplace_back(work);
  }

  void run_point(std::size_t number) {
    const SweepPoint& point = plan_.points[number];
    std::string error;
    try {
      if (folder_.finished(point) || !try_run(number)) {  // else by another process
        keep_finished(number);
      }
    } catch (const DiskFullError& full) {
      stop(full.what());
      return;
    } catch (const std::bad_alloc&) {
      error = "out of memory";
    } catch (const std::exception& failure) {
      error = failure.what();
    }
    const std::lock_guard lock(mutex_);
    if (!error.empty()) rows_[number] = {table_.failed_row(number, error)};
    ++(error.empty() ? outcome_.ran : outcome_.failed);
    if (!error.empty() && callbacks_.on_warning) callbacks_.on_warning(number, error);
    ++progress_.done;
    if (callbacks_.on_progress) callbacks_.on_progress(progress_);
  }

  /// False where the folder has come to be meanwhile.
  bool try_run(std::size_t number) {
    const SweepPoint& point = plan_.points[number];
    const fs::path target = folder_.point(point);
    try {
      const RunResult result = run_config(point.config);
      const Json figures = metrics(result);
      RunFolder files(target, /*force=*/false, Abandoned::kLeave);
      write_run(files, point.config, result, figures);
      files.commit();
      rows_[number] = table_.rows(number, figures);
      std::error_code ignored;
      fs::remove_all(fs::path(target) += ".incomplete", ignored);  // of an earlier try
      note(number, result);
      return true;
    } catch (const InterruptedRun& interrupted) {
      write_incomplete_run(target, point.config, interrupted.so_far());
      throw;
    } catch (const RunFolderExistsError&) {
      if (!folder_.finished(point)) throw;
      return false;
    }
  }

  void note(std::size_t number, const RunResult& result) {
    const auto* batching = std::get_if<BatchingResult>(&result.program);
    const bool outside = batching != nullptr &&
                         steps_outside_profile(plan_.points[number].config, *batching).has_value();
    const std::lock_guard lock(mutex_);
    outcome_.outside_profile += static_cast<std::size_t>(outside);
    if (!result.warning.empty() && callbacks_.on_warning) {
      callbacks_.on_warning(number, "warning: " + result.warning);
    }
  }

  void stop(const std::string& why) {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    if (outcome_.disk_full.empty()) outcome_.disk_full = why;
  }

  const SweepPlan& plan_;
  const SweepFolder& folder_;
  const SweepOptions& options_;
  const SweepCallbacks& callbacks_;
  const ResultTable table_;
  std::vector<std::vector<ResultRow>> rows_;  ///< By point; each is written by one thread.
  std::atomic<bool> stopped_ = false;
  std::mutex mutex_;  ///< Of what is below, and the callbacks.
  SweepOutcome outcome_;
  SweepProgress progress_;
};

}  // namespace

SweepOutcome run_sweep(const SweepPlan& plan, const SweepFolder& folder,
                       const SweepOptions& options, const SweepCallbacks& callbacks) {
  return SweepRun(plan, folder, options, callbacks).run();
}

}  // namespace syncopate::experiments
