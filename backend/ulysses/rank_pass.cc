#include "backend/ulysses/rank_pass.h"

#include <iterator>
#include <span>
#include <utility>

namespace syncopate::ulysses {

using runtime::Host;
using runtime::Stream;

RankPass::RankPass(const HeadChunkLayout& layout, const Attention& attention, bool causal,
                   std::uint32_t rank, const RankBuffers& buffers, const Slots& slots,
                   std::unique_ptr<Communicator> inputs, std::unique_ptr<Communicator> outputs)
    : layout_(layout),
      attention_(attention),
      buffers_(buffers),
      slot_bytes_(layout.slot_bytes(rank)),
      inputs_(std::move(inputs)),
      outputs_(std::move(outputs)),
      last_(slots.count, 0),
      guarded_(slots.guarded) {
  bands_.reserve(layout.bands());
  for (std::uint32_t index = 0; index < layout.bands(); ++index) {
    Band& band = bands_.emplace_back();
    band.attention = attention_band(layout, rank, index, causal);
    band.q = layout.landing(Tensor::kQ, rank, index);
    band.k = layout.landing(Tensor::kK, rank, index);
    band.v = layout.landing(Tensor::kV, rank, index);
    band.output = layout.landing(Tensor::kOutput, rank, index);
  }
}

// The same in every pass: a graph of one is a graph of all.
Slot RankPass::slot_of(std::uint32_t band) const {
  const std::uint32_t index = band % slots();
  return {index, guarded_ ? last_[index] : 0};
}

void RankPass::landed(std::uint32_t band, Ticket ticket) {
  bands_[band].ticket = ticket;
  last_[band % slots()] = ticket;
}

void RankPass::scatter(Host& host, Stream stream, std::uint32_t band) {
  const Ticket ticket = inputs_->scatter_qkv_head_chunk(host, stream, band, buffers_.q, buffers_.k,
                                                        buffers_.v, slot_of(band));
  inputs_->finish(host);
  landed(band, ticket);
}

void RankPass::scatter_one_by_one(Host& host, Stream stream, std::uint32_t band) {
  Slot slot = slot_of(band);
  Ticket ticket = 0;
  const auto scatter = [&](Tensor tensor, runtime::Buffer x) {
    ticket = inputs_->scatter_heads(host, stream, band, tensor, x, slot);
    inputs_->finish(host);
    slot.last = 0;  // waited for
  };
  scatter(Tensor::kQ, buffers_.q);
  scatter(Tensor::kK, buffers_.k);
  scatter(Tensor::kV, buffers_.v);
  landed(band, ticket);
}

void RankPass::attend(Host& host, Stream stream, std::uint32_t index) {
  const Band& band = bands_[index];
  const std::uint64_t slot = index % slots() * slot_bytes_;
  const auto reads = [&](const runtime::Region& part) {
    return runtime::read(buffers_.workspace, slot + part.offset, slot + part.end());
  };
  const runtime::Access accesses[] = {
      reads(band.q), reads(band.k), reads(band.v),
      runtime::write(buffers_.attended, band.output.offset, band.output.end()),
      runtime::write(buffers_.scratch, 0, buffers_.scratch_bytes)};
  const std::size_t touched = std::size(accesses) - (buffers_.scratch ? 0 : 1);
  host.launch(stream, "attention", attention_cost(band.attention), std::span(accesses, touched),
              attention_.kernel(band.attention,
                                {buffers_.workspace, slot, buffers_.attended, buffers_.scratch}));
  if (guarded_) inputs_->release(host, stream, band.ticket);
}

void RankPass::gather(Host& host, Stream stream, std::uint32_t band) {
  outputs_->gather_output_head_chunk(host, stream, band, buffers_.attended);
  outputs_->finish(host);
}

}  // namespace syncopate::ulysses
