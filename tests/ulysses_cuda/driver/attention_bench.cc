// What attention of a band costs on a device: bench_ulysses_attention [--benchmark_filter=…].
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "backend/cuda/event.h"
#include "backend/cuda/stream.h"
#include "tests/ulysses_cuda/device_band.h"

namespace {

using namespace syncopate;
using namespace syncopate::ulysses;

/// Heads and tokens by the benchmark's arguments; dense, in heads of 128 elements.
AttentionBand band_of(const benchmark::State& state, ElementType type) {
  return make_band({1, static_cast<std::uint32_t>(state.range(1)),
                    static_cast<std::uint32_t>(state.range(0)), 1, 0, 128},
                   type, /*causal=*/false);
}

/// Random elements, the same ones every few megabytes.
std::vector<std::byte> repeated_slot(const AttentionBand& band) {
  const std::vector<std::byte> block =
      random_slot(make_band({1, 1024, 7, 1, 0, band.head_dim}, band.type, false), 1);
  std::vector<std::byte> slot(slot_bytes(band));
  for (std::size_t at = 0; at < slot.size(); at += block.size()) {
    std::copy_n(block.begin(), std::min(block.size(), slot.size() - at),
                slot.begin() + static_cast<std::ptrdiff_t>(at));
  }
  return slot;
}

double flops_of(const AttentionBand& band) {
  return 4.0 * static_cast<double>(attention_cost(band).attention_pairs) * band.head_dim;
}

/// One launch after the other, each by its events.
void device(benchmark::State& state, ElementType type) {
  const ulysses::cuda::DeviceAttention attention(1);
  DeviceBand band(attention, band_of(state, type));
  band.assign(repeated_slot(band.band()));
  const syncopate::cuda::OwnedStream stream =
      syncopate::cuda::make_stream(runtime::StreamKind::kNonBlocking);
  const auto begin = syncopate::cuda::make_event(syncopate::cuda::EventUse::kTiming);
  const auto end = syncopate::cuda::make_event(syncopate::cuda::EventUse::kTiming);
  for (int i = 0; i < 3; ++i) band.enqueue(stream.get());
  for (auto _ : state) {
    SYNCOPATE_CUDA_CALL(cudaEventRecord(begin.get(), stream.get()));
    band.enqueue(stream.get());
    SYNCOPATE_CUDA_CALL(cudaEventRecord(end.get(), stream.get()));
    SYNCOPATE_CUDA_CALL(cudaEventSynchronize(end.get()));
    float ms = 0;
    SYNCOPATE_CUDA_CALL(cudaEventElapsedTime(&ms, begin.get(), end.get()));
    state.SetIterationTime(ms * 1e-3);
  }
  state.counters["flop/s"] = benchmark::Counter(
      flops_of(band.band()) * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
  state.counters["scratch"] = static_cast<double>(band.scratch_bytes());
}

/// What the host pays to enqueue a band.
void host(benchmark::State& state) {
  const ulysses::cuda::DeviceAttention attention(1);
  const DeviceBand band(attention, band_of(state, ElementType::kBf16));
  for (auto _ : state) {
    band.enqueue(nullptr);
    state.PauseTiming();
    SYNCOPATE_CUDA_CALL(cudaDeviceSynchronize());
    state.ResumeTiming();
  }
}

/// What a shape that is new costs, before the run: its plan, and one launch.
void prepare(benchmark::State& state) {
  const ulysses::cuda::DeviceAttention attention(1);
  std::uint32_t tokens = 4096;
  for (auto _ : state) {
    attention.prepare(make_band({1, ++tokens, 7, 1, 0, 128}, ElementType::kBf16, false),
                      runtime::Device{0});
  }
}

// heads, tokens
BENCHMARK_CAPTURE(device, bf16, ElementType::kBf16)
    ->ArgsProduct({{7, 14, 28}, {4096, 8192, 16384, 37760}})
    ->UseManualTime()
    ->MinTime(0.3)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(device, fp32, ElementType::kFp32)
    ->Args({7, 4096})
    ->UseManualTime()
    ->MinTime(0.3)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(host)->Args({7, 512})->Iterations(300)->Unit(benchmark::kMicrosecond);
BENCHMARK(prepare)->Iterations(10)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
