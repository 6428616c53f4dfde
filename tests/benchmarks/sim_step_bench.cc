// What the simulator itself takes for one step of an asynchronous batcher: an upload, a graph of
// two kernels, a download, the two records and two waits that order them, and a block on the step
// before. Through the engine's interface, without the front end's logs and without effects.

#include <benchmark/benchmark.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "backend/runtime/command.h"
#include "sim/sim_engine.h"

namespace {

std::int64_t allocations = 0;

}  // namespace

// Out of line, or GCC pairs the inlined malloc with the wrong delete and warns.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  ++allocations;
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace syncopate::sim {
namespace {

using runtime::Command;
using runtime::Cost;
using runtime::Event;
using runtime::GraphNode;
using runtime::NodeArgs;
using runtime::OperationKind;
using runtime::Position;
using runtime::Stream;
using runtime::Work;

HardwareProfile profile() {
  HardwareProfile result;
  result.host = {.kernel_launch_us = 3,
                 .graph_launch_us = 5,
                 .graph_launch_per_node_us = 0.1,
                 .copy_us = 3,
                 .record_us = 0.5,
                 .wait_us = 0.5,
                 .signal_us = 1,
                 .query_us = 0.5,
                 .synchronize_us = 1,
                 .wake_us = 5};
  result.launch.latency_us = 3;
  result.graph = {.start_latency_us = 2, .node_gap_us = 1};
  result.kernel(Work::kForward) = {.base_us = 500, .per_row_us = 2, .sm = 0.9, .bandwidth = 0.9};
  result.kernel(Work::kCarry) = {.base_us = 3, .sm = 0.1};
  result.h2d = result.d2h = {.latency_us = 2, .gb_per_s = 50};
  return result;
}

void async_step(benchmark::State& state) {
  constexpr std::int64_t kSteps = 8'192;
  const std::int64_t before = allocations;
  for (auto _ : state) {
    const auto engine = make_sim_engine(profile(), {.effects = false}, 1);
    const Stream up{0}, compute{1}, down{2};
    for (const Stream stream : {up, compute, down}) {
      engine->create_stream(stream, runtime::StreamKind::kNonBlocking, {0});
    }
    engine->run(1, [&](int host) {
      runtime::GraphScript script;
      script.nodes.resize(2);
      script.nodes[0].cost.work = Work::kCarry;
      script.nodes[1].cost.work = Work::kForward;
      script.nodes[1].after = {0};
      for (std::uint32_t slot = 0; slot < 2; ++slot) engine->end_capture(host, {slot}, script);

      std::array<std::uint64_t, 3> sequence{};
      const auto put = [&](Stream stream, const Command& command) {
        engine->enqueue(host, stream, command);
        return Position{stream, ++sequence[stream.id]};
      };
      const auto copy = [&](Stream stream, OperationKind kind) {
        Command command;
        command.type = Command::Type::kCopy;
        command.kind = kind;
        command.dst = command.src = runtime::Region::flat({0}, 0, 4'096);
        return put(stream, command);
      };
      const auto wait = [&](Stream stream, Event event, Position target) {
        engine->record(host, event, target);
        Command command;
        command.type = Command::Type::kWait;
        command.event = event;
        command.target = target;
        put(stream, command);
      };
      Position last{down, 0};
      for (std::int64_t step = 0; step < kSteps; ++step) {
        engine->busy(host, 100'000);  // prepare
        wait(compute, {0}, copy(up, OperationKind::kCopyH2D));
        std::array<NodeArgs, 1> args{};
        args[0].node = 1;
        args[0].cost.work = Work::kForward;
        args[0].cost.rows = 32;
        Command launch;
        launch.type = Command::Type::kGraph;
        launch.graph = {static_cast<std::uint32_t>(step % 2)};
        launch.node_args = args;
        wait(down, {1}, put(compute, launch));
        const Position done = copy(down, OperationKind::kCopyD2H);
        engine->block(host, {last, {2}});
        last = done;
      }
    });
    benchmark::DoNotOptimize(engine->end_time());
  }
  state.SetItemsProcessed(state.iterations() * kSteps);
  state.counters["seconds_per_step"] =
      benchmark::Counter(static_cast<double>(state.iterations() * kSteps),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["allocations_per_run"] =
      static_cast<double>(allocations - before) / static_cast<double>(state.iterations());
}
BENCHMARK(async_step);

}  // namespace
}  // namespace syncopate::sim
