#include "backend/ulysses/communicator.h"

#include <fmt/format.h>

#include <utility>

#include "backend/ulysses/error.h"

namespace syncopate::ulysses {

using runtime::Buffer;
using runtime::Host;
using runtime::Stream;

CommunicatorGroup::CommunicatorGroup(const HeadChunkLayout& layout, std::vector<Landing> landings,
                                     const CommunicatorSites& sites)
    : layout_(layout), landings_(std::move(landings)), sites_(sites) {
  if (landings_.size() == layout.world()) return;
  throw UlyssesError(Fault::kShape, fmt::format("memory of {} ranks for a layout of {}",
                                                landings_.size(), layout.world()));
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

Ticket Communicator::begin(Stream stream) {
  in_flight_ = true;
  stream_ = stream;
  return ++ticket_;
}

Ticket Communicator::begin_scatter(Host& host, Stream stream, std::uint32_t band,
                                   std::span<const Part> parts, const Slot& slot) {
  check_begin();
  const HeadChunkLayout& layout = group_.layout();
  for (std::uint32_t rank = 0; rank < layout.world(); ++rank) {
    check_landing(
        rank, slot.index * layout.slot_bytes(rank) + layout.landing(Tensor::kV, rank, band).end());
  }
  const Ticket ticket = begin(stream);
  scatter(host, band, parts, slot);
  return ticket;
}

Ticket Communicator::scatter_heads(Host& host, Stream stream, std::uint32_t band, Tensor tensor,
                                   Buffer x, const Slot& slot) {
  const Part part = {tensor, x};
  return begin_scatter(host, stream, band, std::span(&part, 1), slot);
}

Ticket Communicator::scatter_qkv_head_chunk(Host& host, Stream stream, std::uint32_t band, Buffer q,
                                            Buffer k, Buffer v, const Slot& slot) {
  const Part parts[] = {{Tensor::kQ, q}, {Tensor::kK, k}, {Tensor::kV, v}};
  return begin_scatter(host, stream, band, parts, slot);
}

Ticket Communicator::gather_output_head_chunk(Host& host, Stream stream, std::uint32_t band,
                                              Buffer attended) {
  check_begin();
  const HeadChunkLayout& layout = group_.layout();
  layout.heads(Tensor::kOutput, rank_, band);  // throws for a band that there is not
  for (std::uint32_t rank = 0; rank < layout.world(); ++rank) {
    check_landing(rank, layout.bytes(Tensor::kOutput, rank));
  }
  const Ticket ticket = begin(stream);
  gather(host, band, attended);
  return ticket;
}

void Communicator::finish(Host& host) {
  if (!in_flight_) {
    throw UlyssesError(Fault::kCollectiveInFlight,
                       fmt::format("rank {} finishes a collective that it has not begun", rank_));
  }
  arrive(host);
  in_flight_ = false;
}

}  // namespace syncopate::ulysses
