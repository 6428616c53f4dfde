#include "backend/ulysses/peer_communicator.h"

#include <utility>

namespace syncopate::ulysses {

using runtime::Buffer;
using runtime::Host;
using runtime::Stream;

namespace {

runtime::Name scatter_name(Tensor tensor) {
  return tensor == Tensor::kQ ? "scatter_q" : tensor == Tensor::kK ? "scatter_k" : "scatter_v";
}

class PeerCommunicator final : public Communicator {
 public:
  PeerCommunicator(const PeerGroup& group, std::uint32_t rank)
      : Communicator(group, rank), group_(group) {}

  void release(Host& host, Stream stream, Ticket ticket) override {
    for (std::uint32_t source = 0; source < group_.world(); ++source) {
      host.signal(stream, group_.free(rank(), source), ticket, group_.sites().signal_free);
    }
  }

 protected:
  void scatter(Host& host, std::uint32_t band, std::span<const Part> parts,
               const Slot& slot) override {
    copy_to_all(host, slot.last, [&](std::uint32_t destination, Stream in) {
      for (const Part& part : parts) copy_heads(host, in, part, destination, band, slot);
    });
  }
  void gather(Host& host, std::uint32_t band, Buffer attended) override;
  void arrive(Host& host) override;

 private:
  template <class Copies>
  void copy_to_all(Host& host, Ticket free_after, Copies&& copies);
  void copy_heads(Host& host, Stream in, const Part& part, std::uint32_t destination,
                  std::uint32_t band, const Slot& slot);

  const PeerGroup& group_;
};

// Every rank begins with its right neighbour, so that no two copy to one rank at the same time.
template <class Copies>
void PeerCommunicator::copy_to_all(Host& host, Ticket free_after, Copies&& copies) {
  const CommunicatorSites& sites = group_.sites();
  const OwnPart& own = group_.own(rank());
  host.record(own.begun, stream(), sites.record_begun);
  const auto copy_to = [&](std::uint32_t destination, Stream in) {
    if (free_after > 0) {
      host.wait(in, group_.free(destination, rank()), free_after, sites.wait_free);
    }
    copies(destination, in);
  };
  for (std::uint32_t step = 1; step < group_.world(); ++step) {
    const std::uint32_t destination = (rank() + step) % group_.world();
    copy_to(destination, stream());
    host.signal(stream(), group_.arrived(destination, rank()), ticket(), sites.signal_arrived);
  }
  host.wait(own.stream, own.begun, sites.wait_begun);
  copy_to(rank(), own.stream);
  host.record(own.done, own.stream, sites.record_own);
}

void PeerCommunicator::copy_heads(Host& host, Stream in, const Part& part,
                                  std::uint32_t destination, std::uint32_t band, const Slot& slot) {
  const HeadChunkLayout& layout = group_.layout();
  for (std::uint32_t b = 0; b < layout.options().batch; ++b) {
    Move move = layout.scatter(part.tensor, rank(), destination, band, b)
                    .between(part.x, group_.landing(destination).buffer);
    move.to.offset += slot.index * layout.slot_bytes(destination);
    if (move.from.rows > 0) host.copy(in, scatter_name(part.tensor), move.to, move.from);
  }
}

void PeerCommunicator::gather(Host& host, std::uint32_t band, Buffer attended) {
  const HeadChunkLayout& layout = group_.layout();
  copy_to_all(host, /*free_after=*/0, [&](std::uint32_t destination, Stream in) {
    for (std::uint32_t b = 0; b < layout.options().batch; ++b) {
      const Move move = layout.gather(rank(), destination, band, b)
                            .between(attended, group_.landing(destination).buffer);
      if (move.from.rows > 0) host.copy(in, "gather", move.to, move.from);
    }
  });
}

void PeerCommunicator::arrive(Host& host) {
  for (std::uint32_t source = 0; source < group_.world(); ++source) {
    if (source == rank()) continue;
    host.wait(stream(), group_.arrived(rank(), source), ticket(), group_.sites().wait_arrived);
  }
  host.wait(stream(), group_.own(rank()).done, group_.sites().wait_own);
}

}  // namespace

PeerGroup::PeerGroup(runtime::Runtime& runtime, const HeadChunkLayout& layout,
                     std::vector<Landing> landings, std::uint64_t tickets,
                     const CommunicatorSites& sites, const std::vector<Stream>& own)
    : CommunicatorGroup(layout, std::move(landings), sites) {
  for (std::uint32_t i = 0; i < world() * world(); ++i) {
    arrived_.push_back(runtime.make_flag(tickets));
    free_.push_back(runtime.make_flag(tickets));
  }
  for (std::uint32_t rank = 0; rank < world(); ++rank) {
    const runtime::Device device{rank};
    own_.push_back({own[rank], runtime.make_event(device), runtime.make_event(device)});
  }
}

std::unique_ptr<Communicator> PeerGroup::make_end(std::uint32_t rank) const {
  return std::make_unique<PeerCommunicator>(*this, rank);
}

}  // namespace syncopate::ulysses
