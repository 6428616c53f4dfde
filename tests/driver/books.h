// What must hold after every step, from books that the driver keeps itself.
#pragma once

#include <cstdint>
#include <deque>
#include <stdexcept>
#include <string>
#include <vector>

#include "backend/batching/scheduler.h"
#include "experiments/config/config.h"

namespace syncopate::driver {

/// What is wrong: `check` is the short name of the rule that was broken.
class Fault : public std::runtime_error {
 public:
  Fault(std::string check, const std::string& text)
      : std::runtime_error(check + ": " + text), check_(std::move(check)) {}
  const std::string& check() const { return check_; }

 private:
  std::string check_;
};

/// Fed with a run's steps as the host plans and completes them. Throws Fault at the first thing
/// that is wrong. Not thread-safe.
class Books {
 public:
  /// Both must outlive the books. `depth` is how many steps may be in flight.
  Books(const experiments::BatchingConfig& config, const std::vector<batching::Request>& requests,
        std::uint32_t depth);

  /// BatcherOptions::on_plan, on_step and on_token.
  void plan(const batching::Scheduler& scheduler, const batching::Slot& slot);
  void complete();
  void told(const batching::TokenEvent& event);
  /// After a run that ended by itself; `listened` if all tokens were told.
  void close(bool listened);

 private:
  // Who is computed on a page: the stay, since a request may lose its pages and come back.
  struct Use {
    std::uint32_t page;
    std::uint64_t stay;
    std::uint32_t request;
  };
  using Step = std::vector<Use>;
  struct State {
    batching::FinishReason reason = batching::FinishReason::kNone;
    std::size_t tokens = 0;
    std::uint32_t sampled = 0;  ///< Rows planned that sample for it.
    std::vector<std::int32_t> told;
    batching::FinishReason told_reason = batching::FinishReason::kNone;
  };

  void check_budget(const batching::Slot& slot) const;
  void check_pages() const;
  void check_row(const batching::Row& row, std::uint32_t r, const batching::Slot& slot);
  void check_ends();
  std::size_t allowed_in_vain(const batching::Request& request,
                              const batching::RequestResult& result) const;

  const experiments::BatchingConfig& config_;
  const std::vector<batching::Request>& requests_;
  const models::BatchLayout layout_;
  const std::uint32_t depth_;
  std::uint64_t most_steps_ = 1000;
  std::uint64_t planned_ = 0;
  std::vector<State> states_;
  std::deque<Step> in_flight_;
  const batching::Scheduler* scheduler_ = nullptr;
};

}  // namespace syncopate::driver
