#include "backend/ulysses/packed_moves.h"

#include <algorithm>
#include <cstring>

namespace syncopate::ulysses {

using runtime::Buffer;
using runtime::Region;

namespace {

struct CopyRowsArgs {
  const PackedMove* moves;
  std::size_t count;
  Given given;
};

void copy_all_rows(runtime::Exec& exec, const CopyRowsArgs& args) {
  for (const PackedMove& packed : PackedMoves(args.moves, args.count)) {
    const Move move = packed.with(args.given);
    const std::byte* from = exec.data<const std::byte>(move.from.buffer) + move.from.offset;
    std::byte* to = exec.data<std::byte>(move.to.buffer) + move.to.offset;
    for (std::uint64_t row = 0; row < move.from.rows; ++row) {
      std::memcpy(to + row * move.to.pitch, from + row * move.from.pitch, move.from.width);
    }
  }
}

/// Rows without gaps, as one run.
Region flat(const Region& rows) { return Region::flat(rows.buffer, rows.offset, rows.bytes()); }

/// Hands out a rank's staging memory, where vector loads like it.
class Staging {
 public:
  explicit Staging(Buffer buffer) : buffer_(buffer) {}
  /// As rows without gaps.
  Region take(const Region& rows) {
    const Region taken = {buffer_, end_, rows.width, rows.rows, rows.width};
    constexpr std::uint64_t kUnit = HeadChunkLayout::kAlignment;
    end_ += (rows.bytes() + kUnit - 1) / kUnit * kUnit;
    return taken;
  }
  std::uint64_t end() const { return end_; }

 private:
  Buffer buffer_;
  std::uint64_t end_ = 0;
};

}  // namespace

runtime::Body copy_rows(PackedMoves moves, const Given& given) {
  return runtime::Body::of<copy_all_rows>(CopyRowsArgs{moves.data(), moves.size(), given});
}

std::uint64_t bytes_of(PackedMoves moves) {
  std::uint64_t bytes = 0;
  for (const PackedMove& move : moves) bytes += move.move.from.bytes();
  return bytes;
}

void PartedMoves::add(Tensor tensor, const PackedMove& move) {
  if (move.move.from.bytes() == 0) return;
  moves_.push_back(move);
  for (auto part = static_cast<std::size_t>(tensor) + 1; part < first_.size(); ++part) {
    first_[part] = moves_.size();
  }
}

PackedPlan::PackedPlan(const HeadChunkLayout& layout, PackedUse use,
                       std::span<const Buffer> landings, std::span<const Buffer> staging)
    : moves_(layout.world(), std::vector<BandMoves>(layout.bands())),
      staging_bytes_(layout.world(), 0) {
  for (std::uint32_t band = 0; band < layout.bands(); ++band) {
    for (std::uint32_t rank = 0; rank < layout.world(); ++rank) {
      if (use == PackedUse::kScatters) {
        add_scatter(layout, band, rank, landings, staging);
      } else {
        add_gather(layout, band, rank, landings, staging);
      }
    }
  }
  if (use == PackedUse::kGathers) return;
  // Part by part, as each source sends.
  for (std::uint32_t band = 0; band < layout.bands(); ++band) {
    for (const Tensor tensor : {Tensor::kQ, Tensor::kK, Tensor::kV}) {
      for (std::uint32_t source = 0; source < layout.world(); ++source) {
        for (PackedMove sent : moves_[source][band].sends.of(tensor)) {
          const std::uint32_t destination = sent.peer;
          sent.peer = static_cast<std::uint16_t>(source);
          moves_[destination][band].receives.add(tensor, sent);
        }
      }
    }
  }
}

void PackedPlan::add_scatter(const HeadChunkLayout& layout, std::uint32_t band,
                             std::uint32_t source, std::span<const Buffer> slots,
                             std::span<const Buffer> staging) {
  BandMoves& moves = moves_[source][band];
  Staging packed(staging[source]);
  for (const Tensor tensor : {Tensor::kQ, Tensor::kK, Tensor::kV}) {
    for (std::uint32_t step = 1; step <= layout.world(); ++step) {  // its right neighbour first
      const std::uint32_t destination = (source + step) % layout.world();
      for (std::uint32_t b = 0; b < layout.options().batch; ++b) {
        Move move =
            layout.scatter(tensor, source, destination, band, b).between({}, slots[destination]);
        const std::uint64_t slot_bytes = layout.slot_bytes(destination);
        const auto given = static_cast<std::uint8_t>(tensor);
        if (destination == source) {
          moves.relayout.add(tensor, {move, slot_bytes, given});
          continue;
        }
        const Region kept = packed.take(move.from);
        moves.relayout.add(tensor, {{move.from, kept}, 0, given});
        moves.sends.add(tensor, {{flat(kept), flat(move.to)},
                                 slot_bytes,
                                 PackedMove::kBound,
                                 static_cast<std::uint16_t>(destination)});
      }
    }
  }
  use_staging(source, packed.end());
}

void PackedPlan::add_gather(const HeadChunkLayout& layout, std::uint32_t band,
                            std::uint32_t destination, std::span<const Buffer> outputs,
                            std::span<const Buffer> staging) {
  constexpr Tensor kOnly = Tensor::kQ;  // a gather has one part
  BandMoves& moves = moves_[destination][band];
  Staging received(staging[destination]);
  for (std::uint32_t step = 1; step <= layout.world(); ++step) {
    const std::uint32_t source = (destination + step) % layout.world();
    for (std::uint32_t b = 0; b < layout.options().batch; ++b) {
      const Move move =
          layout.gather(source, destination, band, b).between({}, outputs[destination]);
      if (source == destination) {
        moves.relayout.add(kOnly, {move, 0, 0});
        continue;
      }
      const Region kept = received.take(move.from);
      PackedMove sent = {
          {flat(move.from), flat(kept)}, 0, 0, static_cast<std::uint16_t>(destination)};
      moves_[source][band].sends.add(kOnly, sent);
      sent.peer = static_cast<std::uint16_t>(source);
      moves.receives.add(kOnly, sent);
      moves.relayout.add(kOnly, {{kept, move.to}});
    }
  }
  use_staging(destination, received.end());
}

void PackedPlan::use_staging(std::uint32_t rank, std::uint64_t bytes) {
  staging_bytes_[rank] = std::max(staging_bytes_[rank], bytes);
}

}  // namespace syncopate::ulysses
