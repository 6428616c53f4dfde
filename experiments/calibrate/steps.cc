#include "experiments/calibrate/steps.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <span>
#include <string_view>

#include "backend/batching/batcher.h"
#include "backend/runtime/error.h"
#include "backend/runtime/runtime.h"
#include "experiments/calibrate/fit.h"
#include "experiments/units.h"

namespace syncopate::experiments {
namespace {

using batching::StrategyKind;
using runtime::Nanos;
using runtime::Operation;
using runtime::OperationKind;

constexpr int kLeastRounds = 3;
constexpr int kMostRounds = 15;
/// A run's first steps meet cold caches and new threads.
constexpr std::uint32_t kColdSteps = 3;
constexpr std::uint32_t kRequestsPerRow = 3;
constexpr std::uint32_t kMostNewTokens = 64;
constexpr std::uint32_t kMostFillingTokens = 128;
/// Host work of the ordered programs, as shares of a device step.
constexpr std::array<double, 5> kPauses = {0, 0.25, 0.5, 1, 2};

double duration(const Operation* op) { return microseconds(op->end - op->start); }
double issue(const Operation* op) { return microseconds(op->issue_end - op->issue_begin); }

/// A run's operations of one step, by what they are there for; null where there are none.
struct StepOperations {
  const Operation* prepare = nullptr;
  const Operation* h2d = nullptr;
  const Operation* carry = nullptr;    ///< Without graphs.
  const Operation* forward = nullptr;  ///< The graph, which has no other node, or the kernel.
  const Operation* d2h = nullptr;
  const Operation* block = nullptr;
  const Operation* update = nullptr;
};

std::vector<StepOperations> by_step(const runtime::Timeline& timeline, std::size_t steps) {
  std::vector<StepOperations> out(steps);
  for (const Operation& operation : timeline.operations) {
    if (operation.step < 0 || static_cast<std::size_t>(operation.step) >= steps) continue;
    StepOperations& step = out[static_cast<std::size_t>(operation.step)];
    const std::string_view name = operation.name;
    switch (operation.kind) {
      case OperationKind::kHostSpan:
        if (name == "prepare") step.prepare = &operation;
        if (name == "update") step.update = &operation;
        break;
      case OperationKind::kHostBlock:
        step.block = &operation;
        break;
      case OperationKind::kCopyH2D:
        step.h2d = &operation;
        break;
      case OperationKind::kCopyD2H:
        step.d2h = &operation;
        break;
      case OperationKind::kGraph:
        step.forward = &operation;
        break;
      case OperationKind::kKernel:
        (name == "carry" ? step.carry : step.forward) = &operation;
        break;
      default:
        break;
    }
  }
  return out;
}

/// What was seen of one step in all rounds.
struct StepSamples {
  batching::StepRecord record;
  std::vector<double> pause, prepare, update, forward, carry;
};
using Samples = std::vector<StepSamples>;

void take_medians(Samples& samples, std::vector<MeasuredStep>& out) {
  for (std::size_t i = kColdSteps; i < samples.size(); ++i) {
    StepSamples& step = samples[i];
    out.push_back({step.record, median(step.pause), median(step.prepare), median(step.update),
                   median(step.forward), median(step.carry)});
  }
}

struct CallSamples {
  std::vector<double> copy_in, copy_out, graph, carry, forward;
  std::vector<double> record, record_and_wait_in, record_and_wait_out;
  std::vector<double> latency, handover, wake;
};

class StepProgram {
 public:
  StepProgram(const EngineFactory& make_engine, const models::Model& model,
              const models::BatchLimits& limits, const std::vector<batching::Request>& requests)
      : make_engine_(make_engine), model_(model), limits_(limits), requests_(requests) {}

  /// The first round finds how long a device step is.
  void round(bool keep) {
    run(StrategyKind::kAsync, 0, keep, async_);
    for (std::size_t i = 0; i < kPauses.size(); ++i) {
      run(StrategyKind::kOrdered, kPauses[i], keep, ordered_[i]);
    }
  }
  MeasuredProgram result();

