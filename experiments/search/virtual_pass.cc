#include "experiments/search/virtual_pass.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "backend/runtime/runtime.h"
#include "backend/runtime/timeline.h"
#include "backend/ulysses/benchmark/samples.h"
#include "backend/ulysses/host_attention.h"
#include "sim/sim_engine.h"

namespace syncopate::experiments {
namespace {

using runtime::Nanos;
using runtime::Operation;

struct VirtualRun {
  runtime::Timeline timeline;
  ulysses::Sample slowest;  ///< Of the pass that counts.
};

VirtualRun run(const SearchSpace& space, const ulysses::BenchmarkVariant& variant,
               sim::HardwareProfile profile, runtime::Detail detail) {
  profile.jitter = 0;
  ulysses::BenchmarkOptions options;
  options.shape = space.shape;
  options.causal = space.common.causal;
  options.variants = {variant};
  options.warmups = variant.options.graphs ? 2 : 1;  // a graph is captured in the second pass
  options.iterations = 1;
  options.parts = false;
  options.check = false;
  const std::size_t ranks = space.shape.tokens.size();
  const ulysses::HostAttention attention;  // of which only the cost counts
  sim::SimOptions times_only;
  times_only.effects = false;
  runtime::Runtime runtime(sim::make_sim_engine(profile, times_only, static_cast<int>(ranks)),
                           {.detail = detail, .removed_sites = {}});
  ulysses::Benchmark benchmark(runtime, attention, std::move(options));
  const std::vector<runtime::HostMain> mains(
      ranks, [&benchmark](runtime::Host& host) { benchmark.run(host); });
  runtime.run(mains);

  VirtualRun out{runtime.take_timeline(), {}};
  for (const ulysses::Sample& sample : ulysses::samples(out.timeline, benchmark.rotation())) {
    if (!benchmark.rotation().counts(sample.step)) continue;
    if (sample.time > out.slowest.time) out.slowest = sample;
  }
  return out;
}

}  // namespace

Nanos pass_time(const SearchSpace& space, const ulysses::BenchmarkVariant& variant,
                const sim::HardwareProfile& profile) {
  return run(space, variant, profile, runtime::Detail::kTimes).slowest.time;
}

PassFigures pass_figures(const SearchSpace& space, const ulysses::BenchmarkVariant& variant,
                         const sim::HardwareProfile& profile) {
  const auto [timeline, slowest] = run(space, variant, profile, runtime::Detail::kAll);
  PassFigures out;
  out.time = slowest.time;
  out.enqueue = slowest.enqueue;
  Nanos begin = 0, end = 0, attended = 0;
  std::vector<const Operation*> bands;
  for (const Operation& op : timeline.operations) {
    if (op.step != static_cast<std::int32_t>(slowest.step) || op.host != slowest.rank) continue;
    const std::string_view name = op.name;
    if (name == ulysses::Benchmark::kBeginMark) begin = op.end;
    if (name == ulysses::Benchmark::kEndMark) end = op.start;
    if (name == "attention") bands.push_back(&op);
  }
  std::ranges::sort(bands, {}, &Operation::start);
  for (const Operation* band : bands) {
    out.attention.push_back(band->end - band->start);
    attended += out.attention.back();
  }
  out.exposed_input = bands.back()->end - begin - attended;
  out.exposed_output = end - bands.back()->end;
  return out;
}

}  // namespace syncopate::experiments
