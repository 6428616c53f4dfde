// The scheduler's share of a step, plan() and update(): when nothing changes, when one request
// joins and one leaves in every step, and when many wait.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "backend/batching/batcher.h"
#include "backend/batching/scheduler.h"

namespace {

using namespace syncopate;
using batching::Request;

// A scheduler with two slots, stepped as the asynchronous batcher does: a step is planned before
// the one before it is taken.
class Stepper {
 public:
  Stepper(models::BatchLimits limits, std::vector<Request> requests)
      : requests_(std::move(requests)),
        layout_(batching::with_width(limits, requests_)),
        scheduler_(std::make_unique<batching::Scheduler>(layout_, batching::KvPool{{}, 64, 4},
                                                         batching::ModelBounds{},
                                                         batching::SchedulerOptions{}, requests_)),
        output_(limits.rows, 1) {
    for (std::size_t s = 0; s < 2; ++s) {
      inputs_[s].resize(layout_.input_words());
      slots_[s].in = inputs_[s].data();
      slots_[s].stay.resize(limits.rows);
      slots_[s].pages_written.resize(limits.rows);
      slots_[s].kv_writes.reserve(2 * std::size_t{limits.rows} + limits.tokens);
      rows_[s].request.resize(limits.rows);
    }
  }

  void step() {
    const std::size_t slot = static_cast<std::size_t>(step_) % 2;
    scheduler_->plan(step_, slots_[slot], rows_[slot], step_ > 0);
    if (step_ > 0) scheduler_->update(rows_[1 - slot], output_.data());
    ++step_;
  }
  bool finished() const { return scheduler_->finished(); }

 private:
  std::vector<Request> requests_;
  models::BatchLayout layout_;
  std::unique_ptr<batching::Scheduler> scheduler_;
  std::vector<std::int32_t> inputs_[2];
  std::vector<std::int32_t> output_;
  batching::Slot slots_[2];
  batching::StepRows rows_[2];
  std::int32_t step_ = 0;
};

Request request(std::uint32_t prompt, std::uint32_t max_new_tokens) {
  Request made;
  made.prompt.assign(prompt, 1);
  made.max_new_tokens = max_new_tokens;
  return made;
}

models::BatchLimits limits(std::uint32_t rows, std::uint32_t entries) {
  models::BatchLimits made;
  made.rows = rows;
  made.tokens = rows * 8;
  made.page_tokens = 16;
  made.pages = rows * ((entries + 15) / 16 + 1);
  return made;
}

// Steps of what `make` gives, which is made anew every `count` steps, unmeasured.
template <class Make>
void measure_steps(benchmark::State& state, std::uint32_t count, const Make& make) {
  auto stepper = make();
  std::uint32_t steps = 0;
  for (auto _ : state) {
    if (++steps == count) {
      state.PauseTiming();
      stepper = make();
      steps = 1;
      state.ResumeTiming();
    }
    stepper->step();
  }
}

// No row joins or leaves; 2 of the 32 need a page in a step.
void steady_step(benchmark::State& state) {
  constexpr std::uint32_t kSteps = 8192;
  const auto make = [] {
    return std::make_unique<Stepper>(limits(32, kSteps + 8),
                                     std::vector<Request>(32, request(8, kSteps)));
  };
  measure_steps(state, kSteps, make);
}
BENCHMARK(steady_step);

// Request i ends i steps after the first, and one that waits takes its row.
void one_joins_and_one_leaves(benchmark::State& state) {
  const auto rows = static_cast<std::uint32_t>(state.range(0));
  constexpr std::uint32_t kSteps = 4096;
  const auto make = [rows] {
    std::vector<Request> requests;
    for (std::uint32_t i = 0; i < rows; ++i) requests.push_back(request(8, i + 2));
    for (std::uint32_t i = 0; i < kSteps; ++i) requests.push_back(request(8, rows));
    return std::make_unique<Stepper>(limits(rows, 8 + rows), std::move(requests));
  };
  measure_steps(state, kSteps, make);
}
BENCHMARK(one_joins_and_one_leaves)->Arg(32)->Arg(256);

// All of the requests wait from the start; 256 at a time are served, two tokens each.
void many_wait(benchmark::State& state) {
  const auto count = static_cast<std::size_t>(state.range(0));
  for (auto _ : state) {
    state.PauseTiming();
    Stepper stepper(limits(256, 16), std::vector<Request>(count, request(8, 2)));
    state.ResumeTiming();
    while (!stepper.finished()) stepper.step();
  }
  state.counters["ns_a_request"] =
      benchmark::Counter(static_cast<double>(count), benchmark::Counter::kIsIterationInvariantRate |
                                                         benchmark::Counter::kInvert);
}
BENCHMARK(many_wait)->Arg(1000)->Arg(10000)->Arg(100000)->Unit(benchmark::kMicrosecond);

}  // namespace
