// What a step costs on one core: llama_step_bench [--benchmark_filter=…].
#include <ATen/Parallel.h>
#include <benchmark/benchmark.h>

#include "tests/llama/paged_runner.h"

namespace {

using namespace syncopate::models;
using namespace syncopate::models::llama;

LlamaConfig shape(std::uint32_t hidden, std::uint32_t layers) {
  LlamaConfig config;
  config.hidden = hidden;
  config.layers = layers;
  config.heads = hidden / config.head_dim;
  config.kv_heads = config.heads / 2;
  config.intermediate = hidden * 11 / 4;
  return config;
}

/// A step of `rows` rows of `tokens` tokens each, the last at position `context` - 1.
void step(benchmark::State& state, const LlamaConfig& config, std::uint32_t rows,
          std::uint32_t tokens, std::uint32_t context) {
  at::set_num_threads(1);
  const auto model = make_llama(config, 1, {.invariant = state.range(0) != 0});
  BatchLimits limits;
  limits.rows = rows;
  limits.tokens = rows * tokens;
  limits.page_tokens = 16;
  limits.pages_per_row = (context + limits.page_tokens - 1) / limits.page_tokens;
  limits.pages = limits.pages_per_row * rows;
  llama::PagedRunner runner(*model, limits);
  std::vector<RunnerRow> batch(rows);
  for (std::uint32_t r = 0; r < rows; ++r) {
    for (std::uint32_t p = 0; p < limits.pages_per_row; ++p)
      batch[r].pages.push_back(static_cast<std::int32_t>(r * limits.pages_per_row + p));
    batch[r].position = 0;
    batch[r].ids.assign(1, 7);
  }
  // Every entry of the context is written, so that attention computes on numbers.
  for (std::uint32_t p = 0; p < context; ++p) {
    for (RunnerRow& row : batch) row.position = static_cast<std::int32_t>(p);
    runner.fill(batch);
    runner.run();
  }
  for (RunnerRow& row : batch) {
    row.position = static_cast<std::int32_t>(context - tokens);
    row.ids.assign(tokens, 7);
  }
  runner.fill(batch);
  for (auto _ : state) runner.run();
}

void decode(benchmark::State& state) {
  const auto dimension = [&](int i) { return static_cast<std::uint32_t>(state.range(i)); };
  step(state, shape(dimension(1), dimension(2)), 8, 1, dimension(3));
}
void prefill(benchmark::State& state) {
  const auto dimension = [&](int i) { return static_cast<std::uint32_t>(state.range(i)); };
  step(state, shape(dimension(1), dimension(2)), 1, dimension(3), dimension(3));
}

const std::vector<std::string> kNames{"invariant", "hidden", "layers", "context"};
BENCHMARK(decode)
    ->ArgNames(kNames)
    ->ArgsProduct({{0, 1}, {256}, {4, 8}, {64, 256}})
    ->ArgsProduct({{0, 1}, {384, 512}, {4}, {256}})
    ->Unit(benchmark::kMillisecond);
BENCHMARK(prefill)
    ->ArgNames(kNames)
    ->ArgsProduct({{0, 1}, {256}, {4}, {128, 512}})
    ->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
