#include "backend/ulysses/benchmark/benchmark.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "backend/ulysses/benchmark/inputs.h"

namespace syncopate::ulysses {

using runtime::Device;
using runtime::Host;
using runtime::Memory;
using runtime::Region;

namespace {

constexpr std::size_t kSampledRows = 32;

HeadChunkLayout unchunked(LayoutOptions shape) {
  if (!shape.tokens.empty()) {
    shape.schedule = {shape.heads / static_cast<std::uint32_t>(shape.tokens.size())};
  }
  return HeadChunkLayout(std::move(shape));
}

HeadChunkLayout of_one_rank(const HeadChunkLayout& layout) {
  LayoutOptions alone = layout.options();
  alone.tokens = {layout.all_tokens()};
  alone.schedule = {alone.heads};
  return HeadChunkLayout(std::move(alone));
}

HeadChunkLayout layout_of(const HeadChunkLayout& whole, const BenchmarkVariant& variant) {
  if (!chunks(variant.options.strategy)) return whole;
  LayoutOptions options = whole.options();
  options.schedule = variant.schedule;
  return HeadChunkLayout(std::move(options));
}

std::vector<RankTensors> make_tensors(runtime::Runtime& runtime, const HeadChunkLayout& layout) {
  std::vector<RankTensors> ranks;
  for (std::uint32_t rank = 0; rank < layout.world(); ++rank) {
    const auto view = [&](Tensor tensor) {
      return TensorView{
          runtime.make_buffer(Device{rank}, Memory::kDevice, layout.bytes(tensor, rank),
                              fmt::format("{}{}", to_string(tensor), rank)),
          layout.shape(tensor, rank)};
    };
    ranks.push_back(
        {runtime.make_stream(Device{rank}, runtime::StreamKind::kNonBlocking, "caller"),
         view(Tensor::kQ), view(Tensor::kK), view(Tensor::kV), view(Tensor::kOutput),
         make_rank_streams(runtime, Device{rank})});  // of all variants: they take turns
  }
  return ranks;
}

/// A graph is captured in the second pass, and its launches must be right from the first to the
/// next; slots are used again from the second pass on.
std::uint32_t passes_to_check(const BenchmarkVariant& variant) {
  return variant.options.graphs ? 3 : 2;
}

}  // namespace

Benchmark::Benchmark(runtime::Runtime& runtime, const Attention& attention,
                     BenchmarkOptions options)
    : runtime_(runtime),
      options_(std::move(options)),
      attention_(attention),
      layout_(unchunked(options_.shape)),
      one_(of_one_rank(layout_)),
      one_band_(attention_band(one_, 0, 0, options_.causal)),
      ranks_(make_tensors(runtime, layout_)),
      rendezvous_(runtime, layout_.world()) {
  std::uint32_t first = 0;
  for (std::uint32_t rank = 0; rank < layout_.world(); ++rank) {
    first_token_.push_back(first);
    first += layout_.tokens(rank);
  }
  for (std::size_t i = 0; i < options_.variants.size(); ++i) {
    BenchmarkVariant& variant = options_.variants[i];
    variant.options.causal = options_.causal;
    variants_.push_back(std::make_unique<Ulysses>(runtime, layout_of(layout_, variant), attention,
                                                  variant.options, ranks_));
    entrants_.push_back({variant.name, {}, i});
  }
  if (options_.parts) {
    for (const BenchmarkVariant& variant : options_.variants) {
      division_of_.push_back(division_for(runtime, attention, variant));
    }
  }
  rotation_ = {entrants_.size(), options_.warmups, options_.iterations};
  if (!options_.check) return;

  attention.check(one_band_);
  tensors_.scratch_bytes = attention.prepare(one_band_, Device{0});
  if (tensors_.scratch_bytes > 0) {
    tensors_.scratch =
        runtime.make_buffer(Device{0}, Memory::kDevice, tensors_.scratch_bytes, "scratch_whole");
  }
  tensors_.whole = runtime.make_buffer(Device{0}, Memory::kDevice, one_.slot_bytes(0), "whole");
  tensors_.attended =
      runtime.make_buffer(Device{0}, Memory::kDevice, one_.attended_bytes(), "attended_whole");
  tensors_.expected =
      runtime.make_buffer(Device{0}, Memory::kPinned, one_.attended_bytes(), "expected");
  for (std::uint32_t rank = 0; rank < layout_.world(); ++rank) {
    tensors_.outputs.push_back(runtime.make_buffer(Device{rank}, Memory::kPinned,
                                                   layout_.bytes(Tensor::kOutput, rank),
                                                   fmt::format("host_output{}", rank)));
  }
  rows_ = sample_rows(one_, kSampledRows, options_.seed);
  differences_.resize(variants_.size() * layout_.world());
  oracle_.resize(layout_.world());
}

/// Where a variant's stands in divisions_; new ones are added, with their parts.
std::size_t Benchmark::division_for(runtime::Runtime& runtime, const Attention& attention,
                                    const BenchmarkVariant& variant) {
  const HeadChunkLayout layout = layout_of(layout_, variant);
  const Division division = {layout.options().schedule, variant.options.transport};
  const auto found = std::ranges::find(divisions_, division);
  if (found != divisions_.end()) return static_cast<std::size_t>(found - divisions_.begin());
  divisions_.push_back(division);
  UlyssesOptions options = variant.options;
  options.strategy = StrategyKind::kChunkOverlap;  // a slot for each band
  options.slots = 0;
  options.graphs = false;
  options.workspace = WorkspaceUse::kReuse;
  parts_.push_back(std::make_unique<Ulysses>(runtime, layout, attention, options, ranks_));
  add_parts(divisions_.size() - 1);
  return divisions_.size() - 1;
}

void Benchmark::add_parts(std::size_t division) {
  const auto& [schedule, transport] = divisions_[division];
  const std::string of =
      fmt::format("{}{}", fmt::join(schedule, "+"),
                  transport == Transport::kPeer ? "" : fmt::format(" {}", to_string(transport)));
  const auto add = [&](Part part) {
    entrants_.push_back({fmt::format("{} {}", to_string(part), of), part, division});
  };
  for (const Part part : {Part::kInput, Part::kAttention, Part::kOutput}) add(part);
  if (schedule.size() == 1) return;  // its first and last are all of them
  for (const Part part : {Part::kFirstInput, Part::kLastOutput}) add(part);
}

void Benchmark::run(Host& host) {
  prepare(host);
  if (options_.check) {
    check(host);
    // Every host sees the same differences, and all leave.
    if (const std::string wrong = what_is_wrong(); !wrong.empty()) {
      if (host.device().id == 0) throw MismatchError(wrong);
      return;
    }
  }
  time(host);
}

void Benchmark::fill(Host& host, runtime::Buffer buffer, Tensor tensor, std::uint64_t offset,
                     const HeadChunkLayout& layout, std::uint32_t rank, std::uint32_t first_token) {
  const TensorShape shape = layout.shape(tensor, rank);
  InputPart part;
  part.buffer = buffer;
  part.type = layout.options().type;
  part.tensor = tensor;
  part.batch = shape.batch;
  part.tokens = shape.tokens;
  part.row = shape.heads * shape.head_dim;
  part.first_token = first_token;
  part.all_tokens = layout.all_tokens();
  part.offset = offset;
  part.seed = options_.seed;
  if (part.bytes() == 0) return;
  const runtime::Access writes[] = {runtime::write(buffer, offset, offset + part.bytes())};
  host.launch(ranks_[host.device().id].caller, "fill", {}, writes, fill_kernel(part));
}

void Benchmark::prepare(Host& host) {
  const std::uint32_t rank = host.device().id;
  const RankTensors& mine = ranks_[rank];
  fill(host, mine.q.buffer, Tensor::kQ, 0, layout_, rank, first_token_[rank]);
  fill(host, mine.k.buffer, Tensor::kK, 0, layout_, rank, first_token_[rank]);
  fill(host, mine.v.buffer, Tensor::kV, 0, layout_, rank, first_token_[rank]);
  rendezvous_.meet(host, mine.caller);
}

void Benchmark::compute_expected(Host& host) {
  const runtime::Stream stream = ranks_[0].caller;
  for (const Tensor tensor : {Tensor::kQ, Tensor::kK, Tensor::kV}) {
    fill(host, tensors_.whole, tensor, one_.landing(tensor, 0, 0).offset, one_, 0, 0);
  }
  const std::uint64_t bytes = one_.attended_bytes();
  const runtime::Access accesses[] = {runtime::read(tensors_.whole, 0, one_.slot_bytes(0)),
                                      runtime::write(tensors_.attended, 0, bytes),
                                      runtime::write(tensors_.scratch, 0, tensors_.scratch_bytes)};
  const std::size_t touched = std::size(accesses) - (tensors_.scratch ? 0 : 1);
  host.launch(
      stream, "attention_of_one", attention_cost(one_band_), std::span(accesses, touched),
      attention_.kernel(one_band_, {tensors_.whole, 0, tensors_.attended, tensors_.scratch}));
  host.copy(stream, "d2h_expected", Region::flat(tensors_.expected, 0, bytes),
            Region::flat(tensors_.attended, 0, bytes));
}

void Benchmark::check(Host& host) {
  const std::uint32_t rank = host.device().id;
  if (rank == 0) compute_expected(host);
  rendezvous_.meet(host, ranks_[rank].caller);

  const runtime::Access reads[] = {runtime::read(tensors_.expected, 0, one_.attended_bytes())};
  host.span("check_rows", reads, [&] {
    const std::byte* whole = runtime_.host_data(tensors_.expected);
    for (std::size_t i = rank; i < rows_.size(); i += layout_.world()) {
      compare_row(oracle_[rank], one_, rows_[i], whole,
                  attend_row(one_, rows_[i], options_.causal, options_.seed));
    }
    return runtime::Cost{};
  });
  for (std::size_t i = 0; i < variants_.size(); ++i) check_variant(host, i);
  rendezvous_.meet(host, ranks_[rank].caller);
  if (rank == 0) checked_ = true;
}

void Benchmark::check_variant(Host& host, std::size_t variant) {
  const std::uint32_t rank = host.device().id;
  const RankTensors& mine = ranks_[rank];
  const std::uint64_t bytes = layout_.bytes(Tensor::kOutput, rank);
  const runtime::Access writes[] = {runtime::write(mine.output.buffer, 0, bytes)};
  for (std::uint32_t pass = 0; pass < passes_to_check(options_.variants[variant]); ++pass) {
    if (bytes > 0) {
      host.launch(mine.caller, "poison", {}, writes, poison_kernel(mine.output.buffer, bytes));
    }
    variants_[variant]->pass(host);
  }
  if (bytes == 0) return;
  const runtime::Buffer output = tensors_.outputs[rank];
  host.copy(mine.caller, "d2h_output", Region::flat(output, 0, bytes),
            Region::flat(mine.output.buffer, 0, bytes));
  host.synchronize(mine.caller, "benchmark.block_output");

  const std::uint64_t row = std::uint64_t{options_.shape.heads} * options_.shape.head_dim;
  const std::uint64_t count = layout_.tokens(rank) * row;
  const std::uint32_t width = element_bytes(options_.shape.type);
  const runtime::Access reads[] = {runtime::read(output, 0, bytes),
                                   runtime::read(tensors_.expected, 0, one_.attended_bytes())};
  host.span("compare", reads, [&] {
    for (std::uint64_t b = 0; b < options_.shape.batch; ++b) {
      const std::uint64_t first = (b * layout_.all_tokens() + first_token_[rank]) * row;
      compare(differences_[variant * layout_.world() + rank], options_.shape.type,
              runtime_.host_data(output) + b * count * width,
              runtime_.host_data(tensors_.expected) + first * width, count, first);
    }
    return runtime::Cost{};
  });
}

std::string Benchmark::place(const Difference& difference) const {
  const std::uint64_t dim = options_.shape.head_dim;
  const std::uint64_t row = difference.element / dim;
  const std::uint64_t token = row / options_.shape.heads;
  return fmt::format("batch {}, token {}, head {}, element {} is {} and should be {} (within {})",
                     token / layout_.all_tokens(), token % layout_.all_tokens(),
                     row % options_.shape.heads, difference.element % dim, difference.got,
                     difference.expected, options_.tolerance);
}

std::string Benchmark::what_is_wrong() const {
  if (const Difference worst = oracle_check(); !(worst.largest <= options_.tolerance)) {
    return fmt::format("the attention of one device is wrong: {}", place(worst));
  }
  for (std::size_t variant = 0; variant < variants_.size(); ++variant) {
    const VariantCheck worst = check_of(variant);
    if (worst.difference.largest <= options_.tolerance) continue;
    return fmt::format("variant '{}' is wrong at rank {}: {}", options_.variants[variant].name,
                       worst.rank, place(worst.difference));
  }
  return "";
}

VariantCheck Benchmark::check_of(std::size_t variant) const {
  VariantCheck worst;
  for (std::uint32_t rank = 0; rank < layout_.world(); ++rank) {
    const Difference& there = differences_[variant * layout_.world() + rank];
    if (there.largest > worst.difference.largest) worst = {rank, there};
  }
  return worst;
}

Difference Benchmark::oracle_check() const {
  return *std::ranges::max_element(oracle_, {}, &Difference::largest);
}

void Benchmark::time(Host& host) {
  const std::uint32_t rank = host.device().id;
  const runtime::Stream caller = ranks_[rank].caller;
  const runtime::Kernel mark = mark_kernel();
  for (std::size_t step = 0; step < rotation_.steps(); ++step) {
    rendezvous_.meet(host, caller);
    if (rank == 0 && options_.on_step) options_.on_step(step);
    host.set_step(static_cast<std::int32_t>(step));
    host.launch(caller, kBeginMark, {}, {}, mark);
    enqueue(host, entrants_[rotation_.entrant(step)]);
    host.launch(caller, kEndMark, {}, {}, mark);
    host.set_step(runtime::kNoStep);
  }
  rendezvous_.meet(host, caller);
}

void Benchmark::enqueue(Host& host, const Entrant& entrant) {
  if (entrant.part) {
    parts_[entrant.of]->part(host, *entrant.part);
  } else {
    variants_[entrant.of]->pass(host);
  }
}

}  // namespace syncopate::ulysses
