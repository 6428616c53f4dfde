// Passes one after the other, and the process's allocations after each.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backend/runtime/engine.h"
#include "backend/runtime/host.h"
#include "backend/runtime/runtime.h"
#include "backend/ulysses/ulysses.h"
#include "tests/batching/counted_allocations.h"

namespace syncopate::ulysses {

struct SteadyPasses {
  LayoutOptions layout;
  UlyssesOptions options;
  std::uint32_t passes = 0;
};

/// Allocations of the process since its start, as rank 0 sees them after each of its passes. For
/// one file of a program (counted_allocations.h).
inline std::vector<std::uint64_t> allocations_by_pass(std::unique_ptr<runtime::Engine> engine,
                                                      const SteadyPasses& steady,
                                                      const Attention& attention) {
  runtime::Runtime runtime(std::move(engine));
  const HeadChunkLayout layout(steady.layout);
  std::vector<RankTensors> ranks;
  for (std::uint32_t rank = 0; rank < layout.world(); ++rank) {
    const auto view = [&](Tensor tensor) {
      return TensorView{runtime.make_buffer(runtime::Device{rank}, runtime::Memory::kDevice,
                                            layout.bytes(tensor, rank), "tensor"),
                        layout.shape(tensor, rank)};
    };
    ranks.push_back(
        {runtime.make_stream(runtime::Device{rank}, runtime::StreamKind::kNonBlocking, "caller"),
         view(Tensor::kQ), view(Tensor::kK), view(Tensor::kV), view(Tensor::kOutput)});
  }
  Ulysses ulysses(runtime, layout, attention, steady.options, ranks);
  std::vector<std::uint64_t> seen;
  seen.reserve(steady.passes);
  const auto main = [&](runtime::Host& host) {
    host.reserve(64 * steady.passes, 256 * steady.passes);
    for (std::uint32_t pass = 0; pass < steady.passes; ++pass) {
      ulysses.pass(host);
      host.synchronize(ranks[host.device().id].caller, "block");
      if (host.device().id == 0) seen.push_back(allocations.load());
    }
  };
  runtime.run(std::vector<runtime::HostMain>(layout.world(), main));
  return seen;
}

}  // namespace syncopate::ulysses