 private:
  /// `pause`: host work in each step, as a share of a device step.
  void run(StrategyKind kind, double pause, bool keep, Samples& samples);
  void take_calls_of_ordered(const StepOperations& step);
  void take_calls_of_async(const StepOperations& step);

  const EngineFactory& make_engine_;
  const models::Model& model_;
  const models::BatchLimits& limits_;
  const std::vector<batching::Request>& requests_;
  double device_step_ns_ = 0;  // the median of the last asynchronous run
  Samples async_;
  std::array<Samples, kPauses.size()> ordered_;
  CallSamples calls_;
};

void StepProgram::run(StrategyKind kind, double pause, bool keep, Samples& samples) {
  const bool ordered = kind == StrategyKind::kOrdered;
  runtime::Runtime runtime(make_engine_(),
                           {.detail = runtime::Detail::kTimes, .removed_sites = {}});
  batching::BatcherOptions options;
  options.strategy = kind;
  options.graphs = ordered;
  options.extra_host_ns = std::llround(pause * device_step_ns_);
  batching::Batcher batcher(runtime, runtime::Device{0}, model_, limits_, options, requests_);
  const runtime::HostMain mains[] = {[&](runtime::Host& host) { batcher.run(host); }};
  runtime.run(mains);

  const std::span<const batching::StepRecord> records = batcher.steps();
  const std::vector<StepOperations> steps = by_step(runtime.timeline(), records.size());
  if (!ordered) {
    std::vector<double> forward;
    for (const StepOperations& step : steps) forward.push_back(duration(step.forward));
    device_step_ns_ = median(forward) * 1e3;
  }
  if (!keep) return;
  samples.resize(records.size());
  for (std::size_t i = kColdSteps; i < steps.size(); ++i) {
    const StepOperations& step = steps[i];
    samples[i].record = records[i];
    samples[i].pause.push_back(microseconds(step.forward->start - steps[i - 1].forward->end));
    samples[i].prepare.push_back(duration(step.prepare));
    samples[i].update.push_back(duration(step.update));
    samples[i].forward.push_back(duration(step.forward));
    if (step.carry != nullptr) samples[i].carry.push_back(duration(step.carry));
    ordered ? take_calls_of_ordered(step) : take_calls_of_async(step);
  }
}

void StepProgram::take_calls_of_ordered(const StepOperations& step) {
  calls_.copy_in.push_back(issue(step.h2d));
  calls_.copy_out.push_back(issue(step.d2h));
  calls_.graph.push_back(issue(step.forward));
  calls_.record_and_wait_in.push_back(
      microseconds(step.forward->issue_begin - step.h2d->issue_end));
  calls_.record_and_wait_out.push_back(
      microseconds(step.d2h->issue_begin - step.forward->issue_end));
  calls_.record.push_back(microseconds(step.block->issue_begin - step.d2h->issue_end));
  calls_.latency.push_back(microseconds(step.h2d->start - step.h2d->issue_end));
  calls_.handover.push_back(microseconds(step.d2h->start - step.forward->end));
  calls_.wake.push_back(microseconds(step.block->end - step.d2h->end));
}

void StepProgram::take_calls_of_async(const StepOperations& step) {
  calls_.carry.push_back(issue(step.carry));
  calls_.forward.push_back(issue(step.forward));
}

MeasuredProgram StepProgram::result() {
  MeasuredProgram out;
  take_medians(async_, out.steps);
  for (Samples& samples : ordered_) take_medians(samples, out.steps);
  const auto of = [](std::vector<double>& values) { return std::max(0.0, median(values)); };
  out.calls.copy = (of(calls_.copy_in) + of(calls_.copy_out)) / 2;
  out.calls.graph_launch = of(calls_.graph);
  out.calls.kernel_launch = (of(calls_.carry) + of(calls_.forward)) / 2;
  out.calls.record = of(calls_.record);
  const double both = (of(calls_.record_and_wait_in) + of(calls_.record_and_wait_out)) / 2;
  out.calls.wait = std::max(0.0, both - out.calls.record);
  out.calls.launch_latency = of(calls_.latency);
  out.calls.handover = of(calls_.handover);
  out.calls.wake = of(calls_.wake);
  return out;
}

}  // namespace

std::vector<batching::Request> calibration_requests(const models::BatchLimits& limits,
                                                    const models::Model& model,
                                                    std::uint64_t entries) {
  const std::uint64_t pages = limits.pages / limits.rows;  // so that all rows fit at once
  const std::uint64_t room =
      std::min<std::uint64_t>(pages * limits.page_tokens, model.max_positions());
  if (room < 8 || limits.tokens < limits.rows + 4) {
    throw runtime::UsageError(
        "calibrate: the limits leave no room: every row needs pages for 8 entries, and a step 4 "
        "tokens more than rows");
  }
  // The longest prompt joins a batch that is full but for its row.
  const auto longest = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(room / 2, limits.tokens - limits.rows + 1));
  const auto most =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(room - longest, kMostNewTokens));
  std::vector<batching::Request> requests;
  const auto add = [&](std::size_t prompt, std::uint32_t new_tokens) {
    batching::Request& request = requests.emplace_back();
    request.prompt.resize(prompt);
    for (std::size_t k = 0; k < prompt; ++k) {
      request.prompt[k] = static_cast<std::int32_t>((requests.size() * 31 + k * 7) % model.vocab());
    }
    request.max_new_tokens = new_tokens;
  };
  // A full batch of small requests while all is cold; then a step of as many tokens as there may
  // be.
  for (std::uint32_t r = 0; r < limits.rows; ++r) add(1, kColdSteps + 1);
  for (std::uint32_t r = 0; r < limits.rows; ++r) add(r == 0 ? longest : 1, 2);
  // A batch as large as the requests to serve can make it. Rows join one a step, and end together.
  const auto full = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(entries, 2, room));
  const std::uint32_t prompt = std::min(longest, full - 1);
  const std::uint32_t filling = std::min(full - prompt, kMostFillingTokens);
  for (std::uint32_t r = 0; r < limits.rows; ++r) {
    add(prompt, std::min(filling + limits.rows - r, static_cast<std::uint32_t>(room) - prompt));
  }
  const std::uint32_t count = kRequestsPerRow * limits.rows;
  for (std::uint32_t i = 0; i < count; ++i) {
    // Spread evenly, and one not by the other: the R2 sequence (Roberts, 2018).
    const double first = std::fmod((i + 1) * 0.7548776662466927, 1);
    const double second = std::fmod((i + 1) * 0.5698402909980532, 1);
    const std::uint32_t quarter = most / 4;
    add(1 + static_cast<std::size_t>(first * longest),
        1 + quarter + static_cast<std::uint32_t>(second * (most - quarter)));
  }
  return requests;
}

MeasuredProgram measure_program(const EngineFactory& make_engine, const models::Model& model,
                                const models::BatchLimits& limits,
                                const std::vector<batching::Request>& requests,
                                std::chrono::duration<double> budget,
                                const OnCalibration& on_progress) {
  using Clock = std::chrono::steady_clock;
  StepProgram program(make_engine, model, limits, requests);
  on_progress("steps", 0);
  const auto start = Clock::now();
  program.round(/*keep=*/false);
  const std::chrono::duration<double> one = Clock::now() - start;
  const int rounds = static_cast<int>(std::clamp<double>(
      budget / std::max(one, std::chrono::duration<double>(1e-3)), kLeastRounds, kMostRounds));
  for (int i = 0; i < rounds; ++i) {
    on_progress("steps", (i + 1.0) / (rounds + 1));
    program.round(/*keep=*/true);
  }
  return program.result();
}

}  // namespace syncopate::experiments
