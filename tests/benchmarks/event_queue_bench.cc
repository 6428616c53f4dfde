// The pending set against std::priority_queue in the hold model: with n events pending, take the
// least and put in one that comes an exponential time later. Both replay the same draws.
//
// The simulator's queue orders events of one time by sequence and carries the same payload; the
// standard one orders pairs of a double and an int.

#include <benchmark/benchmark.h>

#include <cmath>
#include <cstdint>
#include <queue>
#include <random>
#include <utility>
#include <vector>

#include "sim/event_queue.h"

namespace syncopate::sim {
namespace {

constexpr std::size_t kDraws = 1 << 16;

const std::vector<double>& draws() {
  static const std::vector<double> kValues = [] {
    std::mt19937_64 random(1);
    std::exponential_distribution<double> exponential(1.0);
    std::vector<double> result(kDraws);
    for (double& value : result) value = exponential(random) * 1e6;
    return result;
  }();
  return kValues;
}

void hold_event_queue(benchmark::State& state) {
  std::vector<runtime::Nanos> delays;
  for (const double draw : draws()) delays.push_back(std::llround(draw));
  EventQueue queue;
  std::size_t next = 0;
  for (std::int64_t i = 0; i < state.range(0); ++i) {
    queue.push(delays[next++ % kDraws], static_cast<std::uint32_t>(i));
  }
  for (auto _ : state) {
    const runtime::Nanos time = queue.top().time;
    const std::uint32_t payload = queue.top().payload();
    queue.pop();
    queue.push(time + delays[next++ % kDraws], payload);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(hold_event_queue)->Arg(10)->Arg(1000)->Arg(10000);

void hold_priority_queue(benchmark::State& state) {
  using Entry = std::pair<double, int>;
  const std::vector<double>& delays = draws();
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  std::size_t next = 0;
  for (std::int64_t i = 0; i < state.range(0); ++i) {
    queue.emplace(delays[next++ % kDraws], static_cast<int>(i));
  }
  for (auto _ : state) {
    const auto [time, payload] = queue.top();
    queue.pop();
    queue.emplace(time + delays[next++ % kDraws], payload);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(hold_priority_queue)->Arg(10)->Arg(1000)->Arg(10000);

}  // namespace
}  // namespace syncopate::sim
