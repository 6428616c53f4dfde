#include "backend/ulysses/ulysses.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "backend/ulysses/error.h"
#include "backend/ulysses/peer_communicator.h"

namespace syncopate::ulysses {

using runtime::Device;
using runtime::Memory;
using runtime::Runtime;

namespace {

constexpr CommunicatorSites kInputSites = {
    "input.signal_arrived", "input.wait_arrived", "input.signal_free",     "input.wait_free",
    "input.own.record",     "input.own.wait",     "input.own.done.record", "input.own.done.wait"};
constexpr CommunicatorSites kOutputSites = {
    "output.signal_arrived",  "output.wait_arrived", "", "", "output.own.record", "output.own.wait",
    "output.own.done.record", "output.own.done.wait"};

std::uint32_t slots_for(const UlyssesOptions& options, std::uint32_t bands) {
  if (options.strategy != StrategyKind::kChunkOverlap) return 1;
  return options.slots == 0 ? bands : std::min(options.slots, bands);
}

/// Collectives that scatter in a pass.
std::uint64_t scatters_of(StrategyKind strategy, std::uint32_t bands) {
  return strategy == StrategyKind::kOrdinary ? std::uint64_t{3} * bands : bands;
}

void check_apart(std::uint32_t rank, runtime::Buffer output, std::uint32_t other,
                 const RankTensors& others) {
  const char* shared = nullptr;
  if (others.q.buffer == output || others.k.buffer == output || others.v.buffer == output) {
    shared = "an input";
  } else if (rank != other && others.output.buffer == output) {
    shared = "the output";
  }
  if (shared == nullptr) return;
  throw UlyssesError(Fault::kAliasing, fmt::format("the output of rank {} shares a buffer with {} "
                                                   "of rank {}",
                                                   rank, shared, other));
}

void check_tensors(const HeadChunkLayout& layout, const std::vector<RankTensors>& ranks) {
  if (ranks.size() != layout.world()) {
    throw UlyssesError(Fault::kShape, fmt::format("tensors of {} ranks for a layout of {}",
                                                  ranks.size(), layout.world()));
  }
  for (std::uint32_t rank = 0; rank < layout.world(); ++rank) {
    const RankTensors& tensors = ranks[rank];
    layout.check(Tensor::kQ, rank, tensors.q.shape);
    layout.check(Tensor::kK, rank, tensors.k.shape);
    layout.check(Tensor::kV, rank, tensors.v.shape);
    layout.check(Tensor::kOutput, rank, tensors.output.shape);
    for (std::uint32_t other = 0; other < layout.world(); ++other) {
      check_apart(rank, tensors.output.buffer, other, ranks[other]);
    }
  }
}

/// Prepares attention for all bands of a rank. Returns the scratch memory that it asks for.
std::uint64_t prepare(const HeadChunkLayout& layout, const Attention& attention, bool causal,
                      std::uint32_t rank) {
  std::uint64_t bytes = 0;
  for (std::uint32_t band = 0; band < layout.bands(); ++band) {
    const AttentionBand made = attention_band(layout, rank, band, causal);
    attention.check(made);
    bytes = std::max(bytes, attention.prepare(made, Device{rank}));
  }
  return bytes;
}

}  // namespace

Ulysses::Ulysses(Runtime& runtime, const HeadChunkLayout& layout, const Attention& attention,
                 const UlyssesOptions& options, const std::vector<RankTensors>& ranks)
    : layout_(chunks(options.strategy) ? layout : layout.whole()),
      slots_(slots_for(options, layout_.bands())),
      graphs_(options.graphs) {
  check_tensors(layout_, ranks);
  if (options.workspace == WorkspaceUse::kPerCall) {
    if (graphs_) {
      throw UlyssesError(Fault::kUnsupported,
                         "a graph holds the addresses of its workspaces: they cannot be allocated "
                         "per call");
    }
    renewal_ = std::make_unique<WorkspaceRenewal>(runtime, layout_.world());
  }
  if (graphs_) captured_ = std::make_unique<Rendezvous>(runtime, layout_.world());
  std::vector<Landing> workspaces, outputs;
  std::vector<RankStreams> streams;
  std::vector<runtime::Stream> own_inputs, own_outputs;
  for (std::uint32_t rank = 0; rank < layout_.world(); ++rank) {
    const std::uint64_t bytes = slots_ * layout_.slot_bytes(rank);
    workspaces.push_back({runtime.make_buffer(Device{rank}, Memory::kDevice, bytes,
                                              "workspace" + std::to_string(rank)),
                          bytes});
    outputs.push_back({ranks[rank].output.buffer, layout_.bytes(Tensor::kOutput, rank)});
    const auto& given = ranks[rank].streams;
    streams.push_back(given ? *given : make_rank_streams(runtime, Device{rank}));
    own_inputs.push_back(streams.back().own_input);
    own_outputs.push_back(streams.back().own_output);
  }
  const std::uint64_t scatters = scatters_of(options.strategy, layout_.bands());
  if (options.transport == Transport::kPeer) {
    inputs_ = std::make_unique<PeerGroup>(runtime, layout_, workspaces, scatters, kInputSites,
                                          own_inputs);
    outputs_ = std::make_unique<PeerGroup>(runtime, layout_, outputs, layout_.bands(), kOutputSites,
                                           own_outputs);
  } else {
    inputs_ = std::make_unique<PackedGroup>(runtime, layout_, PackedUse::kScatters, workspaces,
                                            scatters, kInputSites, options.packed_device);
    outputs_ = std::make_unique<PackedGroup>(runtime, layout_, PackedUse::kGathers, outputs,
                                             layout_.bands(), kOutputSites, options.packed_device);
  }
  const Slots slots = {slots_,
                       options.strategy == StrategyKind::kChunkOverlap && slots_ < layout_.bands()};
  for (std::uint32_t rank = 0; rank < layout_.world(); ++rank) {
    const RankTensors& tensors = ranks[rank];
    const auto buffer = [&](std::uint64_t bytes, const char* label) {
      return runtime.make_buffer(Device{rank}, Memory::kDevice, bytes,
                                 label + std::to_string(rank));
    };
    RankBuffers buffers = {tensors.q.buffer, tensors.k.buffer, tensors.v.buffer,
                           workspaces[rank].buffer, buffer(layout_.attended_bytes(), "attended")};
    buffers.scratch_bytes = prepare(layout_, attention, options.causal, rank);
    if (buffers.scratch_bytes > 0) buffers.scratch = buffer(buffers.scratch_bytes, "scratch");
    ranks_.push_back(
        {std::make_unique<RankPass>(layout_, attention, options.causal, rank, buffers, slots,
                                    inputs_->make_end(rank), outputs_->make_end(rank)),
         make_strategy(options.strategy, options.enqueue, layout_.bands(), runtime, Device{rank},
                       tensors.caller, streams[rank]),
         tensors.caller,
         {buffers.workspace, buffers.attended}});
  }
}

const char* to_string(Transport transport) {
  return transport == Transport::kPeer ? "peer" : "nccl";
}

Ulysses::Rank& Ulysses::rank_of(const runtime::Host& host) {
  if (host.device().id >= ranks_.size()) {
    throw UlyssesError(Fault::kNoSuchBand, fmt::format("host {} makes a pass of {} ranks",
                                                       host.device().id, ranks_.size()));
  }
  return ranks_[host.device().id];
}

void Ulysses::part(runtime::Host& host, Part part) {
  Rank& rank = rank_of(host);
  enqueue_part(host, rank.caller, *rank.pass, part);
}

void Ulysses::pass(runtime::Host& host) {
  Rank& rank = rank_of(host);
  if (renewal_) renewal_->renew(host, rank.caller, rank.renewed);
  if (!graphs_ || !rank.warm) {
    rank.warm = true;
    rank.strategy->enqueue(host, *rank.pass);
    return;
  }
  if (!rank.graph) {
    // Making a graph may wait until its GPU is idle. So it is made while no stream is held, and
    // none is launched, which may hold one until another rank launches its own, before all are
    // made.
    captured_->meet(host, rank.caller);
    rank.graph = host.capture(rank.caller, {}, "pass", [&](runtime::Host& capturing) {
      rank.strategy->enqueue(capturing, *rank.pass);
    });
    captured_->meet(host, rank.caller);
  }
  host.launch(rank.graph, rank.caller, "pass", {});
}

}  // namespace syncopate::ulysses
