// Passes of a group of ranks on GPUs, and what they must give: the attention of one host over the
// same rounded inputs, in fp32.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/cuda/call.h"
#include "backend/cuda/engine.h"
#include "backend/runtime/host.h"
#include "backend/runtime/runtime.h"
#include "backend/ulysses/cuda/device_attention.h"
#include "backend/ulysses/host_attention.h"
#include "backend/ulysses/ulysses.h"
#include "tests/ulysses/passes.h"

namespace syncopate::ulysses {

/// What an element may be off by: inputs are below 1, and so are outputs.
inline double tolerance(ElementType type) {
  return type == ElementType::kFp32 ? 2e-5 : type == ElementType::kFp16 ? 2e-3 : 1e-2;
}

inline std::vector<std::byte> rounded(const Floats& values, ElementType type) {
  std::vector<std::byte> bytes(values.size() * element_bytes(type));
  with_element(type, [&]<class T>() {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const T element = from_float<T>(values[i]);
      std::memcpy(&bytes[i * sizeof(T)], &element, sizeof(T));
    }
  });
  return bytes;
}

inline Floats floats(const std::byte* bytes, std::size_t count, ElementType type) {
  Floats values(count);
  with_element(type, [&]<class T>() {
    for (std::size_t i = 0; i < count; ++i) {
      T element;
      std::memcpy(&element, bytes + i * sizeof(T), sizeof(T));
      values[i] = to_float(element);
    }
  });
  return values;
}

/// A rank's tokens of an input in a pass.
inline Floats input_of(const HeadChunkLayout& layout, Tensor tensor, std::uint32_t rank,
                       std::uint32_t pass) {
  const TensorShape shape = layout.shape(tensor, rank);
  Floats values(std::size_t{shape.batch} * shape.tokens * shape.heads * shape.head_dim);
  fill_input(values.data(), tensor, pass, shape, first_token(layout, rank), layout.all_tokens());
  return values;
}

/// By rank: the outputs of all passes, one behind the other.
inline Outputs expected_on_host(const Passes& passes) {
  const HeadChunkLayout layout(passes.layout);
  LayoutOptions alone = passes.layout;
  alone.tokens = {layout.all_tokens()};
  alone.schedule = {alone.heads};
  alone.type = ElementType::kFp32;
  const HeadChunkLayout one(alone);
  const AttentionBand band = attention_band(one, 0, 0, passes.options.causal);
  std::vector<std::uint64_t> inputs(one.slot_bytes(0) / 8), output(one.attended_bytes() / 8);
  std::byte* bases[] = {reinterpret_cast<std::byte*>(inputs.data()),
                        reinterpret_cast<std::byte*>(output.data())};
  const runtime::Kernel kernel =
      HostAttention().kernel(band, {runtime::Buffer{0}, 0, runtime::Buffer{1}});
  Outputs expected(layout.world());
  for (std::uint32_t pass = 0; pass < passes.passes; ++pass) {
    for (const Tensor tensor : {Tensor::kQ, Tensor::kK, Tensor::kV}) {
      const Floats exact = input_of(one, tensor, 0, pass);
      const Floats seen =
          floats(rounded(exact, passes.layout.type).data(), exact.size(), passes.layout.type);
      std::memcpy(bases[0] + one.landing(tensor, 0, 0).offset, seen.data(), seen.size() * 4);
    }
    runtime::Exec exec(bases, nullptr);
    kernel.host(exec);
    const auto* all = reinterpret_cast<const float*>(bases[1]);
    const std::uint64_t row = std::uint64_t{alone.heads} * alone.head_dim;
    for (std::uint32_t rank = 0; rank < layout.world(); ++rank) {
      for (std::uint64_t b = 0; b < alone.batch; ++b) {
        const float* first = all + (b * one.all_tokens() + first_token(layout, rank)) * row;
        expected[rank].insert(expected[rank].end(), first, first + layout.tokens(rank) * row);
      }
    }
  }
  return expected;
}

