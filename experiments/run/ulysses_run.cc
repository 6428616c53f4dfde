#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "backend/runtime/runtime.h"
#include "experiments/run/attentions.h"
#include "experiments/run/benchmark_options.h"
#include "experiments/run/choose.h"
#include "experiments/run/engines.h"
#include "experiments/run/finish.h"
#include "experiments/run/run.h"

namespace syncopate::experiments {
namespace {

VariantFacts facts(const UlyssesConfig& config, const ulysses::Benchmark& benchmark,
                   std::size_t variant) {
  const std::uint32_t ranks = config.shape.world;
  VariantFacts out;
  out.config = config.variants[variant];
  out.division = benchmark.division_of(variant);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    out.workspace_bytes = std::max(out.workspace_bytes, benchmark.workspace_bytes(variant, rank));
    const ulysses::Traffic sent = benchmark.traffic(variant, rank);
    out.sent.qkv = std::max(out.sent.qkv, sent.qkv);
    out.sent.output = std::max(out.sent.output, sent.output);
  }
  if (benchmark.checked()) out.check = benchmark.check_of(variant);
  return out;
}

}  // namespace

RunResult run_attention(const ResolvedConfig& config, const ulysses::Attention& attention,
                        const OnProgress& on_progress) {
  const ChosenVariants chosen = choose_variants(config, [&](std::size_t done, std::size_t all) {
    if (on_progress) on_progress({done, done, all, "passes in virtual time"});
  });
  const UlyssesConfig& c = chosen.config;
  ulysses::BenchmarkOptions options = benchmark_options(c);
  std::size_t steps = 0;  // known once the benchmark is made
  options.on_step = [&](std::size_t done) {
    if (on_progress) on_progress({done, done, steps, "passes"});
  };
  const auto packed = make_packed_device(c);  // outlives the runtime
  for (ulysses::BenchmarkVariant& variant : options.variants) {
    variant.options.packed_device = packed.get();
  }
  runtime::Runtime runtime(make_engine(config), {.detail = c.output.log ? runtime::Detail::kAll
                                                                        : runtime::Detail::kTimes,
                                                 .removed_sites = {}});
  ulysses::Benchmark benchmark(runtime, attention, std::move(options));
  steps = benchmark.rotation().steps();
  const std::vector<runtime::HostMain> mains(
      c.shape.world, [&benchmark](runtime::Host& host) { benchmark.run(host); });
  RunResult run;
  run_to_end(runtime, mains, run);

  auto& result = run.program.emplace<UlyssesResult>();
  result.attention = attention.kind();
  result.ranks = c.shape.world;
  result.tolerance = c.benchmark.tolerance;
  result.rotation = benchmark.rotation();
  result.entrants = benchmark.entrants();
  result.divisions = benchmark.divisions();
  for (std::size_t i = 0; i < c.variants.size(); ++i) {
    result.variants.push_back(facts(c, benchmark, i));
    result.variants.back().found = chosen.found[i];
  }
  if (benchmark.checked()) result.oracle = benchmark.oracle_check();
  result.samples = ulysses::samples(run.timeline, result.rotation);
  return finished(std::move(run));
}

}  // namespace syncopate::experiments
