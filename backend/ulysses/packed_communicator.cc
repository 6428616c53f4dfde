#include "backend/ulysses/packed_communicator.h"

#include <algorithm>
#include <string>
#include <utility>

#include "backend/ulysses/error.h"

namespace syncopate::ulysses {

using runtime::Buffer;
using runtime::Host;
using runtime::Stream;

namespace {

std::vector<Buffer> buffers_of(const std::vector<Landing>& landings) {
  std::vector<Buffer> buffers;
  buffers.reserve(landings.size());
  for (const Landing& landing : landings) buffers.push_back(landing.buffer);
  return buffers;
}

PackedPlan make_plan(runtime::Runtime& runtime, const HeadChunkLayout& layout, PackedUse use,
                     const std::vector<Landing>& landings) {
  const std::vector<Buffer> where = buffers_of(landings);
  std::vector<Buffer> staging(layout.world());
  const PackedPlan sizes(layout, use, where, staging);
  for (std::uint32_t rank = 0; rank < layout.world(); ++rank) {
    staging[rank] =
        runtime.make_buffer(runtime::Device{rank}, runtime::Memory::kDevice,
                            sizes.staging_bytes(rank), "staging" + std::to_string(rank));
  }
  return {layout, use, where, staging};
}

class PackedCommunicator final : public Communicator {
 public:
  PackedCommunicator(const PackedGroup& group, std::uint32_t rank)
      : Communicator(group, rank), group_(group) {
    std::size_t most = 0;
    for (std::uint32_t band = 0; band < group.layout().bands(); ++band) {
      const BandMoves& moves = group.plan().band(rank, band);
      most = std::max({most, moves.relayout.all().size(), moves.sends.all().size()});
    }
    accesses_.reserve(2 * most);
  }

  void release(Host& host, Stream stream, Ticket ticket) override {
    host.signal(stream, group_.free(rank()), ticket, group_.sites().signal_free);
  }

 protected:
  void scatter(Host& host, std::uint32_t band, std::span<const Part> parts,
               const Slot& slot) override {
    check_use(PackedUse::kScatters);
    if (slot.last > 0) {
      host.wait(stream(), group_.free(rank()), slot.last, group_.sites().wait_free);
    }
    Given given;
    given.slot = slot.index;
    for (const Part& part : parts) given.tensors[static_cast<std::size_t>(part.tensor)] = part.x;
    const BandMoves& moves = group_.plan().band(rank(), band);
    const auto taken = [&](const PartedMoves& all) {
      return parts.size() == 1 ? all.of(parts[0].tensor) : all.all();
    };
    relayout(host, "scatter_pack", taken(moves.relayout), given);
    exchange(host, "scatter_exchange", taken(moves.sends), taken(moves.receives), given);
  }

  void gather(Host& host, std::uint32_t band, Buffer attended) override {
    check_use(PackedUse::kGathers);
    Given given;
    given.tensors[0] = attended;
    const BandMoves& moves = group_.plan().band(rank(), band);
    exchange(host, "gather_exchange", moves.sends.all(), moves.receives.all(), given);
    relayout(host, "gather_merge", moves.relayout.all(), given);
  }

  void arrive(Host&) override {}  // nothing in the stream goes on before it

 private:
  void check_use(PackedUse use) const {
    if (group_.use() == use) return;
    throw UlyssesError(Fault::kUnsupported,
                       "this communicator's staging memory is for " +
                           std::string(use == PackedUse::kScatters ? "gathers, not scatters"
                                                                   : "scatters, not gathers"));
  }

  std::span<const runtime::Access> accesses_of(PackedMoves moves, const Given& given) {
    accesses_.clear();
    for (const PackedMove& packed : moves) {
      const Move move = packed.with(given);
      accesses_.push_back(runtime::access_of(move.from, /*write=*/false));
      accesses_.push_back(runtime::access_of(move.to, /*write=*/true));
    }
    return accesses_;
  }

  void relayout(Host& host, runtime::Name name, PackedMoves moves, const Given& given) {
    if (moves.empty()) return;
    runtime::Cost cost;
    cost.work = runtime::Work::kRelayout;
    cost.bytes = bytes_of(moves);
    host.launch(stream(), name, cost, accesses_of(moves, given), group_.copy_rows(moves, given));
  }

  // Ranks with nothing to send or receive come all the same: the others count on it.
  void exchange(Host& host, runtime::Name name, PackedMoves sends, PackedMoves receives,
                const Given& given) {
    if (group_.world() == 1) return;
    runtime::Cost cost;
    cost.work = runtime::Work::kExchange;
    cost.bytes = std::max(bytes_of(sends), bytes_of(receives));
    host.collective(stream(), name, cost, accesses_of(sends, given),
                    group_.exchange(rank(), sends, receives, given), group_.meeting());
  }

  const PackedGroup& group_;
  std::vector<runtime::Access> accesses_;  // of the launch being made
};

}  // namespace

PackedGroup::PackedGroup(runtime::Runtime& runtime, const HeadChunkLayout& layout, PackedUse use,
                         const std::vector<Landing>& landings, std::uint64_t tickets,
                         const CommunicatorSites& sites, PackedDevice* device)
    : CommunicatorGroup(layout, landings, sites),
      use_(use),
      plan_(make_plan(runtime, layout, use, landings)),
      device_(device) {
  std::vector<runtime::Device> devices;
  for (std::uint32_t rank = 0; rank < world(); ++rank) {
    devices.push_back({rank});
    free_.push_back(runtime.make_flag(tickets));
  }
  meeting_ = runtime.make_meeting(std::move(devices), tickets);
  if (device != nullptr && world() > 1) exchange_ = &device->exchange(world(), use);
}

std::unique_ptr<Communicator> PackedGroup::make_end(std::uint32_t rank) const {
  return std::make_unique<PackedCommunicator>(*this, rank);
}

runtime::Kernel PackedGroup::copy_rows(PackedMoves moves, const Given& given) const {
  return {.host = ulysses::copy_rows(moves, given),
          .cuda = device_ == nullptr ? runtime::Body() : device_->copy_rows(moves, given)};
}

// On the host a rank pushes: all have come, so that the others' memory is ready for it.
runtime::Kernel PackedGroup::exchange(std::uint32_t rank, PackedMoves sends, PackedMoves receives,
                                      const Given& given) const {
  return {.host = ulysses::copy_rows(sends, given),
          .cuda = exchange_ == nullptr ? runtime::Body()
                                       : exchange_->body(rank, sends, receives, given)};
}

}  // namespace syncopate::ulysses
