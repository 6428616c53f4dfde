// Passes of a whole group of ranks, and what they must give: an attention computed on one device
// from the gathered inputs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/runtime/host.h"
#include "backend/runtime/runtime.h"
#include "backend/ulysses/host_attention.h"
#include "backend/ulysses/ulysses.h"

namespace syncopate::ulysses {

using Floats = std::vector<float>;

struct Passes {
  LayoutOptions layout;  // of fp32
  UlyssesOptions options;
  std::uint32_t passes = 3;
  /// Makes every second pass, on the same tensors; equally causal.
  std::optional<UlyssesOptions> in_turn_with = {};
};

/// What an input holds in a pass, by its place in the whole sequence: between -1 and 1.
inline float input_value(Tensor tensor, std::uint32_t pass, std::uint64_t element) {
  std::uint64_t z =
      (element + 1) * 0x9e3779b97f4a7c15U + (pass * 4 + static_cast<std::uint64_t>(tensor)) * 77;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return static_cast<float>(static_cast<std::int64_t>(z >> 40)) * 0x1p-23F - 1.0F;
}

/// The tokens [first, first + tokens) of a tensor's whole sequence.
inline void fill_input(float* to, Tensor tensor, std::uint32_t pass, const TensorShape& shape,
                       std::uint32_t first, std::uint32_t all_tokens) {
  const std::uint64_t row = std::uint64_t{shape.heads} * shape.head_dim;
  for (std::uint64_t b = 0; b < shape.batch; ++b) {
    for (std::uint64_t t = 0; t < shape.tokens; ++t) {
      for (std::uint64_t i = 0; i < row; ++i) {
        *to++ = input_value(tensor, pass, (b * all_tokens + first + t) * row + i);
      }
    }
  }
}

inline std::uint32_t first_token(const HeadChunkLayout& layout, std::uint32_t rank) {
  std::uint32_t first = 0;
  for (std::uint32_t r = 0; r < rank; ++r) first += layout.tokens(r);
  return first;
}

struct ProduceArgs {
  const HeadChunkLayout* layout;
  std::uint32_t rank, pass;
  runtime::Buffer q, k, v;
};
inline void produce(runtime::Exec& exec, const ProduceArgs& args) {
  const HeadChunkLayout& layout = *args.layout;
  const auto fill = [&](Tensor tensor, runtime::Buffer buffer) {
    fill_input(exec.data<float>(buffer), tensor, args.pass, layout.shape(tensor, args.rank),
               first_token(layout, args.rank), layout.all_tokens());
  };
  fill(Tensor::kQ, args.q);
  fill(Tensor::kK, args.k);
  fill(Tensor::kV, args.v);
}

struct ConsumeArgs {
  runtime::Buffer from, to;
  std::uint64_t offset, bytes;  // in `to`
};
inline void consume(runtime::Exec& exec, const ConsumeArgs& args) {
  std::memcpy(exec.data<std::byte>(args.to) + args.offset, exec.data<std::byte>(args.from),
              args.bytes);
}

/// By rank: the outputs of all passes, one behind the other.
using Outputs = std::vector<Floats>;

struct PassesOutcome {
  Outputs outputs;
  runtime::Timeline timeline;
};

/// Each rank produces new inputs, makes a pass and keeps its output, all in its caller's stream and
/// without a pause between passes.
inline PassesOutcome make_passes(std::unique_ptr<runtime::Engine> engine, const Passes& passes,
                                 runtime::RuntimeOptions front = {},
                                 const Attention& attention = HostAttention()) {
  using runtime::Device, runtime::Memory, runtime::Region;
  runtime::Runtime runtime(std::move(engine), std::move(front));
  const HeadChunkLayout layout(passes.layout);
  std::vector<RankTensors> tensors;
  std::vector<runtime::Buffer> kept, host_kept;
  for (std::uint32_t rank = 0; rank < layout.world(); ++rank) {
    const Device device{rank};
    const auto view = [&](Tensor tensor, const char* label) {
      return TensorView{runtime.make_buffer(device, Memory::kDevice, layout.bytes(tensor, rank),
                                            label + std::to_string(rank)),
                        layout.shape(tensor, rank)};
    };
    tensors.push_back({runtime.make_stream(device, runtime::StreamKind::kNonBlocking, "caller"),
                       view(Tensor::kQ, "q"), view(Tensor::kK, "k"), view(Tensor::kV, "v"),
                       view(Tensor::kOutput, "output")});
    const std::uint64_t all = passes.passes * layout.bytes(Tensor::kOutput, rank);
    kept.push_back(runtime.make_buffer(device, Memory::kDevice, all, "kept"));
    host_kept.push_back(runtime.make_buffer(device, Memory::kPinned, all, "host_kept"));
  }
  Ulysses even(runtime, layout, attention, passes.options, tensors);
  std::optional<Ulysses> odd;
  if (passes.in_turn_with) odd.emplace(runtime, layout, attention, *passes.in_turn_with, tensors);

  const auto main = [&](runtime::Host& host) {
    const std::uint32_t rank = host.device().id;
    const RankTensors& mine = tensors[rank];
    const std::uint64_t bytes = layout.bytes(Tensor::kOutput, rank);
    const auto whole = [&](const TensorView& view, Tensor tensor) {
      return runtime::write(view.buffer, 0, layout.bytes(tensor, rank));
    };
    const runtime::Access writes[] = {whole(mine.q, Tensor::kQ), whole(mine.k, Tensor::kK),
                                      whole(mine.v, Tensor::kV)};
    for (std::uint32_t pass = 0; pass < passes.passes; ++pass) {
      host.set_step(static_cast<std::int32_t>(pass));
      const ProduceArgs args = {&layout, rank, pass, mine.q.buffer, mine.k.buffer, mine.v.buffer};
      host.launch(mine.caller, "produce", {}, writes,
                  {.host = runtime::Body::of<produce>(args), .cuda = {}});
      (odd && pass % 2 != 0 ? *odd : even).pass(host);
      if (bytes == 0) continue;
      // A kernel: a copy would stand behind the gather's in the same copy engine, in order by luck.
      const ConsumeArgs keeps = {mine.output.buffer, kept[rank], pass * bytes, bytes};
      const runtime::Access touches[] = {
          runtime::read(mine.output.buffer, 0, bytes),
          runtime::write(kept[rank], pass * bytes, (pass + 1) * bytes)};
      host.launch(mine.caller, "consume", {}, touches,
                  {.host = runtime::Body::of<consume>(keeps), .cuda = {}});
    }
    if (bytes == 0) return;
    host.copy(mine.caller, "d2h", Region::flat(host_kept[rank], 0, passes.passes * bytes),
              Region::flat(kept[rank], 0, passes.passes * bytes));
    host.synchronize(mine.caller, "block");
  };
  runtime.run(std::vector<runtime::HostMain>(layout.world(), main));

  PassesOutcome outcome;
  for (std::uint32_t rank = 0; rank < layout.world(); ++rank) {
    const auto* data = runtime.host_data<float>(host_kept[rank]);
    const std::uint64_t count = layout.bytes(Tensor::kOutput, rank) / sizeof(float);
    outcome.outputs.emplace_back(data, data + passes.passes * count);
  }
  outcome.timeline = runtime.take_timeline();
  return outcome;
}

/// What make_passes() must give, to the bit: a query's sum is the same wherever it is computed.
inline Outputs expected_outputs(const Passes& passes) {
  const HeadChunkLayout layout(passes.layout);
  LayoutOptions alone = passes.layout;
  alone.tokens = {layout.all_tokens()};
  alone.schedule = {alone.heads};
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
      fill_input(reinterpret_cast<float*>(bases[0] + one.landing(tensor, 0, 0).offset), tensor,
                 pass, one.shape(tensor, 0), 0, one.all_tokens());
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

}  // namespace syncopate::ulysses
