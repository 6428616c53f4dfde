// The race checker on a long run of an asynchronous batcher with two slots, as it would record it.
#include <benchmark/benchmark.h>

#include <array>
#include <cstdint>

#include "analysis/races.h"
#include "backend/runtime/timeline.h"

namespace syncopate::analysis {
namespace {

using runtime::Buffer;
using runtime::CallType;
using runtime::OperationKind;
using runtime::Position;
using runtime::read;
using runtime::Stream;
using runtime::write;

constexpr Stream kH2d{0}, kCompute{1}, kD2h{2};
constexpr std::uint32_t kRows = 32;
constexpr std::uint64_t kBlock = 4096;  // bytes of an input or output block
constexpr std::uint64_t kKvBytes = 1U << 20;
constexpr std::uint64_t kKvEntry = 64;

/// Buffers of a slot and the KV pool.
constexpr Buffer kKv{0};
Buffer host_inputs(int slot) { return Buffer{static_cast<std::uint32_t>(1 + 4 * slot)}; }
Buffer device_inputs(int slot) { return Buffer{static_cast<std::uint32_t>(2 + 4 * slot)}; }
Buffer device_outputs(int slot) { return Buffer{static_cast<std::uint32_t>(3 + 4 * slot)}; }
Buffer host_outputs(int slot) { return Buffer{static_cast<std::uint32_t>(4 + 4 * slot)}; }

/// Appends to one host's log. A step is 12 calls, 5 operations and 42 accesses, of them 33 of the
/// KV pool. With `ordered` false the compute stream does not wait for its inputs.
class Recorder {
 public:
  explicit Recorder(bool ordered) : ordered_(ordered) {
    for (const char* label : {"h2d", "compute", "d2h"}) t.streams.push_back({label, {}, 0});
    t.buffers.resize(9);
    for (runtime::BufferInfo& buffer : t.buffers) buffer.label = "buffer";
  }

  void step(std::int32_t step) {
    step_ = step;
    const int slot = step % 2;
    operate(CallType::kSpan, OperationKind::kHostSpan, "prepare", Stream{});
    access(write(host_inputs(slot), 0, kBlock));
    operate(CallType::kEnqueue, OperationKind::kCopyH2D, "h2d", kH2d);
    access(read(host_inputs(slot), 0, kBlock));
    access(write(device_inputs(slot), 0, kBlock));
    const Position h2d_done = record(kH2d);
    if (ordered_) wait(kCompute, h2d_done);
    operate(CallType::kEnqueue, OperationKind::kKernel, "forward", kCompute);
    access(read(device_inputs(slot), 0, kBlock));
    access(read(device_outputs(1 - slot), 0, kBlock));
    access(write(device_outputs(slot), 0, kBlock));
    access(read(kKv, 0, kKvBytes));
    for (std::uint32_t row = 0; row < kRows; ++row) {
      const std::uint64_t entry =
          ((row * 512 + static_cast<std::uint32_t>(step)) * kKvEntry) % kKvBytes;
      access(write(kKv, entry, entry + kKvEntry));
    }
    const Position forward_done = record(kCompute);
    wait(kD2h, forward_done);
    operate(CallType::kEnqueue, OperationKind::kCopyD2H, "d2h", kD2h);
    access(read(device_outputs(slot), 0, kBlock));
    access(write(host_outputs(slot), 0, kBlock));
    const Position done = record(kD2h);
    wait(kCompute, done);  // as a program that does not rely on the block alone
    if (step > 0) {
      runtime::Call& block = call(CallType::kBlock);
      block.target = last_done_;
      operate(CallType::kSpan, OperationKind::kHostSpan, "update", Stream{});
      access(read(host_outputs(1 - slot), 0, kBlock));
    }
    last_done_ = done;
  }

  runtime::Timeline t;

 private:
  runtime::Call& call(CallType type) {
    runtime::Call& made = t.calls.emplace_back();
    made.type = type;
    return made;
  }
  void operate(CallType type, OperationKind kind, const char* name, Stream stream) {
    runtime::Operation& operation = t.operations.emplace_back();
    operation.kind = kind;
    operation.name = name;
    operation.step = step_;
    operation.stream = stream;
    operation.first_access = static_cast<std::uint32_t>(t.accesses.size());
    runtime::Call& made = call(type);
    made.operation = static_cast<std::uint32_t>(t.operations.size() - 1);
    if (stream) made.at = {stream, ++sequences_[stream.id]};
  }
  void access(const runtime::Access& access) {
    t.accesses.push_back(access);
    ++t.operations.back().access_count;
  }
  Position record(Stream stream) {
    return call(CallType::kRecord).at = {stream, sequences_[stream.id]};
  }
  void wait(Stream stream, Position target) {
    runtime::Call& made = call(CallType::kWait);
    made.at = {stream, ++sequences_[stream.id]};
    made.target = target;
  }

  bool ordered_;
  std::int32_t step_ = 0;
  std::array<std::uint64_t, 3> sequences_{};
  Position last_done_;
};

void find_races(benchmark::State& state, bool ordered) {
  constexpr std::int32_t kSteps = 8192;
  Recorder recorder(ordered);
  for (std::int32_t step = 0; step < kSteps; ++step) recorder.step(step);
  std::size_t races = 0;
  for (auto _ : state) {
    races = analysis::find_races(recorder.t).size();
    benchmark::DoNotOptimize(races);
  }
  state.counters["races"] = static_cast<double>(races);
  state.counters["per_step"] = benchmark::Counter(
      kSteps, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

BENCHMARK_CAPTURE(find_races, ordered, true)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(find_races, racy, false)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace syncopate::analysis
