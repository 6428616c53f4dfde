// What each kernel of a step takes for 32 tokens of an 8B model, by the device's clock, in graphs
// of 100 launches: bench_llama_kernels [--benchmark_filter=…].
#include <benchmark/benchmark.h>

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "backend/cuda/event.h"
#include "backend/cuda/graph.h"
#include "backend/cuda/memory.h"
#include "backend/cuda/stream.h"
#include "backend/models/llama/cuda/pointwise.h"
#include "backend/models/llama/cuda/sampler.h"
#include "backend/models/llama/rope.h"

namespace {

using namespace syncopate;
using namespace syncopate::models;
using namespace syncopate::models::llama;

constexpr int kLaunches = 100;

using Enqueue = std::function<void(cudaStream_t)>;

void measure(benchmark::State& state, const Enqueue& enqueue) {
  const cuda::OwnedStream stream = cuda::make_stream(runtime::StreamKind::kNonBlocking);
  cuda::begin_capture(stream.get());
  for (int i = 0; i < kLaunches; ++i) enqueue(stream.get());
  const cuda::OwnedGraph graph = cuda::end_capture(stream.get());
  const cuda::OwnedGraphExec exec = cuda::instantiate(graph, stream.get());
  const cuda::OwnedEvent begin = cuda::make_event(cuda::EventUse::kTiming);
  const cuda::OwnedEvent end = cuda::make_event(cuda::EventUse::kTiming);
  for (auto _ : state) {
    SYNCOPATE_CUDA_CALL(cudaEventRecord(begin.get(), stream.get()));
    SYNCOPATE_CUDA_CALL(cudaGraphLaunch(exec.get(), stream.get()));
    SYNCOPATE_CUDA_CALL(cudaEventRecord(end.get(), stream.get()));
    SYNCOPATE_CUDA_CALL(cudaEventSynchronize(end.get()));
    float milliseconds = 0;
    SYNCOPATE_CUDA_CALL(cudaEventElapsedTime(&milliseconds, begin.get(), end.get()));
    state.SetIterationTime(milliseconds * 1e-3 / kLaunches);
  }
}

template <class T>
T* as(const cuda::DeviceMemory& memory) {
  return static_cast<T*>(memory.get());
}

// A decode step of `rows` rows, 1000 entries each, all choosing by `sampling`.
struct Step {
  Step(std::uint32_t rows, const Sampling& sampling)
      : limits{.rows = rows,
               .tokens = rows,
               .pages_per_row = 512,
               .page_tokens = 16,
               .pages = 64 * rows},
        layout(limits),
        shape{.rows = rows, .tokens = rows, .tile = 16, .group = config.heads / config.kv_heads},
        inputs(cuda::make_device_memory(layout.input_bytes())),
        history(cuda::make_device_memory(std::uint64_t{limits.pages} * limits.page_tokens * 4)),
        plan_memory(cuda::make_device_memory(step_plan_bytes(shape, limits.pages_per_row))),
        logits(cuda::make_device_memory(std::uint64_t{rows} * config.vocab * 4)),
        pool(cuda::make_device_memory(KvPool(config, limits, nullptr).layer_size * 2)),
        plan(step_plan_at(as<std::byte>(plan_memory), shape, limits.pages_per_row)) {
    std::vector<std::int32_t> block(layout.input_words());
    const SamplingWords words = encode(sampling);
    block[BatchLayout::kRows] = block[BatchLayout::kTokens] = static_cast<std::int32_t>(rows);
    for (std::uint32_t row = 0; row < rows; ++row) {
      block[layout.row_start() + row + 1] = static_cast<std::int32_t>(row + 1);
      block[layout.kv_length() + row] = 1000;
      block[layout.positions() + row] = 999;
      for (std::uint32_t i = 0; i < 63; ++i) {
        block[layout.block_table() + row * limits.pages_per_row + i] =
            static_cast<std::int32_t>(row * 64 + i);
      }
      std::copy(words.begin(), words.end(),
                block.begin() + layout.sampling() + row * kSamplingWords);
    }
    std::vector<float> scores(std::size_t{rows} * config.vocab);
    std::mt19937 random(1);
    std::normal_distribution<float> normal(0, 3);
    for (float& score : scores) score = normal(random);
    SYNCOPATE_CUDA_CALL(cudaDeviceSynchronize());
    SYNCOPATE_CUDA_CALL(
        cudaMemcpy(inputs.get(), block.data(), layout.input_bytes(), cudaMemcpyHostToDevice));
    SYNCOPATE_CUDA_CALL(
        cudaMemcpy(logits.get(), scores.data(), scores.size() * 4, cudaMemcpyHostToDevice));
    make_plan(nullptr);
  }

