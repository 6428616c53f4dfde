#include "tests/driver/play.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <tuple>

#include "analysis/races.h"
#include "backend/batching/batcher.h"
#include "backend/cpu/cpu_engine.h"
#include "backend/runtime/runtime.h"
#include "experiments/run/batcher_options.h"
#include "experiments/run/engines.h"
#include "experiments/run/workload.h"
#include "sim/sim_engine.h"
#include "tests/driver/books.h"
#include "tests/driver/bound_model.h"
#include "tests/driver/oracle.h"

namespace syncopate::driver {
namespace {

using batching::Batcher;
using batching::FinishReason;
using batching::Request;
using experiments::BatchingConfig;
using experiments::HashModelConfig;
using experiments::RuntimeKind;
using runtime::Nanos;

constexpr std::uint32_t kChaosOnThreads = 10;  // one case in as many: it makes them slow

std::unique_ptr<runtime::Engine> make_engine(const Case& c, RuntimeKind kind) {
  if (kind == RuntimeKind::kSim) {
    const experiments::RuntimeConfig& r = c.config.runtime;
    return sim::make_sim_engine(machine(), {.effects = true, .seed = r.seed, .chaos = r.chaos}, 1);
  }
  if (kind == RuntimeKind::kCuda) {
    BatchingConfig config;
    config.runtime.kind = kind;
    experiments::ResolvedConfig resolved;
    resolved.config = std::move(config);
    return experiments::make_engine(resolved);
  }
  cpu::CpuOptions options;
  if (c.seed % kChaosOnThreads == 0) options.chaos_seed = c.seed + 1;
  return cpu::make_cpu_engine(options, 1);
}

Subject make_subject(const BatchingConfig& c, const PlayOptions& options) {
  const auto& m = std::get<HashModelConfig>(c.model);
  if (options.make_subject) return options.make_subject(m, c.limits);
  const models::hash::HashConfig config{
      .vocab = m.vocab, .max_positions = m.max_positions, .seed = m.seed};
  // On a device the model itself: its stand-in has no kernels there.
  if (options.runtime == RuntimeKind::kCuda) {
    return {std::make_unique<models::hash::HashModel>(config), hash_speaker(m)};
  }
  return {std::make_unique<BoundModel>(config), hash_speaker(m)};
}

/// When a request got its first token and when it was over, since the start of the run.
struct Life {
  Nanos first_token = std::numeric_limits<Nanos>::max();
  Nanos end = 0;
};

Life life_of(const Batcher& batcher, const Request& request, std::uint32_t index) {
  Life life;
  const auto steps = batcher.token_steps(index);
  const auto done = [&batcher](std::int32_t step) {
    return batcher.steps()[static_cast<std::size_t>(step)].done - batcher.start();
  };
  if (!steps.empty()) {
    life.first_token = done(steps.front());
    life.end = done(steps.back());
  }
  const auto result = batcher.result(index);
  const bool has_all = !steps.empty() && steps.size() == request.cancel_tokens;
  if (result.reason == FinishReason::kCancelled && !has_all) {
    life.end = std::max(life.end, request.cancel);
  }
  return life;
}

/// Two requests of one id are never served at the same time, and none is refused for another that
/// was over before it came.
void check_ids(const Batcher& batcher, const std::vector<Request>& requests,
               const std::vector<Answer>& expected) {
  const auto served = [&](std::uint32_t i) {
    return batcher.result(i).reason != FinishReason::kRefused &&
           requests[i].cancel >= requests[i].arrival;
  };
  for (std::uint32_t i = 0; i < requests.size(); ++i) {
    if (!requests[i].id || expected[i].reason == FinishReason::kRefused) continue;
    bool blocked = false;
    for (std::uint32_t j = 0; j < requests.size(); ++j) {
      if (i == j || requests[j].id != requests[i].id || !served(j)) continue;
      const bool earlier = std::tie(requests[j].arrival, j) < std::tie(requests[i].arrival, i);
      if (!earlier) continue;
      const Life other = life_of(batcher, requests[j], j);
      if (other.end >= requests[i].arrival) blocked = true;
      if (served(i) && life_of(batcher, requests[i], i).first_token < other.end) {
        throw Fault("ids", fmt::format("requests {} and {} had one id at one time", j, i));
      }
    }
    if (!blocked && batcher.result(i).reason == FinishReason::kRefused) {
      throw Fault("ids", fmt::format("request {} was refused for an id that was free", i));
    }
  }
}

/// Who is served before all others never loses its pages.
void check_first_served(const Batcher& batcher, const std::vector<Request>& requests,
                        const std::vector<Answer>& expected) {
  std::optional<std::uint32_t> first;
  for (std::uint32_t i = 0; i < requests.size(); ++i) {
    if (expected[i].reason == FinishReason::kRefused) continue;
    const auto place = [&requests](std::uint32_t r) {
      return std::tuple(-requests[r].priority, requests[r].arrival, r);
    };
    if (!first || place(i) < place(*first)) first = i;
  }
  if (first && batcher.result(*first).preemptions > 0) {
    throw Fault("served first", fmt::format("request {} lost its pages", *first));
  }
}

void check_races(const runtime::Timeline& timeline) {
  const auto races = analysis::find_races(timeline);
  if (!races.empty()) throw Fault("race", analysis::describe(timeline, races.front()));
}

Played run(const Case& c, const BatchingConfig& config, const PlayOptions& options) {
  const Subject subject = make_subject(config, options);
  const std::vector<Request> requests =
      experiments::make_requests(config.requests, subject.model->vocab());
  const std::vector<Answer> expected = answers(config, requests, *subject.speaker);

  const std::uint32_t depth = config.strategy.kind == experiments::StrategyKind::kAsync
                                  ? std::max(config.strategy.slots.value(), 2U)
                                  : 1;
  Books books(config, requests, depth);
  batching::BatcherOptions batcher_options = experiments::batcher_options(config);
  batcher_options.on_plan = [&books](const batching::Scheduler& scheduler,
                                     const batching::Slot& slot) { books.plan(scheduler, slot); };
  batcher_options.on_step = [&books](std::uint64_t, std::uint64_t) { books.complete(); };
  if (c.listens) {
    batcher_options.on_token = [&books](const batching::TokenEvent& event) { books.told(event); };
  }
  runtime::Runtime runtime(
      make_engine(c, options.runtime),
      {.detail = c.checks_races ? runtime::Detail::kAll : runtime::Detail::kTimes,
       .removed_sites = options.removed_sites});
  Batcher batcher(runtime, runtime::Device{0}, *subject.model,
                  experiments::batch_limits(config.limits), std::move(batcher_options), requests);
  const runtime::HostMain mains[] = {[&](runtime::Host& host) { batcher.run(host); }};
  runtime.run(mains);

  books.close(c.listens);
  for (std::uint32_t i = 0; i < requests.size(); ++i) {
    if (const std::string wrong = difference(expected[i], batcher.result(i)); !wrong.empty()) {
      throw Fault("tokens", fmt::format("request {}: {}", i, wrong));
    }
  }
  check_ids(batcher, requests, expected);
  check_first_served(batcher, requests, expected);
  if (c.checks_races) check_races(runtime.timeline());
  return {.digest = batcher.tokens_digest(), .steps = batcher.steps().size(), .failure = {}};
}

}  // namespace

BatchingConfig config_of(const Case& c, bool synchronous) {
  BatchingConfig config = c.config;
  if (synchronous) config.strategy = c.synchronous;
  return config;
}

Played play(const Case& c, bool synchronous, const PlayOptions& options) {
  try {
    return run(c, config_of(c, synchronous), options);
  } catch (const Fault& fault) {
    return {.failure = Failure{synchronous, fault.check(), fault.what()}};
  } catch (const std::exception& error) {
    return {.failure = Failure{synchronous, "thrown", error.what()}};
  }
}

std::optional<Failure> play(const Case& c, const PlayOptions& options) {
  for (const bool synchronous : {true, false}) {
    if (Played played = play(c, synchronous, options); played.failure) return played.failure;
  }
  return std::nullopt;
}

}  // namespace syncopate::driver
