#include "sim/cost_model.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <string>

#include "backend/runtime/error.h"

namespace syncopate::sim {
namespace {

using runtime::Nanos;
using runtime::OperationKind;
using runtime::UsageError;

constexpr double kNsPerUs = 1e3;

void require(bool condition, const char* what) {
  if (!condition) throw UsageError(std::string("hardware profile: ") + what);
}

// Comparisons are written so that NaN fails them.
void require_terms(std::initializer_list<double> terms, const char* of) {
  for (const double term : terms) {
    require(term >= 0 && term <= 1e12, of);
  }
}

void require_share(double share) {
  require(share >= 0 && share <= 1, "a kernel's sm, bandwidth and holds must be within 0 to 1");
}

void require_waves(const WaveCost& waves) {
  require(waves.tile_tokens >= 1 && waves.at_once >= 1,
          "a wave's tile_tokens and at_once must be at least 1");
  require(!waves.per_wave.empty(), "a kernel of waves needs at least one point");
  double before = 0;
  for (const WaveCost::Point& point : waves.per_wave) {
    require_terms({point.us}, "a wave's time must be 0 to 1e12 us");
    require(point.kv_tokens > before,
            "a wave's points must have KV lengths that grow from above 0");
    before = point.kv_tokens;
  }
}

double wave_us(const WaveCost& waves, double kv_tokens) {
  const auto& points = waves.per_wave;
  const auto after = std::find_if(points.begin(), points.end(), [kv_tokens](const auto& point) {
    return point.kv_tokens >= kv_tokens;
  });
  if (after == points.begin()) return after->us * (kv_tokens / after->kv_tokens);
  const auto before = after - 1;
  if (after == points.end()) return before->us * (kv_tokens / before->kv_tokens);
  return before->us + (after->us - before->us) * ((kv_tokens - before->kv_tokens) /
                                                  (after->kv_tokens - before->kv_tokens));
}

double waves_ns(const WaveCost& waves, const runtime::Cost& cost) {
  if (cost.rows == 0 || cost.tokens == 0 || cost.max_kv_tokens == 0) return 0;
  const double tokens = static_cast<double>(cost.tokens) / cost.rows;
  const double tiles = cost.rows * std::ceil(tokens / waves.tile_tokens);
  const double all_pairs = static_cast<double>(cost.tokens) * cost.max_kv_tokens;
  return std::ceil(tiles / waves.at_once) * wave_us(waves, cost.max_kv_tokens) * kNsPerUs *
         (static_cast<double>(cost.attention_pairs) / all_pairs);
}

}  // namespace

CopyEngine copy_engine_of(OperationKind kind) {
  switch (kind) {
    case OperationKind::kCopyH2D:
      return CopyEngine::kH2D;
    case OperationKind::kCopyD2H:
      return CopyEngine::kD2H;
    case OperationKind::kCopyD2D:
      return CopyEngine::kD2D;
    case OperationKind::kCopyPeer:
      return CopyEngine::kPeer;
    default:
      throw UsageError("a copy command whose kind is not a copy");
  }
}

CostModel::CostModel(const HardwareProfile& profile, const SimOptions& options, int hosts)
    : jitter_(profile.jitter), chaos_(options.chaos) {
  const HostCallCosts& host = profile.host;
  require_terms({host.kernel_launch_us, host.graph_launch_us, host.graph_launch_per_node_us,
                 host.copy_us, host.record_us, host.wait_us, host.signal_us, host.query_us,
                 host.synchronize_us, host.renew_us, host.renew_per_mb_us, host.wake_us},
                "host call costs must be 0 to 1e12 us");
  const auto ns = [](double us) { return round(us * kNsPerUs); };
  calls_ = {ns(host.kernel_launch_us), ns(host.graph_launch_us), ns(host.copy_us),
            ns(host.record_us),        ns(host.wait_us),         ns(host.signal_us),
            ns(host.query_us),         ns(host.synchronize_us),  ns(host.wake_us)};
  graph_launch_per_node_ = host.graph_launch_per_node_us * kNsPerUs;
  renew_ = host.renew_us * kNsPerUs;
  renew_per_byte_ = host.renew_per_mb_us * kNsPerUs / 1e6;

  require_terms({profile.launch.latency_us, profile.launch.handover_us,
                 profile.graph.start_latency_us, profile.graph.node_gap_us},
                "latencies and gaps must be 0 to 1e12 us");
  require(profile.launch.queue_depth >= 1, "the launch queue's depth must be at least 1");
  launch_latency_ = ns(profile.launch.latency_us);
  handover_ = ns(profile.launch.handover_us);
  queue_depth_ = profile.launch.queue_depth;
  graph_start_latency_ = ns(profile.graph.start_latency_us);
  node_gap_ = ns(profile.graph.node_gap_us);

  for (std::size_t i = 0; i < profile.kernels.size(); ++i) {
    const KernelCost& kernel = profile.kernels[i];
    require_terms(
        {kernel.base_us, kernel.per_row_us, kernel.per_token_us, kernel.per_kv_ktoken_us,
         kernel.per_attention_kpair_us, kernel.per_mb_us, kernel.after_pause_us, kernel.pause_us},
        "kernel costs must be 0 to 1e12 us");
    require_share(kernel.sm);
    require_share(kernel.bandwidth);
    require_share(kernel.holds);
    kernels_[i] = {kernel.base_us * kNsPerUs,
                   kernel.per_row_us * kNsPerUs,
                   kernel.per_token_us * kNsPerUs,
                   kernel.per_kv_ktoken_us,
                   kernel.per_attention_kpair_us,
                   kernel.per_mb_us / kNsPerUs,
                   kernel.waves};
    if (kernel.waves) require_waves(*kernel.waves);
    demands_[i] = {kernel.sm, kernel.bandwidth, kernel.holds};
    pauses_[i] = {ns(kernel.after_pause_us), ns(kernel.pause_us)};
    // Chaos stands in place of all that the profile says.
    if (kernel.after_pause_us > 0 && !chaos_) pauses_count_ = true;
  }
  for (std::size_t i = 0; i < profile.spans.size(); ++i) {
    const SpanCost& span = profile.spans[i];
    require_terms({span.base_us, span.per_row_us, span.per_changed_row_us},
                  "span costs must be 0 to 1e12 us");
    spans_[i] = {span.base_us * kNsPerUs, span.per_row_us * kNsPerUs,
                 span.per_changed_row_us * kNsPerUs};
  }
  const auto copy = [](const CopyCost& cost) {
    require_terms({cost.latency_us}, "copy latencies must be 0 to 1e12 us");
    require(cost.gb_per_s > 0, "copy throughputs must be above 0");
    return CopyTerms{cost.latency_us * kNsPerUs, cost.gb_per_s};
  };
  copies_ = {copy(profile.h2d), copy(profile.d2h), copy(profile.d2d), copy(profile.peer)};
  pageable_ = copy(profile.pageable);

  require(jitter_ >= 0 && jitter_ < 1, "jitter must be at least 0 and below 1");
  exact_ = jitter_ == 0 && !chaos_;
  random_.reserve(static_cast<std::size_t>(hosts));
  for (int i = 0; i < hosts; ++i) random_.emplace_back(options.seed, static_cast<std::uint64_t>(i));
}

Nanos CostModel::kernel(const runtime::Cost& cost) const {
  const KernelTerms& terms = kernels_[static_cast<std::size_t>(cost.work)];
  const double ns = terms.base + terms.per_row * static_cast<double>(cost.rows) +
                    terms.per_token * static_cast<double>(cost.tokens) +
                    terms.per_kv_token * static_cast<double>(cost.kv_tokens) +
                    terms.per_pair * static_cast<double>(cost.attention_pairs) +
                    terms.per_byte * static_cast<double>(cost.bytes);
  const double waves = terms.waves ? waves_ns(*terms.waves, cost) : 0;
  return round(ns + waves) + cost.fixed_ns;
}

Nanos CostModel::span(const runtime::Cost& cost) const {
  const SpanTerms& terms = spans_[static_cast<std::size_t>(cost.work)];
  const double ns = terms.base + terms.per_row * static_cast<double>(cost.rows) +
                    terms.per_changed_row * static_cast<double>(cost.changed_rows);
  return round(ns) + cost.fixed_ns;
}

Nanos CostModel::copy(CopyEngine engine, std::uint64_t bytes, bool pageable) const {
  const CopyTerms& terms = copies_[static_cast<std::size_t>(engine)];
  const double latency = pageable ? terms.latency + pageable_.latency : terms.latency;
  const double bytes_per_ns = pageable ? pageable_.bytes_per_ns : terms.bytes_per_ns;
  return round(latency + static_cast<double>(bytes) / bytes_per_ns);
}

Nanos CostModel::draw_slowly(int host, Nanos nominal) {
  Random& random = random_[static_cast<std::size_t>(host)];
  if (chaos_) return random.chaos();
  return round(static_cast<double>(nominal) * random.factor(jitter_));
}

}  // namespace syncopate::sim