/// Each rank brings new inputs, makes a pass and fetches its output, all in its caller's stream and
/// without a pause between passes. Device d is GPU d mod `gpus`, for `attention` too.
inline PassesOutcome make_device_passes(
    const Passes& passes, const Attention& attention, int gpus,
    std::optional<syncopate::cuda::ActivityOptions> activities = {}) {
  namespace rt = runtime;
  const HeadChunkLayout layout(passes.layout);
  const ElementType type = passes.layout.type;
  const int world = static_cast<int>(layout.world());
  rt::Runtime runtime(syncopate::cuda::make_cuda_engine(
      {.devices = world, .gpus = std::min(gpus, world), .activities = activities}));
  std::vector<RankTensors> tensors;
  std::vector<rt::Buffer> host_inputs, host_outputs;
  for (std::uint32_t rank = 0; rank < layout.world(); ++rank) {
    const rt::Device device{rank};
    std::uint64_t input_bytes = 0;
    const auto view = [&](Tensor tensor, const char* label) {
      if (tensor != Tensor::kOutput) input_bytes += layout.bytes(tensor, rank);
      return TensorView{
          runtime.make_buffer(device, rt::Memory::kDevice, layout.bytes(tensor, rank), label),
          layout.shape(tensor, rank)};
    };
    tensors.push_back({runtime.make_stream(device, rt::StreamKind::kNonBlocking, "caller"),
                       view(Tensor::kQ, "q"), view(Tensor::kK, "k"), view(Tensor::kV, "v"),
                       view(Tensor::kOutput, "output")});
    host_inputs.push_back(
        runtime.make_buffer(device, rt::Memory::kPinned, passes.passes * input_bytes, "inputs"));
    host_outputs.push_back(runtime.make_buffer(device, rt::Memory::kPinned,
                                               passes.passes * layout.bytes(Tensor::kOutput, rank),
                                               "outputs"));
    std::byte* to = runtime.host_data(host_inputs.back());
    for (std::uint32_t pass = 0; pass < passes.passes; ++pass) {
      for (const Tensor tensor : {Tensor::kQ, Tensor::kK, Tensor::kV}) {
        const std::vector<std::byte> bytes = rounded(input_of(layout, tensor, rank, pass), type);
        if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
        to += bytes.size();
      }
    }
  }
  Ulysses ulysses(runtime, layout, attention, passes.options, tensors);

  const auto main = [&](rt::Host& host) {
    const std::uint32_t rank = host.device().id;
    const RankTensors& mine = tensors[rank];
    std::uint64_t at = 0;
    const auto bring = [&](const TensorView& view, Tensor tensor) {
      const std::uint64_t bytes = layout.bytes(tensor, rank);
      if (bytes == 0) return;
      host.copy(mine.caller, "bring", rt::Region::flat(view.buffer, 0, bytes),
                rt::Region::flat(host_inputs[rank], at, bytes));
      at += bytes;
    };
    const std::uint64_t bytes = layout.bytes(Tensor::kOutput, rank);
    for (std::uint32_t pass = 0; pass < passes.passes; ++pass) {
      host.set_step(static_cast<std::int32_t>(pass));
      bring(mine.q, Tensor::kQ);
      bring(mine.k, Tensor::kK);
      bring(mine.v, Tensor::kV);
      ulysses.pass(host);
      if (bytes == 0) continue;
      host.copy(mine.caller, "fetch", rt::Region::flat(host_outputs[rank], pass * bytes, bytes),
                rt::Region::flat(mine.output.buffer, 0, bytes));
    }
    host.synchronize(mine.caller, "end");
  };
  runtime.run(std::vector<rt::HostMain>(layout.world(), main));

  PassesOutcome outcome;
  for (std::uint32_t rank = 0; rank < layout.world(); ++rank) {
    const std::size_t count =
        passes.passes * layout.bytes(Tensor::kOutput, rank) / element_bytes(type);
    outcome.outputs.push_back(floats(runtime.host_data(host_outputs[rank]), count, type));
  }
  outcome.timeline = runtime.take_timeline();
  return outcome;
}

/// The first rank and element that is off, in words; empty when none is.
inline std::string difference(const Outputs& found, const Outputs& expected, ElementType type) {
  for (std::size_t rank = 0; rank < expected.size(); ++rank) {
    if (found[rank].size() != expected[rank].size()) return "sizes differ";
    for (std::size_t i = 0; i < expected[rank].size(); ++i) {
      if (std::abs(found[rank][i] - expected[rank][i]) <= tolerance(type)) continue;
      return "rank " + std::to_string(rank) + ", element " + std::to_string(i) + ": " +
             std::to_string(found[rank][i]) + " in place of " + std::to_string(expected[rank][i]);
    }
  }
  return "";
}

}  // namespace syncopate::ulysses
