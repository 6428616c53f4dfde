// Ulysses: the program. Sequence-parallel attention over the devices of a runtime, rank r on device
// r, written once against the runtime's seam; the strategy decides how much of it overlaps.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "backend/runtime/host.h"
#include "backend/runtime/runtime.h"
#include "backend/ulysses/attention.h"
#include "backend/ulysses/communicator.h"
#include "backend/ulysses/head_chunk_layout.h"
#include "backend/ulysses/packed_communicator.h"
#include "backend/ulysses/parts.h"
#include "backend/ulysses/rank_pass.h"
#include "backend/ulysses/rank_streams.h"
#include "backend/ulysses/rendezvous.h"
#include "backend/ulysses/strategy.h"
#include "backend/ulysses/workspace_renewal.h"

namespace syncopate::ulysses {

/// What moves bands between ranks.
enum class Transport : std::uint8_t {
  kPeer,  ///< 2-D copies into peers' memory, and flags: nothing that needs an SM.
  kNccl,  ///< Kernels that pack and merge, and a collective.
};
/// "peer" or "nccl".
const char* to_string(Transport transport);

enum class WorkspaceUse : std::uint8_t {
  kReuse,    ///< Allocated once.
  kPerCall,  ///< Allocated in each pass, as a measure of what reuse saves. Not with graphs.
};

struct UlyssesOptions {
  StrategyKind strategy = StrategyKind::kChunkOverlap;
  /// kChunkOverlap: bands that a rank's workspace holds; 0: all of a pass, in which case scatters
  /// never wait for attention. Other strategies hold one.
  std::uint32_t slots = 0;
  bool causal = false;
  EnqueueOrder enqueue = EnqueueOrder::kAhead;
  /// Passes from the second on are launches of a CUDA graph of the whole pass.
  bool graphs = false;
  Transport transport = Transport::kPeer;
  /// kNccl on cuda: its bodies, which must outlive the runtime.
  PackedDevice* packed_device = nullptr;
  WorkspaceUse workspace = WorkspaceUse::kReuse;
};

/// A caller's tensor, [batch, token, head, dim], dense, on its rank's device.
struct TensorView {
  runtime::Buffer buffer;
  TensorShape shape;
};

/// What a rank's caller brings. q, k and v may share a buffer with each other, not with the output.
struct RankTensors {
  runtime::Stream caller;  ///< Computes attention as well.
  TensorView q, k, v, output;
  std::optional<RankStreams> streams = {};  ///< Shared with other passes; none: made for these.
};

/// Makes its workspaces, flags, streams and events in the constructor; a pass makes nothing.
/// Use: Ulysses u(runtime, layout, attention, options, tensors);  in the main of each host:
///      produce q, k, v in the caller's stream; u.pass(host); use the output in it; and so on.
class Ulysses {
 public:
  /// `attention` must outlive it; it must outlive the run. Strategies that do not chunk use
  /// layout.whole(). Throws UlyssesError kShape (a tensor, or their number), kAliasing, and what
  /// the attention refuses; kUnsupported for graphs with a workspace per call;
  /// runtime::UnavailableError when there is no memory.
  Ulysses(runtime::Runtime& runtime, const HeadChunkLayout& layout, const Attention& attention,
          const UlyssesOptions& options, const std::vector<RankTensors>& ranks);
  Ulysses(const Ulysses&) = delete;
  Ulysses& operator=(const Ulysses&) = delete;

  /// Enqueues a pass of the host's rank. All ranks must make the same number of passes. Returns at
  /// once, but for the second one with graphs, which every rank captures before any goes on, and
  /// with a workspace per call;
  /// thread-safe between different hosts. Throws UlyssesError kNoSuchBand to a host without a rank.
  void pass(runtime::Host& host);

  /// Enqueues a part of a pass alone, in the caller's stream (parts.h). Not between passes of
  /// graphs, which would count on other values of the flags.
  void part(runtime::Host& host, Part part);

  /// The layout that the strategy runs.
  const HeadChunkLayout& layout() const { return layout_; }
  std::uint32_t slots() const { return slots_; }
  /// Bytes of a rank's workspace, of what it keeps of its attention, and of its transport.
  std::uint64_t workspace_bytes(std::uint32_t rank) const {
    return slots_ * layout_.slot_bytes(rank) + layout_.attended_bytes() +
           inputs_->staging_bytes(rank) + outputs_->staging_bytes(rank);
  }

 private:
  struct Rank {
    std::unique_ptr<RankPass> pass;
    std::unique_ptr<Strategy> strategy;
    runtime::Stream caller;
    std::vector<runtime::Buffer> renewed;  // in each pass
    bool warm = false;                     // it has made a pass
    runtime::Graph graph = {};             // of a pass, once captured
  };

  Rank& rank_of(const runtime::Host& host);

  HeadChunkLayout layout_;
  std::uint32_t slots_;
  bool graphs_;
  std::unique_ptr<CommunicatorGroup> inputs_;
  std::unique_ptr<CommunicatorGroup> outputs_;
  std::unique_ptr<WorkspaceRenewal> renewal_;  // with a workspace per call
  std::unique_ptr<Rendezvous> captured_;       // with graphs
  std::vector<Rank> ranks_;
};

}  // namespace syncopate::ulysses
