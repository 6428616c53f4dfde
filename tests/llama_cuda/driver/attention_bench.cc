// What attention costs on a device, a layer: bench_llama_attention [--benchmark_filter=…].
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "backend/cuda/event.h"
#include "backend/cuda/graph.h"
#include "backend/cuda/stream.h"
#include "backend/models/llama/cuda/attention.h"
#include "tests/llama_cuda/attention_plan.h"

namespace {

using namespace syncopate;
using namespace syncopate::models;
using namespace syncopate::models::llama;

constexpr std::uint32_t kPageTokens = 16;

/// Rows that are alike, each the last `tokens` of `length`, in layers of a Llama-3.1-8B shape.
struct Batch {
  std::uint32_t rows, tokens, length, tile, layers;
};

class Attention {
 public:
  explicit Attention(const Batch& batch)
      : batch_(batch),
        limits_{.rows = batch.rows,
                .tokens = batch.rows * batch.tokens,
                .pages_per_row = (batch.length + kPageTokens - 1) / kPageTokens,
                .page_tokens = kPageTokens,
                .pages = 0},
        plan_({.rows = limits_.rows, .tokens = limits_.tokens, .tile = batch.tile, .group = 4},
              kPageTokens, limits_.pages_per_row) {
    config_.heads = 32;
    config_.kv_heads = 8;
    config_.head_dim = 128;
    limits_.pages = limits_.rows * limits_.pages_per_row;
    pool_ = random(KvPool(config_, limits_, nullptr).layer_size * batch.layers);
    qkv_ = random(std::size_t{limits_.tokens} * config_.qkv_size());
    out_ = random(std::size_t{limits_.tokens} * config_.query_size());
    std::vector<std::int32_t> pages(limits_.pages);
    for (std::size_t i = 0; i < pages.size(); ++i) pages[i] = static_cast<std::int32_t>(i);
    std::shuffle(pages.begin(), pages.end(), std::mt19937(1));
    std::vector<PlannedRow> rows(limits_.rows, {batch.tokens, batch.length, {}});
    for (std::size_t i = 0; i < pages.size(); ++i) rows[i % rows.size()].pages.push_back(pages[i]);
    plan_.fill(rows);
  }

  void enqueue(cudaStream_t stream) {
    const KvPool pool(config_, limits_, static_cast<Bf16*>(pool_.get()));
    for (std::uint32_t layer = 0; layer < batch_.layers; ++layer) {
      enqueue_attention(stream, config_, plan_.shape(), plan_.plan(), pool, layer,
                        static_cast<Bf16*>(qkv_.get()), static_cast<Bf16*>(out_.get()));
    }
  }

  double kv_bytes() const {
    return 2.0 * 2 * config_.kv_size() * batch_.rows * batch_.length * batch_.layers;
  }
  double flops() const {
    const double keys = batch_.length - (batch_.tokens - 1) / 2.0;  // a token's, on average
    return 4.0 * config_.query_size() * batch_.rows * batch_.tokens * keys * batch_.layers;
  }

 private:
  /// `count` values in [-2, 2], the same ones every few megabytes.
  static cuda::DeviceMemory random(std::size_t count) {
    std::vector<Bf16> values(std::min<std::size_t>(count, 1 << 22));
    std::mt19937 bits(1);
    for (Bf16& value : values) value = __float2bfloat16(static_cast<float>(bits()) / 0x1p30f - 2);
    cuda::DeviceMemory memory = cuda::make_device_memory(count * sizeof(Bf16));
    for (std::size_t at = 0; at < count; at += values.size()) {
      const std::size_t part = std::min(values.size(), count - at);
      SYNCOPATE_CUDA_CALL(cudaMemcpy(static_cast<Bf16*>(memory.get()) + at, values.data(),
                                     part * sizeof(Bf16), cudaMemcpyHostToDevice));
    }
    SYNCOPATE_CUDA_CALL(cudaDeviceSynchronize());
    return memory;
  }

  Batch batch_;
  LlamaConfig config_;
  BatchLimits limits_;
  AttentionPlan plan_;
  cuda::DeviceMemory pool_, qkv_, out_;
};

/// In a graph of all layers, by events.
void device(benchmark::State& state, const Batch& batch) {
  Attention attention(batch);
  const cuda::OwnedStream owned_stream = cuda::make_stream(runtime::StreamKind::kNonBlocking);
  const cudaStream_t stream = owned_stream.get();
  cuda::begin_capture(stream);
  attention.enqueue(stream);
  const cuda::OwnedGraphExec graph = cuda::instantiate(cuda::end_capture(stream), stream);
  const cuda::OwnedEvent begin = cuda::make_event(cuda::EventUse::kTiming);
  const cuda::OwnedEvent end = cuda::make_event(cuda::EventUse::kTiming);
  for (int i = 0; i < 3; ++i) SYNCOPATE_CUDA_CALL(cudaGraphLaunch(graph.get(), stream));
  for (auto _ : state) {
    SYNCOPATE_CUDA_CALL(cudaEventRecord(begin.get(), stream));
    SYNCOPATE_CUDA_CALL(cudaGraphLaunch(graph.get(), stream));
    SYNCOPATE_CUDA_CALL(cudaEventRecord(end.get(), stream));
    SYNCOPATE_CUDA_CALL(cudaEventSynchronize(end.get()));
    float ms = 0;
    SYNCOPATE_CUDA_CALL(cudaEventElapsedTime(&ms, begin.get(), end.get()));
    state.SetIterationTime(ms * 1e-3 / batch.layers);
  }
  const auto runs = static_cast<double>(state.iterations()) / batch.layers;
  using Counter = benchmark::Counter;
  state.counters["kv_bytes/s"] = Counter(attention.kv_bytes() * runs, Counter::kIsRate);
  state.counters["flop/s"] = Counter(attention.flops() * runs, Counter::kIsRate);
}

/// What the host pays to enqueue one layer.
void host(benchmark::State& state) {
  Attention attention({1, 1, 16, 16, 32});
  for (auto _ : state) {
    attention.enqueue(nullptr);
    state.PauseTiming();
    SYNCOPATE_CUDA_CALL(cudaDeviceSynchronize());
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * 32);
}

// rows, tokens of each, KV entries, tile, layers
BENCHMARK_CAPTURE(device, decode_32_of_512, Batch{32, 1, 512, 16, 32})
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(device, decode_32_of_1024, Batch{32, 1, 1024, 16, 32})
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(device, decode_32_of_4352, Batch{32, 1, 4352, 16, 32})
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(device, decode_8_of_512, Batch{8, 1, 512, 16, 32})
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(device, prefill_1_of_4096, Batch{1, 4096, 4096, 128, 8})
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(device, prefill_8_of_512, Batch{8, 512, 512, 128, 8})
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(device, chunk_1_of_512_at_4096, Batch{1, 512, 4096, 128, 8})
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(device, chunk_8_of_64_at_2048_tile_64, Batch{8, 64, 2048, 64, 8})
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(device, chunk_8_of_64_at_2048_tile_128, Batch{8, 64, 2048, 128, 8})
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(host)->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
