#include "backend/ulysses/head_chunk_layout.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "backend/ulysses/error.h"

namespace syncopate::ulysses {

using runtime::Region;

namespace {

constexpr Tensor kInputs[] = {Tensor::kQ, Tensor::kK, Tensor::kV};

std::uint64_t aligned(std::uint64_t bytes) {
  constexpr std::uint64_t kUnit = HeadChunkLayout::kAlignment;
  return (bytes + kUnit - 1) / kUnit * kUnit;
}

std::string text_of(const TensorShape& shape) {
  return fmt::format("[{}, {}, {}, {}]", shape.batch, shape.tokens, shape.heads, shape.head_dim);
}

void check_sizes(const LayoutOptions& options) {
  const auto world = static_cast<std::uint32_t>(options.tokens.size());
  const std::pair<const char*, std::uint32_t> sizes[] = {{"ranks", world},
                                                         {"a batch", options.batch},
                                                         {"heads", options.heads},
                                                         {"K/V heads", options.kv_heads},
                                                         {"a head dimension", options.head_dim}};
  for (const auto& [what, size] : sizes) {
    if (size == 0) throw UlyssesError(Fault::kEmpty, fmt::format("a layout without {}", what));
  }
  if (options.heads % world != 0) {
    throw UlyssesError(Fault::kHeadsNotDivisible,
                       fmt::format("{} heads do not divide among {} ranks", options.heads, world));
  }
  if (options.heads % options.kv_heads != 0) {
    throw UlyssesError(Fault::kKvHeadsDoNotDivide,
                       fmt::format("{} query heads do not divide among {} K/V heads", options.heads,
                                   options.kv_heads));
  }
}

void check_schedule(const LayoutOptions& options, std::uint32_t local_heads) {
  std::uint32_t offset = 0;
  for (std::size_t band = 0; band < options.schedule.size(); ++band) {
    const std::uint32_t count = options.schedule[band];
    if (count == 0) {
      throw UlyssesError(Fault::kEmptyBand, fmt::format("band {} has no heads", band));
    }
    if (count > local_heads - offset) {
      throw UlyssesError(Fault::kBandPastLocalHeads,
                         fmt::format("band {} takes {} heads from head {} on, of {} a rank", band,
                                     count, offset, local_heads));
    }
    offset += count;
  }
  if (offset != local_heads) {
    throw UlyssesError(Fault::kScheduleIncomplete,
                       fmt::format("the bands {} have {} heads together, a rank has {}",
                                   options.schedule, offset, local_heads));
  }
}

// Offsets are 64-bit, and accesses of rows have 32-bit pitches (runtime::Access).
void check_range(const LayoutOptions& options, std::uint64_t tokens) {
  __extension__ using Wide = unsigned __int128;
  const Wide row = Wide{options.heads} * options.head_dim * element_bytes(options.type);
  // Q, K, V in one buffer, and their alignment.
  const Wide most = row * options.batch * tokens * 3 + 4 * HeadChunkLayout::kAlignment;
  if (tokens > std::numeric_limits<std::uint32_t>::max() ||
      row > std::numeric_limits<std::uint32_t>::max() ||
      most > std::numeric_limits<std::int64_t>::max()) {
    throw UlyssesError(
        Fault::kTooLarge,
        fmt::format("{} sequences of {} tokens, {} heads of {} elements of {} bytes: more than "
                    "offsets can count",
                    options.batch, tokens, options.heads, options.head_dim,
                    element_bytes(options.type)));
  }
}

}  // namespace

const char* to_string(Tensor tensor) {
  switch (tensor) {
    case Tensor::kQ:
      return "Q";
    case Tensor::kK:
      return "K";
    case Tensor::kV:
      return "V";
    case Tensor::kOutput:
      return "output";
  }
  return "?";
}

std::vector<std::uint32_t> split_evenly(std::uint32_t total, std::uint32_t ranks) {
  std::vector<std::uint32_t> tokens(ranks, ranks == 0 ? 0 : total / ranks);
  for (std::uint32_t rank = 0; ranks != 0 && rank < total % ranks; ++rank) ++tokens[rank];
  return tokens;
}

HeadChunkLayout::HeadChunkLayout(LayoutOptions options) : options_(std::move(options)) {
  check_sizes(options_);
  const std::uint64_t tokens =
      std::accumulate(options_.tokens.begin(), options_.tokens.end(), std::uint64_t{0});
  if (tokens == 0) {
    throw UlyssesError(Fault::kSequenceSplit, "no rank of the split has any tokens");
  }
  check_range(options_, tokens);
  check_schedule(options_, local_heads());

  first_token_.reserve(world() + 1);
  first_token_.push_back(0);
  for (const std::uint32_t count : options_.tokens) {
    first_token_.push_back(first_token_.back() + count);
  }
  first_head_.reserve(bands());
  attended_offset_.reserve(bands() + 1);
  attended_offset_.push_back(0);
  const std::uint64_t head_bytes = std::uint64_t{options_.batch} * all_tokens() *
                                   options_.head_dim * element_bytes(options_.type);
  std::uint32_t head = 0;
  for (const std::uint32_t count : options_.schedule) {
    first_head_.push_back(head);
    head += count;
    attended_offset_.push_back(attended_offset_.back() + aligned(count * head_bytes));
  }
  slot_bytes_.assign(world(), 0);
  for (std::uint32_t rank = 0; rank < world(); ++rank) {
    for (std::uint32_t band = 0; band < bands(); ++band) {
      const std::uint64_t end = aligned(landing(Tensor::kV, rank, band).end());
      slot_bytes_[rank] = std::max(slot_bytes_[rank], end);
    }
  }
}

HeadChunkLayout HeadChunkLayout::whole() const {
  LayoutOptions options = options_;
  options.schedule = {local_heads()};
  return HeadChunkLayout(std::move(options));
}

TensorShape HeadChunkLayout::shape(Tensor tensor, std::uint32_t rank) const {
  const bool kv = tensor == Tensor::kK || tensor == Tensor::kV;
  return {options_.batch, tokens(rank), kv ? options_.kv_heads : options_.heads, options_.head_dim};
}

std::uint64_t HeadChunkLayout::bytes(Tensor tensor, std::uint32_t rank) const {
  const TensorShape s = shape(tensor, rank);
  return std::uint64_t{s.batch} * s.tokens * s.heads * s.head_dim * element_bytes(options_.type);
}

void HeadChunkLayout::check(Tensor tensor, std::uint32_t rank, const TensorShape& given) const {
  check_place(rank, 0);
  const TensorShape expected = shape(tensor, rank);
  if (given == expected) return;
  throw UlyssesError(Fault::kShape,
                     fmt::format("{} of rank {} is {}, the layout says {}", to_string(tensor), rank,
                                 text_of(given), text_of(expected)));
}

void HeadChunkLayout::check_place(std::uint32_t rank, std::uint32_t band) const {
  if (rank < world() && band < bands()) return;
  throw UlyssesError(Fault::kNoSuchBand,
                     fmt::format("band {} of rank {}, in a layout of {} bands and {} ranks", band,
                                 rank, bands(), world()));
}

HeadRange HeadChunkLayout::heads(Tensor tensor, std::uint32_t rank, std::uint32_t band) const {
  check_place(rank, band);
  const std::uint32_t first = rank * local_heads() + first_head_[band];
  const std::uint32_t count = options_.schedule[band];
  if (tensor == Tensor::kQ || tensor == Tensor::kOutput) return {first, count};
  const std::uint32_t group = query_heads_per_kv_head();
  const std::uint32_t first_kv = first / group;
  return {first_kv, (first + count - 1) / group - first_kv + 1};
}

Region HeadChunkLayout::landing(Tensor tensor, std::uint32_t rank, std::uint32_t band) const {
  const std::uint64_t head_bytes = std::uint64_t{options_.batch} * all_tokens() *
                                   options_.head_dim * element_bytes(options_.type);
  const std::uint64_t bytes = heads(tensor, rank, band).count * head_bytes;
  const std::uint64_t q = aligned(options_.schedule[band] * head_bytes);
  switch (tensor) {
    case Tensor::kQ:
      return Region::flat({}, 0, bytes);
    case Tensor::kK:
      return Region::flat({}, q, bytes);
    case Tensor::kV:
      return Region::flat({}, q + aligned(bytes), bytes);
    case Tensor::kOutput:
      return Region::flat({}, attended_offset_[band], bytes);
  }
  return {};
}

Move HeadChunkLayout::scatter(Tensor tensor, std::uint32_t source, std::uint32_t destination,
                              std::uint32_t band, std::uint32_t batch) const {
  check_place(source, band);
  const HeadRange moved = heads(tensor, destination, band);
  const std::uint64_t head = std::uint64_t{options_.head_dim} * element_bytes(options_.type);
  const std::uint64_t width = moved.count * head;
  const std::uint64_t pitch = shape(tensor, source).heads * head;
  const std::uint64_t rows = tokens(source);
  Move move;
  move.from = {{}, batch * rows * pitch + moved.first * head, width, rows, pitch};
  move.to = {{},
             landing(tensor, destination, band).offset +
                 (std::uint64_t{batch} * all_tokens() + first_token_[source]) * width,
             width,
             rows,
             width};
  return move;
}

Move HeadChunkLayout::gather(std::uint32_t source, std::uint32_t destination, std::uint32_t band,
                             std::uint32_t batch) const {
  check_place(destination, band);
  const HeadRange moved = heads(Tensor::kOutput, source, band);
  const std::uint64_t head = std::uint64_t{options_.head_dim} * element_bytes(options_.type);
  const std::uint64_t width = moved.count * head;
  const std::uint64_t pitch = options_.heads * head;
  const std::uint64_t rows = tokens(destination);
  Move move;
  move.from = {{},
               attended_offset_[band] +
                   (std::uint64_t{batch} * all_tokens() + first_token_[destination]) * width,
               width,
               rows,
               width};
  move.to = {{}, batch * rows * pitch + moved.first * head, width, rows, pitch};
  return move;
}

Traffic HeadChunkLayout::traffic(std::uint32_t rank) const {
  Traffic sent;
  for (std::uint32_t other = 0; other < world(); ++other) {
    if (other == rank) continue;
    for (std::uint32_t band = 0; band < bands(); ++band) {
      for (const Tensor tensor : kInputs) {
        sent.qkv += options_.batch * scatter(tensor, rank, other, band, 0).from.bytes();
      }
      sent.output += options_.batch * gather(rank, other, band, 0).from.bytes();
    }
  }
  return sent;
}

std::string HeadChunkLayout::explain() const {
  std::string text = fmt::format(
      "{} ranks with {} tokens of {}, batch {}; {} query heads of {} elements ({} a rank), {} K/V "
      "heads\n",
      world(), options_.tokens, all_tokens(), options_.batch, options_.heads, options_.head_dim,
      local_heads(), options_.kv_heads);
  for (std::uint32_t rank = 0; rank < world(); ++rank) {
    text += fmt::format("rank {}:", rank);
    std::uint32_t next_kv = 0;
    for (std::uint32_t band = 0; band < bands(); ++band) {
      const HeadRange q = heads(Tensor::kQ, rank, band);
      const HeadRange kv = heads(Tensor::kK, rank, band);
      text += fmt::format("{} band {} has heads {}..{} and K/V heads {}..{}", band == 0 ? "" : ";",
                          band, q.first, q.first + q.count - 1, kv.first, kv.first + kv.count - 1);
      if (band > 0 && kv.first < next_kv) text += fmt::format(" ({} once more)", kv.first);
      next_kv = kv.first + kv.count;
    }
    const Traffic sent = traffic(rank);
    text += fmt::format("; sends {} bytes of Q, K, V and {} of output\n", sent.qkv, sent.output);
  }
  return text;
}

}  // namespace syncopate::ulysses
