#include "tests/driver/campaign.h"

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/driver/shrink.h"

namespace syncopate::driver {
namespace {

using Clock = std::chrono::steady_clock;

/// Watches what each worker is at.
class Watchdog {
 public:
  Watchdog(std::size_t workers, std::chrono::seconds patience)
      : at_(workers), patience_(patience), thread_([this] { watch(); }) {}
  ~Watchdog() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  void begin(std::size_t worker, std::uint64_t seed) {
    const std::lock_guard lock(mutex_);
    at_[worker] = {seed, Clock::now()};
  }
  void end(std::size_t worker) {
    const std::lock_guard lock(mutex_);
    at_[worker] = {};
  }

 private:
  struct At {
    std::uint64_t seed = 0;
    Clock::time_point since = Clock::time_point::max();
  };

  void watch() {
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, std::chrono::seconds(1), [this] { return over_; })) {
      for (const At& at : at_) {
        if (at.since == Clock::time_point::max() || Clock::now() - at.since < patience_) continue;
        std::fprintf(stderr, "\ndriver: seed %llu hangs: not done after %lld s\n",
                     static_cast<unsigned long long>(at.seed),
                     static_cast<long long>(patience_.count()));
        std::abort();
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<At> at_;
  const std::chrono::seconds patience_;
  bool over_ = false;
  std::thread thread_;
};

class Campaign {
 public:
  explicit Campaign(const CampaignOptions& options)
      : options_(options), watchdog_(options.jobs, options.patience) {}

  std::optional<FailingSeed> run() {
    std::vector<std::thread> workers;
    for (unsigned worker = 0; worker < options_.jobs; ++worker) {
      workers.emplace_back([this, worker] { work(worker); });
    }
    for (std::thread& worker : workers) worker.join();
    return failing_;
  }

 private:
  void work(unsigned worker) {
    for (std::uint64_t i = next_++; i < options_.count; i = next_++) {
      const std::uint64_t seed = options_.first + i;
      watchdog_.begin(worker, seed);
      auto failure = play(draw(seed), options_.play);
      watchdog_.end(worker);
      if (failure) note({seed, std::move(*failure)});
      tell(++done_);
    }
  }

  void note(FailingSeed failing) {
    const std::lock_guard lock(mutex_);
    next_ = options_.count;  // those under way may still find a lower seed
    if (!failing_ || failing.seed < failing_->seed) failing_ = std::move(failing);
  }

  void tell(std::uint64_t done) {
    if (!options_.on_progress) return;
    const std::lock_guard lock(mutex_);
    if (Clock::now() - told_ < std::chrono::milliseconds(500)) return;
    told_ = Clock::now();
    options_.on_progress(done);
  }

  const CampaignOptions& options_;
  Watchdog watchdog_;
  std::atomic<std::uint64_t> next_ = 0, done_ = 0;
  std::mutex mutex_;
  Clock::time_point told_ = Clock::now();
  std::optional<FailingSeed> failing_;
};

}  // namespace

std::optional<FailingSeed> run_campaign(const CampaignOptions& options) {
  return Campaign(options).run();
}

Case shrink_seed(const FailingSeed& failing, const PlayOptions& options) {
  const int tries = options.runtime == experiments::RuntimeKind::kSim ? 1 : 5;
  return shrink(draw(failing.seed), [&](const Case& c) {
    for (int i = 0; i < tries; ++i) {
      const Played played = play(c, failing.failure.synchronous, options);
      if (played.failure && played.failure->check == failing.failure.check) return true;
    }
    return false;
  });
}

}  // namespace syncopate::driver
