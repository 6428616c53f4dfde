// CostModel: a hardware profile in nanoseconds, ready to be charged.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "backend/runtime/cost.h"
#include "backend/runtime/timeline.h"
#include "sim/fluid.h"
#include "sim/profile.h"
#include "sim/random.h"
#include "sim/sim_engine.h"

namespace syncopate::sim {

/// The directions that have a copy engine of their own, on each device.
enum class CopyEngine : std::uint8_t { kH2D, kD2H, kD2D, kPeer };
inline constexpr std::size_t kCopyEngines = 4;

CopyEngine copy_engine_of(runtime::OperationKind kind);

/// Durations of operations are drawn from one random stream per host, in the order of that host's
/// calls: they do not depend on how hosts take turns. Not thread-safe.
class CostModel {
 public:
  /// Throws UsageError when a number of the profile has no meaning.
  CostModel(const HardwareProfile& profile, const SimOptions& options, int hosts);

  struct Calls {
    runtime::Nanos kernel_launch, graph_launch, copy, record, wait, signal, query, synchronize,
        wake;
  };
  const Calls& calls() const { return calls_; }
  runtime::Nanos graph_launch(std::size_t nodes) const {
    return calls_.graph_launch + round(graph_launch_per_node_ * static_cast<double>(nodes));
  }
  runtime::Nanos renew(std::uint64_t bytes) const {
    return round(renew_ + renew_per_byte_ * static_cast<double>(bytes));
  }
  runtime::Nanos launch_latency() const { return launch_latency_; }
  runtime::Nanos handover() const { return handover_; }
  std::uint32_t queue_depth() const { return queue_depth_; }
  runtime::Nanos graph_start_latency() const { return graph_start_latency_; }
  runtime::Nanos node_gap() const { return node_gap_; }

  const Demand& demand(runtime::Work work) const {
    return demands_[static_cast<std::size_t>(work)];
  }

  // Nominal durations: what the profile says.
  runtime::Nanos kernel(const runtime::Cost& cost) const;
  runtime::Nanos copy(CopyEngine engine, std::uint64_t bytes, bool pageable) const;
  runtime::Nanos span(const runtime::Cost& cost) const;

  /// Whether any kind of kernel takes longer after a pause.
  bool pauses_count() const { return pauses_count_; }
  /// What a kernel takes more that starts this long, above 0, after the last one of its kind.
  runtime::Nanos after_pause(runtime::Work work, runtime::Nanos pause) const {
    const PauseTerms& terms = pauses_[static_cast<std::size_t>(work)];
    return pause >= terms.full
               ? terms.added
               : round(static_cast<double>(terms.added) *
                       (static_cast<double>(pause) / static_cast<double>(terms.full)));
  }

  /// What a nominal duration becomes this time: itself, or with jitter, or chaos in its place.
  runtime::Nanos draw(int host, runtime::Nanos nominal) {
    return exact_ ? nominal : draw_slowly(host, nominal);
  }

 private:
  struct KernelTerms {
    double base, per_row, per_token, per_kv_token, per_pair, per_byte;
    std::optional<WaveCost> waves;
  };
  struct PauseTerms {
    runtime::Nanos added, full;
  };
  struct SpanTerms {
    double base, per_row, per_changed_row;
  };
  struct CopyTerms {
    double latency, bytes_per_ns;
  };

  static runtime::Nanos round(double ns) { return static_cast<runtime::Nanos>(ns + 0.5); }
  runtime::Nanos draw_slowly(int host, runtime::Nanos nominal);

  Calls calls_;
  double graph_launch_per_node_;
  double renew_, renew_per_byte_;
  runtime::Nanos launch_latency_;
  runtime::Nanos handover_;
  std::uint32_t queue_depth_;
  runtime::Nanos graph_start_latency_;
  runtime::Nanos node_gap_;
  std::array<KernelTerms, runtime::kWorkKinds> kernels_;
  std::array<Demand, runtime::kWorkKinds> demands_;
  std::array<PauseTerms, runtime::kWorkKinds> pauses_;
  bool pauses_count_ = false;
  std::array<SpanTerms, runtime::kWorkKinds> spans_;
  std::array<CopyTerms, kCopyEngines> copies_;
  CopyTerms pageable_;
  double jitter_;
  bool chaos_;
  bool exact_;
  std::vector<Random> random_;
};

}  // namespace syncopate::sim
