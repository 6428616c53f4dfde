// The benchmark: variants of a pass on the same tensors, and parts of passes alone, taking turns in
// one run; before that, each variant's output against an attention of one device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/runtime/error.h"
#include "backend/runtime/host.h"
#include "backend/runtime/runtime.h"
#include "backend/ulysses/benchmark/comparison.h"
#include "backend/ulysses/benchmark/rotation.h"
#include "backend/ulysses/benchmark/sampled_rows.h"
#include "backend/ulysses/parts.h"
#include "backend/ulysses/rendezvous.h"
#include "backend/ulysses/ulysses.h"

namespace syncopate::ulysses {

/// A variant's output, or the attention that it is held against, is not what it should be.
class MismatchError : public runtime::Error {
  using Error::Error;
};

struct BenchmarkVariant {
  std::string name;
  UlyssesOptions options;               ///< `causal` is the benchmark's.
  std::vector<std::uint32_t> schedule;  ///< Of strategies that chunk.
};

struct BenchmarkOptions {
  LayoutOptions shape;  ///< Without a schedule.
  bool causal = false;
  std::vector<BenchmarkVariant> variants;
  std::uint32_t warmups = 3;
  std::uint32_t iterations = 30;
  bool parts = true;  ///< Whether parts of passes alone take part as well.
  bool check = true;
  double tolerance = 0.02;  ///< Absolute.
  std::uint64_t seed = 1;   ///< Of the inputs.
  /// Called by rank 0's host with the number of steps done: keep it short.
  std::function<void(std::size_t steps)> on_step = {};
};

/// One that takes part in the rotation.
struct Entrant {
  std::string name;
  std::optional<Part> part;  ///< None: a whole pass.
  std::size_t of = 0;        ///< The variant, or for a part the division that it is of.
};

/// Bands, and what moves them.
struct Division {
  std::vector<std::uint32_t> schedule;
  Transport transport = Transport::kPeer;
  friend bool operator==(const Division&, const Division&) = default;
};

/// How a variant's output compares, at the rank where it is worst.
struct VariantCheck {
  std::uint32_t rank = 0;
  Difference difference;  ///< Elements are numbered through the output of all ranks.
};

/// Use: Benchmark b(runtime, attention, options); b.run(host) as the main of every rank; then
/// samples(timeline, b.rotation()) (samples.h).
///
/// A step is one entrant's turn. Before it the ranks meet and their hosts wait for all that was
/// enqueued, so that the time which the host takes to enqueue counts. Two operations without work
/// in the caller's stream, kBeginMark and kEndMark, mark it.
class Benchmark {
 public:
  static constexpr runtime::Name kBeginMark = "pass_begin";
  static constexpr runtime::Name kEndMark = "pass_end";

  /// Makes everything. `attention` must outlive the run. Throws as Ulysses does.
  Benchmark(runtime::Runtime& runtime, const Attention& attention, BenchmarkOptions options);
  Benchmark(const Benchmark&) = delete;
  Benchmark& operator=(const Benchmark&) = delete;

  /// The main of a rank. Throws MismatchError, at rank 0, before anything is timed.
  void run(runtime::Host& host);

  const Rotation& rotation() const { return rotation_; }
  /// All of them, in the order of an iteration that is not rotated: the variants first.
  const std::vector<Entrant>& entrants() const { return entrants_; }
  const BenchmarkOptions& options() const { return options_; }
  // Where parts take part:

  /// A variant's: Entrant::of of its parts.
  std::size_t division_of(std::size_t variant) const { return division_of_[variant]; }
  /// What parts are measured for: each division of heads and each transport of a variant, once.
  const std::vector<Division>& divisions() const { return divisions_; }
  std::uint64_t workspace_bytes(std::size_t variant, std::uint32_t rank) const {
    return variants_[variant]->workspace_bytes(rank);
  }
  Traffic traffic(std::size_t variant, std::uint32_t rank) const {
    return variants_[variant]->layout().traffic(rank);
  }

  // After the run, if it came to have checked every variant.

  bool checked() const { return checked_; }
  VariantCheck check_of(std::size_t variant) const;
  /// The attention of one device against rows in double precision.
  Difference oracle_check() const;

 private:
  /// What the check needs.
  struct Tensors {
    // At rank 0: q, k and v of the whole sequence, its attention, what that asks for (may be none).
    runtime::Buffer whole, attended, scratch;
    std::uint64_t scratch_bytes = 0;
    runtime::Buffer expected;              // the attention of the whole sequence, on the host
    std::vector<runtime::Buffer> outputs;  // by rank: its output, on the host
  };

  std::size_t division_for(runtime::Runtime& runtime, const Attention& attention,
                           const BenchmarkVariant& variant);
  void add_parts(std::size_t division);
  void prepare(runtime::Host& host);
  void fill(runtime::Host& host, runtime::Buffer buffer, Tensor tensor, std::uint64_t offset,
            const HeadChunkLayout& layout, std::uint32_t rank, std::uint32_t first_token);
  void check(runtime::Host& host);
  void compute_expected(runtime::Host& host);
  void check_variant(runtime::Host& host, std::size_t variant);
  std::string what_is_wrong() const;
  std::string place(const Difference& difference) const;
  void time(runtime::Host& host);
  void enqueue(runtime::Host& host, const Entrant& entrant);

  const runtime::Runtime& runtime_;
  BenchmarkOptions options_;
  const Attention& attention_;
  HeadChunkLayout layout_;  // unchunked
  HeadChunkLayout one_;     // of one rank
  AttentionBand one_band_;
  std::vector<std::uint32_t> first_token_;  // by rank
  std::vector<RankTensors> ranks_;
  Tensors tensors_;
  Rendezvous rendezvous_;
  std::vector<std::unique_ptr<Ulysses>> variants_;
  std::vector<std::size_t> division_of_;  // by variant
  std::vector<Division> divisions_;
  std::vector<std::unique_ptr<Ulysses>> parts_;  // by division
  std::vector<Entrant> entrants_;
  Rotation rotation_;
  std::vector<SampledRow> rows_;
  std::vector<Difference> differences_;  // by variant, then rank
  std::vector<Difference> oracle_;       // by rank
  bool checked_ = false;
};

}  // namespace syncopate::ulysses