  BatchView batch() const { return {as<std::int32_t>(inputs), layout}; }
  HistoryView history_view() const {
    std::byte* base = as<std::byte>(history);
    return {batch(), runtime::Exec(&base, nullptr), runtime::Buffer{0}, config.vocab};
  }
  void make_plan(cudaStream_t stream) const {
    enqueue_step_plan(stream, batch(), limits, config.vocab, history_view(), shape, plan);
  }

  static LlamaConfig shape_8b() {
    LlamaConfig config;
    config.vocab = 128256;
    config.hidden = 4096;
    config.heads = 32;
    config.kv_heads = 8;
    config.head_dim = 128;
    config.intermediate = 14336;
    return config;
  }

  LlamaConfig config = shape_8b();
  BatchLimits limits;
  BatchLayout layout;
  StepShape shape;
  cuda::DeviceMemory inputs, history, plan_memory, logits, pool;
  StepPlan plan;
};

void pointwise(benchmark::State& state, const std::string& name) {
  constexpr std::uint32_t kTokens = 32;
  const Step step(kTokens, {});
  const LlamaConfig& c = step.config;
  const auto matrix = [](std::uint64_t rows, std::uint64_t columns) {
    return cuda::make_device_memory(rows * columns * sizeof(Bf16));
  };
  const cuda::DeviceMemory table = matrix(c.vocab, c.hidden), weights = matrix(1, c.hidden),
                           x = matrix(kTokens, c.hidden), residual = matrix(kTokens, c.hidden),
                           normed = matrix(kTokens, c.hidden), qkv = matrix(kTokens, c.qkv_size()),
                           gate_up = matrix(kTokens, 2 * c.intermediate),
                           activated = matrix(kTokens, c.intermediate);
  const std::vector<float> values = rope_frequencies(c);
  const cuda::DeviceMemory frequencies = cuda::make_device_memory(values.size() * 4);
  SYNCOPATE_CUDA_CALL(cudaDeviceSynchronize());
  SYNCOPATE_CUDA_CALL(
      cudaMemcpy(frequencies.get(), values.data(), values.size() * 4, cudaMemcpyHostToDevice));
  const NormWeights norm = {as<Bf16>(weights), 1e-5f};
  measure(state, [&](cudaStream_t stream) {
    if (name == "plan") {
      step.make_plan(stream);
    } else if (name == "embed") {
      enqueue_embed(stream, kTokens, step.plan, {as<Bf16>(table), c.vocab, c.hidden}, norm,
                    as<Bf16>(residual), as<Bf16>(normed));
    } else if (name == "add_norm") {
      enqueue_add_norm(stream, kTokens, c.hidden, as<Bf16>(x), norm, as<Bf16>(residual),
                       as<Bf16>(normed));
    } else if (name == "last_norm") {
      enqueue_last_norm(stream, kTokens, c.hidden, step.plan, as<Bf16>(x), as<Bf16>(residual), norm,
                        as<Bf16>(normed));
    } else if (name == "rope_append") {
      enqueue_rope_append(stream, kTokens, c.heads, step.plan, as<float>(frequencies),
                          KvPool(c, step.limits, as<Bf16>(step.pool)), 1, as<Bf16>(qkv));
    } else {
      enqueue_swiglu(stream, kTokens, c.intermediate, as<Bf16>(gate_up), as<Bf16>(activated));
    }
  });
}

void sample(benchmark::State& state, const Sampling& sampling) {
  const auto rows = static_cast<std::uint32_t>(state.range(0));
  const Step step(rows, sampling);
  const cuda::DeviceMemory scratch =
      cuda::make_device_memory(sampler_bytes(rows, step.config.vocab));
  const cuda::DeviceMemory next_id = cuda::make_device_memory(rows * 4);
  measure(state, [&](cudaStream_t stream) {
    enqueue_sample(stream, step.batch(), rows, step.config.vocab, as<float>(step.logits),
                   step.history_view(), as<std::byte>(scratch), as<std::int32_t>(next_id));
  });
}

}  // namespace

int main(int argc, char** argv) {
  const auto add = [](const std::string& name, auto function, const auto&... arguments) {
    return benchmark::RegisterBenchmark(name.c_str(), function, arguments...)
        ->UseManualTime()
        ->Unit(benchmark::kMicrosecond)
        ->Iterations(100);
  };
  for (const char* name : {"plan", "embed", "add_norm", "last_norm", "rope_append", "swiglu"}) {
    add(name, pointwise, std::string(name));
  }
  const Sampling all = {.temperature = 0.8};
  const Sampling filtered = {
      .temperature = 0.8, .top_k = 50, .top_p = 0.9, .min_p = 0.01, .repetition_penalty = 1.1};
  add("sample/greedy", sample, Sampling{})->Arg(1)->Arg(32)->Arg(64);
  add("sample/all", sample, all)->Arg(1)->Arg(32);
  add("sample/filtered", sample, filtered)->Arg(1)->Arg(32);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
