// What the program and virtual time cost: the asynchronous batcher at batch 32 with graphs.
#include <benchmark/benchmark.h>

#include <memory>

#include "analysis/races.h"
#include "backend/batching/batcher.h"
#include "backend/models/hash/hash_model.h"
#include "sim/sim_engine.h"

namespace {

using namespace syncopate;
using batching::Batcher;

constexpr std::uint32_t kRows = 32;

std::vector<batching::Request> requests(std::uint32_t steps) {
  std::vector<batching::Request> made(kRows);
  for (batching::Request& request : made) {
    request.prompt.assign(8, 1);
    request.max_new_tokens = steps;
  }
  return made;
}

models::BatchLimits limits(std::uint32_t steps) {
  models::BatchLimits made;
  made.rows = kRows;
  made.tokens = kRows * 8;
  made.page_tokens = 16;
  made.pages = kRows * ((steps + 8 + 15) / 16);
  return made;
}

sim::HardwareProfile profile() {
  sim::HardwareProfile made;
  made.host.graph_launch_us = 2;
  made.host.copy_us = 1;
  made.launch.latency_us = 4;
  made.kernel(runtime::Work::kForward).base_us = 5000;
  made.kernel(runtime::Work::kCarry).base_us = 3;
  made.span(runtime::Work::kPrepare).base_us = 20;
  made.h2d = made.d2h = {5, 50};
  return made;
}

runtime::Timeline simulate(std::uint32_t steps, runtime::Detail detail) {
  const models::hash::HashModel model({});
  const auto work = requests(steps);
  sim::SimOptions options;
  options.effects = false;
  runtime::Runtime runtime(sim::make_sim_engine(profile(), options, 1), {detail, {}});
  Batcher batcher(runtime, runtime::Device{0}, model, limits(steps), {}, work);
  const runtime::HostMain mains[] = {[&](runtime::Host& host) { batcher.run(host); }};
  runtime.run(mains);
  return runtime.take_timeline();
}

void async_in_virtual_time(benchmark::State& state) {
  const auto steps = static_cast<std::uint32_t>(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(simulate(steps, runtime::Detail::kTimes));
  state.counters["ns_a_step"] =
      benchmark::Counter(static_cast<double>(steps), benchmark::Counter::kIsIterationInvariantRate |
                                                         benchmark::Counter::kInvert);
}
BENCHMARK(async_in_virtual_time)->Arg(2048)->Arg(8192)->Arg(32768)->Unit(benchmark::kMillisecond);

void async_with_log_and_checker(benchmark::State& state) {
  const auto steps = static_cast<std::uint32_t>(state.range(0));
  for (auto _ : state) {
    const runtime::Timeline timeline = simulate(steps, runtime::Detail::kAll);
    if (!analysis::find_races(timeline).empty()) state.SkipWithError("races");
  }
}
BENCHMARK(async_with_log_and_checker)->Arg(8192)->Unit(benchmark::kMillisecond);

}  // namespace
