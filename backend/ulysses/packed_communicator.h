// Communicators over a collective, as NCCL's all-to-all is one: kernels bring rows together, an
// exchange takes them to the other ranks, kernels put them where they belong.
//
// Half of that is not needed. What a rank sends of a scatter is columns of q, k and v, and is
// packed; it arrives in the slot as it is, where each source's rows of a tensor lie together. What
// it sends of a gather lies together as attention left it, and is merged into the output's columns.
// So a scatter is a pack kernel and an exchange, a gather an exchange and a merge kernel. A rank's
// own part goes with the kernels; alone, a rank needs nothing else.
//
// Order between ranks is the exchange's (Host::collective): no rank's stream goes on before all
// have what they sent to each other. So there is no flag for arrival, and a slot is its own rank's
// business: a flag says that the attention which reads it is done.
//
// Everything runs in kernels, which wait while an attention holds every SM; the other transport
// does not (peer_communicator.h).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backend/runtime/runtime.h"
#include "backend/ulysses/communicator.h"
#include "backend/ulysses/packed_moves.h"

namespace syncopate::ulysses {

/// The CUDA body of an exchange between the ranks of one group.
class DeviceExchange {
 public:
  virtual ~DeviceExchange() = default;
  /// Rank `rank`'s part. What the moves name must outlive the run.
  virtual runtime::Body body(std::uint32_t rank, PackedMoves sends, PackedMoves receives,
                             const Given& given) const = 0;
};

/// The CUDA bodies of the packed transport. It must outlive the runtime, whose graphs hold them.
class PackedDevice {
 public:
  virtual ~PackedDevice() = default;
  /// As copy_rows().
  virtual runtime::Body copy_rows(PackedMoves moves, const Given& given) const = 0;
  /// For ranks 0 to world - 1, on the devices of their numbers, and this use of it. Sets up all
  /// that a body needs, since none may do so later, in a capture.
  virtual const DeviceExchange& exchange(std::uint32_t world, PackedUse use) = 0;
};

class PackedGroup final : public CommunicatorGroup {
 public:
  /// `layout` and `device` must outlive it; `device` may be null where nothing runs on CUDA.
  /// `tickets` is the number of collectives in each pass. Makes staging memory, flags and a
  /// meeting: before the run, from one thread.
  PackedGroup(runtime::Runtime& runtime, const HeadChunkLayout& layout, PackedUse use,
              const std::vector<Landing>& landings, std::uint64_t tickets,
              const CommunicatorSites& sites, PackedDevice* device);

  std::unique_ptr<Communicator> make_end(std::uint32_t rank) const override;
  std::uint64_t staging_bytes(std::uint32_t rank) const override {
    return plan_.staging_bytes(rank);
  }

  PackedUse use() const { return use_; }
  const PackedPlan& plan() const { return plan_; }
  runtime::Meeting meeting() const { return meeting_; }
  /// Carries the tickets whose slot the rank has read.
  runtime::Flag free(std::uint32_t rank) const { return free_[rank]; }

  runtime::Kernel copy_rows(PackedMoves moves, const Given& given) const;
  runtime::Kernel exchange(std::uint32_t rank, PackedMoves sends, PackedMoves receives,
                           const Given& given) const;

 private:
  PackedUse use_;
  PackedPlan plan_;
  runtime::Meeting meeting_;
  std::vector<runtime::Flag> free_;  // by rank
  const PackedDevice* device_;
  const DeviceExchange* exchange_ = nullptr;  // where there is a device and another rank
};

}  // namespace syncopate::ulysses
