// When requests come and how long they are: draws against the standard library and against moments,
// and queueing against Lindley's recursion and the formula for M/D/1.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "experiments/run/draws.h"
#include "experiments/run/report.h"
#include "experiments/run/run.h"
#include "experiments/run/workload.h"

namespace syncopate::experiments {
namespace {

using runtime::Nanos;

TEST(Draws, LogarithmAndPowerAreTheStandardLibrarysToTheirLastBits) {
  for (int i = -124; i <= 124; ++i) {
    const double x = std::pow(1.37, i);
    EXPECT_NEAR(exact_log(x), std::log(x), 1e-14 * std::max(1.0, std::abs(std::log(x)))) << x;
  }
  for (int i = -186; i <= 186; ++i) {
    const double x = 3.7 * i;
    EXPECT_NEAR(exact_exp(x) / std::exp(x), 1, 1e-13) << x;
  }
  EXPECT_EQ(exact_log(1), 0);
  EXPECT_EQ(exact_exp(0), 1);
}

struct Moments {
  double mean = 0, deviation = 0;
};
template <class Draw>
Moments moments(Draw&& draw) {
  constexpr int kDraws = 400'000;
  double sum = 0, squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double x = draw();
    sum += x;
    squares += x * x;
  }
  const double mean = sum / kDraws;
  return {mean, std::sqrt(squares / kDraws - mean * mean)};
}

// Of 400,000 draws the mean's standard error is its deviation / 632.
TEST(Draws, HaveTheMomentsOfTheirDistributions) {
  Draws draws(7);
  const Moments exponential = moments([&] { return draws.exponential(); });
  EXPECT_NEAR(exponential.mean, 1, 0.006);
  EXPECT_NEAR(exponential.deviation, 1, 0.01);
  const Moments normal = moments([&] { return draws.normal(); });
  EXPECT_NEAR(normal.mean, 0, 0.006);
  EXPECT_NEAR(normal.deviation, 1, 0.005);
  for (const double cv : {0.3, 1.0, 2.5}) {
    const Moments gamma = moments([&] { return draws.gamma(cv); });
    EXPECT_NEAR(gamma.mean, 1, 4 * cv / 632) << cv;
    EXPECT_NEAR(gamma.deviation, cv, 0.03 * cv) << cv;
  }
}

GeneratedRequests generated(std::uint32_t count, ArrivalKind kind, double rate) {
  GeneratedRequests c;
  c.count = count;
  c.prompt_tokens = c.max_new_tokens = Lengths(1);
  c.arrivals = ArrivalsConfig{kind, rate, {}, {}, {}};
  return c;
}

std::vector<Nanos> arrivals(const GeneratedRequests& c) {
  std::vector<Nanos> out;
  for (const batching::Request& request : make_requests(c, 16)) out.push_back(request.arrival);
  return out;
}

TEST(Arrivals, ConstantOnesAreAGapApart) {
  EXPECT_THAT(arrivals(generated(4, ArrivalKind::kConstant, 250)),
              testing::ElementsAre(4'000'000, 8'000'000, 12'000'000, 16'000'000));
}

TEST(Arrivals, ComeAtTheirRateAndDoNotChangeWhatIsAsked) {
  GeneratedRequests c = generated(50'000, ArrivalKind::kPoisson, 80);
  c.prompt_tokens->max = 9;
  const std::vector<Nanos> times = arrivals(c);
  EXPECT_TRUE(std::ranges::is_sorted(times));
  EXPECT_NEAR(static_cast<double>(times.back()) / 1e9, 50'000 / 80.0, 50'000 / 80.0 * 0.02);
  EXPECT_EQ(times, arrivals(c));
  c.seed = 1;
  EXPECT_NE(times, arrivals(c));
  c.seed = 0;
  const auto with = make_requests(c, 16);
  c.arrivals.reset();
  const auto without = make_requests(c, 16);
  for (std::size_t i = 0; i < with.size(); ++i) ASSERT_EQ(with[i].prompt, without[i].prompt);
}

TEST(Lengths, OfALogNormalHaveItsQuartilesAndKeepItsEnds) {
  GeneratedRequests c;
  c.count = 100'001;
  c.prompt_tokens = c.max_new_tokens = Lengths(1);
  c.prompt_tokens->max = 4000;
  c.prompt_tokens->median = 200;
  c.prompt_tokens->sigma = 1.2;
  std::vector<std::size_t> lengths;
  for (const auto& request : make_requests(c, 16)) lengths.push_back(request.prompt.size());
  std::ranges::sort(lengths);
  EXPECT_GE(lengths.front(), 1U);
  EXPECT_LE(lengths.back(), 4000U);
  // A quarter is below exp(-0.6745 sigma) of the median; the estimates' errors are 0.5 % of it.
  EXPECT_NEAR(static_cast<double>(lengths[25'000]), 200 * std::exp(-0.6745 * 1.2), 3);
  EXPECT_NEAR(static_cast<double>(lengths[50'000]), 200, 6);
  EXPECT_NEAR(static_cast<double>(lengths[75'000]), 200 * std::exp(0.6745 * 1.2), 20);
}

// One row, a step of 1 ms, and every request takes four: nothing else takes time.
constexpr double kServiceMs = 4;

ResolvedConfig single_server(const GeneratedRequests& requests) {
  BatchingConfig c;
  c.runtime.effects = false;
  c.strategy.kind = StrategyKind::kOrdered;
  c.strategy.slots = 1;
  c.requests = requests;
  c.limits = {.rows = 1, .tokens = 1, .page_tokens = 16, .pages = 1};
  c.output.log = false;
  ResolvedConfig resolved;
  resolved.config = c;
  sim::HardwareProfile& machine = resolved.profile.emplace().profile;
  machine.kernel(runtime::Work::kForward).base_us = 1000;
  machine.h2d = machine.d2h = machine.d2d = {0, 1e6};  // a step's few bytes take no time
  return resolved;
}

GeneratedRequests at_load(double load, std::uint32_t count, std::uint64_t seed) {
  GeneratedRequests c = generated(count, ArrivalKind::kPoisson, load / kServiceMs * 1e3);
  c.max_new_tokens = Lengths(4);
  c.seed = seed;
  return c;
}

/// How long each request waits before a server of one at a time that takes `service`: Lindley, "The
/// theory of queues with a single server", 1952.
std::vector<Nanos> lindley(const std::vector<Nanos>& arrivals, Nanos service) {
  std::vector<Nanos> waits;
  Nanos free = 0;
  for (const Nanos arrival : arrivals) {
    const Nanos start = std::max(free, arrival);
    waits.push_back(start - arrival);
    free = start + service;
  }
  return waits;
}

double mean_ms(const std::vector<Nanos>& times) {
  double sum = 0;
  for (const Nanos time : times) sum += static_cast<double>(time);
  return sum / static_cast<double>(times.size()) / 1e6;
}

// A request's first token comes a step after its wait.
TEST(Queueing, OfASingleRowIsLindleysRecursionRequestByRequest) {
  for (const double load : {0.3, 0.6, 0.9}) {
    const GeneratedRequests c = at_load(load, 20'000, 3);
    const std::vector<Nanos> waits = lindley(arrivals(c), 4'000'000);
    const RunResult run = run_config(single_server(c));
    const BatchingResult& result = run.batching();
    for (std::size_t i = 0; i < waits.size(); ++i) {
      const RequestRecord& request = result.requests[i];
      const auto step = static_cast<std::size_t>(request.token_steps.front());
      ASSERT_EQ(result.steps[step].done - request.arrival, waits[i] + 1'000'000)
          << load << " " << i;
    }
  }
}

// M/D/1: mean wait = load * service / (2 (1 - load)) (Pollaczek and Khinchine). What the recursion
// says of four million arrivals has a standard error of 1.2 % of it at load 0.9, far less below.
TEST(Queueing, OfPoissonArrivalsIsThatOfTheory) {
  for (const double load : {0.3, 0.6, 0.9}) {
    const double theory = load * kServiceMs / (2 * (1 - load));
    const double mean = [&] {
      Draws draws(11);
      double wait = 0, sum = 0;
      constexpr int kRequests = 4'000'000;
      for (int i = 0; i < kRequests; ++i) {
        sum += wait;
        wait = std::max(0.0, wait + kServiceMs - draws.exponential() * kServiceMs / load);
      }
      return sum / kRequests;
    }();
    EXPECT_NEAR(mean / theory, 1, 0.03) << load;
    // The same through the program, where 100,000 requests are enough for an error below 1.2 %.
    if (load > 0.8) continue;
    const auto figures = metrics(run_config(single_server(at_load(load, 100'000, 5))));
    const double wait = figures["batching"]["ttft_ms"]["mean"].get<double>() - 1;
    EXPECT_NEAR(wait / theory, 1, 0.03) << load;
  }
}

// At load 0.9 the mean of 100,000 waits is known to 8 % only: it is held against what the recursion
// says of the very same arrivals, which is held against theory above.
TEST(Queueing, AtHighLoadTheProgramHasTheRecursionsMean) {
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    const GeneratedRequests c = at_load(0.9, 100'000, seed);
    const auto figures = metrics(run_config(single_server(c)));
    EXPECT_NEAR(figures["batching"]["ttft_ms"]["mean"].get<double>() - 1,
                mean_ms(lindley(arrivals(c), 4'000'000)), 1e-6)
        << "seed " << seed;
  }
}

GeneratedRequests of_clients(std::uint32_t count, std::uint32_t clients, double think_ms) {
  GeneratedRequests c;
  c.count = count;
  c.prompt_tokens = Lengths(1);
  c.max_new_tokens = Lengths(4);
  c.arrivals = ArrivalsConfig{ArrivalKind::kClosed, {}, {}, clients, think_ms};
  return c;
}

/// Four clients of a server of two rows, who think 3 ms.
ResolvedConfig two_rows(RuntimeKind runtime) {
  ResolvedConfig config = single_server(of_clients(400, 4, 3));
  auto& batching = std::get<BatchingConfig>(config.config);
  batching.limits = {.rows = 2, .tokens = 2, .page_tokens = 16, .pages = 8};
  batching.runtime.kind = runtime;
  batching.runtime.effects = runtime == RuntimeKind::kCpu;
  return config;
}

Nanos answered_at(const BatchingResult& run, const RequestRecord& request) {
  return run.steps[static_cast<std::size_t>(request.token_steps.back())].done;
}

// Three clients share one server of 4 ms and think 2 ms: it is always busy, and each asks again 2
// ms after its answer. So request i is answered at 4 (i + 1), and came 2 ms after its client's
// last.
TEST(ClosedLoop, AClientAsksAgainOnceItIsAnswered) {
  const RunResult run = run_config(single_server(of_clients(30, 3, 2)));
  const auto& requests = run.batching().requests;
  const Nanos start = requests[0].arrival;
  const auto answered = [&](std::size_t i) {
    return answered_at(run.batching(), requests[i]) - start;
  };
  for (std::size_t i = 0; i < requests.size(); ++i) {
    EXPECT_EQ(answered(i), 4'000'000 * static_cast<Nanos>(i + 1)) << i;
    EXPECT_EQ(requests[i].arrival - start, i < 3 ? 0 : answered(i - 3) + 2'000'000) << i;
  }
}

// A lone client who thinks longer than it is served leaves the server idle in between.
TEST(ClosedLoop, ALoneClientWaitsForNobody) {
  const RunResult run = run_config(single_server(of_clients(10, 1, 9)));
  const auto& requests = run.batching().requests;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    EXPECT_EQ(requests[i].arrival - requests[0].arrival, 13'000'000 * static_cast<Nanos>(i)) << i;
  }
}

// The interactive response-time law (Little's law of a closed loop): N = X (R + Z), of clients N, a
// throughput X, a response time R and a thinking time Z; but for both ends of the run.
TEST(ClosedLoop, KeepsLittlesLaw) {
  const RunResult run = run_config(two_rows(RuntimeKind::kSim));
  const auto& result = run.batching();
  double response = 0;
  Nanos last = 0;
  for (const RequestRecord& request : result.requests) {
    const Nanos end = answered_at(result, request);
    response += static_cast<double>(end - request.arrival) / 400;
    last = std::max(last, end);
  }
  const double throughput = 400 / static_cast<double>(last - result.requests[0].arrival);
  EXPECT_NEAR(throughput * (response + 3e6), 4, 4 * 0.02);
}

TEST(ClosedLoop, OnThreadsAClientThinksAtLeastAsLongToo) {
  const RunResult run = run_config(two_rows(RuntimeKind::kCpu));
  const auto& result = run.batching();
  for (std::size_t i = 0; i < result.requests.size(); ++i) {
    ASSERT_EQ(result.requests[i].reason, batching::FinishReason::kLength);
    if (i < 4) continue;
    EXPECT_GE(result.requests[i].arrival, answered_at(result, result.requests[i - 4]) + 3'000'000)
        << i;
  }
}

TEST(Slo, CountsTheRequestsThatKeepIt) {
  // They come together and take four steps of 1 ms each, one after the other: the i-th (from 0) has
  // its first token after 4 i + 1 ms, and one more each ms.
  GeneratedRequests c;
  c.count = 10;
  c.prompt_tokens = Lengths(1);
  c.max_new_tokens = Lengths(4);
  ResolvedConfig config = single_server(c);
  auto& batching = std::get<BatchingConfig>(config.config);
  const auto slo = [&](SloConfig wanted) {
    batching.slo = wanted;
    return metrics(run_config(config))["batching"]["slo"];
  };
  const auto met = slo({.ttft_ms = 13, .tpot_ms = {}});  // 1, 5, 9, 13
  EXPECT_EQ(met["requests_met"], 4);
  EXPECT_NEAR(met["met_pct"], 40, 1e-9);
  EXPECT_NEAR(met["goodput_requests_per_s"], 4 / 0.040, 1e-6);
  EXPECT_TRUE(met["tpot_ms"].is_null());
  EXPECT_EQ(slo({.ttft_ms = {}, .tpot_ms = 1.0})["requests_met"], 10);
  EXPECT_EQ(slo({.ttft_ms = 100, .tpot_ms = 0.9})["requests_met"], 0);
  batching.slo.reset();
  EXPECT_TRUE(metrics(run_config(config))["batching"]["slo"].is_null());
}

}  // namespace
}  // namespace syncopate::experiments
