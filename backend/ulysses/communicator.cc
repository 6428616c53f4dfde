#include "backend/ulysses/communicator.h"

#include <fmt/format.h>

#include <utility>

#include "backend/ulysses/error.h"

namespace syncopate::ulysses {

using runtime::Buffer;
using runtime::Host;
using runtime::Stream;

namespace {

runtime::Name scatter_name(Tensor tensor) {
  return tensor == Tensor::kQ ? "scatter_q" : tensor == Tensor::kK ? "scatter_k" : "scatter_v";
}

}  // namespace

CommunicatorGroup::CommunicatorGroup(runtime::Runtime& runtime, std::vector<Landing> landings,
                                     std::uint64_t tickets, const CommunicatorSites& sites)
    : landings_(std::move(landings)), sites_(sites) {
  for (std::size_t i = 0; i < landings_.size() * landings_.size(); ++i) {
    arrived_.push_back(runtime.make_flag(tickets));
    free_.push_back(runtime.make_flag(tickets));
  }
  for (std::uint32_t rank = 0; rank < world(); ++rank) {
    const runtime::Device device{rank};
    own_.push_back({runtime.make_stream(device, runtime::StreamKind::kNonBlocking, "own"),
                    runtime.make_event(device), runtime.make_event(device)});
  }
}

// Every rank begins with its right neighbour, so that no two copy to one rank at the same time.
template <class Copies>
Ticket Communicator::begin(Host& host, Stream stream, Ticket free_after, Copies&& copies) {
  const CommunicatorSites& sites = group_.sites();
  const OwnPart& own = group_.own(rank_);
  const Ticket ticket = ++ticket_;
  in_flight_ = true;
  stream_ = stream;
  host.record(own.begun, stream, sites.record_begun);
  const auto copy_to = [&](std::uint32_t destination, Stream in) {
    if (free_after > 0) host.wait(in, group_.free(destination, rank_), free_after, sites.wait_free);
    copies(destination, in);
  };
  for (std::uint32_t step = 1; step < group_.world(); ++step) {
    const std::uint32_t destination = (rank_ + step) % group_.world();
    copy_to(destination, stream);
    host.signal(stream, group_.arrived(destination, rank_), ticket, sites.signal_arrived);
  }
  host.wait(own.stream, own.begun, sites.wait_begun);
  copy_to(rank_, own.stream);
  host.record(own.done, own.stream, sites.record_own);
  return ticket;
}

void Communicator::check_begin() const {
  if (!in_flight_) return;
  throw UlyssesError(
      Fault::kCollectiveInFlight,
      fmt::format("rank {} begins a collective before it has finished number {}", rank_, ticket_));
}

void Communicator::check_landing(std::uint32_t rank, std::uint64_t needed) const {
  const std::uint64_t has = group_.landing(rank).bytes;
  if (needed <= has) return;
  throw UlyssesError(Fault::kWorkspaceTooSmall,
                     fmt::format("what lands at rank {} needs {} bytes, the memory there has {}",
                                 rank, needed, has));
}

void Communicator::check_scatter(const HeadChunkLayout& layout, std::uint32_t band,
                                 const Slot& slot) const {
  check_begin();
  for (std::uint32_t rank = 0; rank < group_.world(); ++rank) {
    check_landing(
        rank, slot.index * layout.slot_bytes(rank) + layout.landing(Tensor::kV, rank, band).end());
  }
}

void Communicator::copy_heads(Host& host, Stream stream, const HeadChunkLayout& layout,
                              Tensor tensor, Buffer x, std::uint32_t destination,
                              std::uint32_t band, const Slot& slot) {
  for (std::uint32_t b = 0; b < layout.options().batch; ++b) {
    Move move = layout.scatter(tensor, rank_, destination, band, b)
                    .between(x, group_.landing(destination).buffer);
    move.to.offset += slot.index * layout.slot_bytes(destination);
    if (move.from.rows > 0) host.copy(stream, scatter_name(tensor), move.to, move.from);
  }
}

Ticket Communicator::scatter_heads(Host& host, Stream stream, const HeadChunkLayout& layout,
                                   std::uint32_t band, Tensor tensor, Buffer x, const Slot& slot) {
  check_scatter(layout, band, slot);
  return begin(host, stream, slot.last, [&](std::uint32_t destination, Stream in) {
    copy_heads(host, in, layout, tensor, x, destination, band, slot);
  });
}

Ticket Communicator::scatter_qkv_head_chunk(Host& host, Stream stream,
                                            const HeadChunkLayout& layout, std::uint32_t band,
                                            Buffer q, Buffer k, Buffer v, const Slot& slot) {
  check_scatter(layout, band, slot);
  return begin(host, stream, slot.last, [&](std::uint32_t destination, Stream in) {
    copy_heads(host, in, layout, Tensor::kQ, q, destination, band, slot);
    copy_heads(host, in, layout, Tensor::kK, k, destination, band, slot);
    copy_heads(host, in, layout, Tensor::kV, v, destination, band, slot);
  });
}

Ticket Communicator::gather_output_head_chunk(Host& host, Stream stream,
                                              const HeadChunkLayout& layout, std::uint32_t band,
                                              Buffer attended) {
  check_begin();
  for (std::uint32_t rank = 0; rank < group_.world(); ++rank) {
    check_landing(rank, layout.bytes(Tensor::kOutput, rank));
  }
  return begin(host, stream, /*free_after=*/0, [&](std::uint32_t destination, Stream in) {
    for (std::uint32_t b = 0; b < layout.options().batch; ++b) {
      const Move move = layout.gather(rank_, destination, band, b)
                            .between(attended, group_.landing(destination).buffer);
      if (move.from.rows > 0) host.copy(in, "gather", move.to, move.from);
    }
  });
}

void Communicator::finish(Host& host) {
  if (!in_flight_) {
    throw UlyssesError(Fault::kCollectiveInFlight,
                       fmt::format("rank {} finishes a collective that it has not begun", rank_));
  }
  for (std::uint32_t source = 0; source < group_.world(); ++source) {
    if (source == rank_) continue;
    host.wait(stream_, group_.arrived(rank_, source), ticket_, group_.sites().wait_arrived);
  }
  host.wait(stream_, group_.own(rank_).done, group_.sites().wait_own);
  in_flight_ = false;
}

void Communicator::release(Host& host, Stream stream, Ticket ticket) {
  for (std::uint32_t source = 0; source < group_.world(); ++source) {
    host.signal(stream, group_.free(rank_, source), ticket, group_.sites().signal_free);
  }
}

}  // namespace syncopate::ulysses
