#include "experiments/calibrate/probes.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <string_view>
#include <vector>

#include "backend/runtime/host.h"
#include "backend/runtime/runtime.h"
#include "experiments/calibrate/fit.h"
#include "experiments/units.h"

namespace syncopate::experiments {
namespace {

using runtime::Body;
using runtime::Buffer;
using runtime::Cost;
using runtime::Event;
using runtime::Exec;
using runtime::Flag;
using runtime::Graph;
using runtime::Host;
using runtime::Kernel;
using runtime::Memory;
using runtime::Nanos;
using runtime::Operation;
using runtime::OperationKind;
using runtime::Region;
using runtime::Runtime;
using runtime::Stream;

constexpr runtime::Device kDevice{0};
constexpr int kProbeRounds = 41;  // an odd number: a median that was measured
constexpr int kColdRounds = 4;    // and these before, which are not kept
constexpr int kCalls = 16;        // of one kind in a row: the clock is then read seldom
constexpr std::size_t kNodes = 33;
constexpr std::array<std::uint64_t, 4> kCopyBytes = {1 << 10, 1 << 16, 1 << 20, 1 << 22};
constexpr Nanos kHold = 300'000;  // longer than the host takes for all that is to queue up behind

/// Keeps a stream busy: in virtual time by its cost.
void spin(Exec&, const Nanos& duration) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(duration);
  while (std::chrono::steady_clock::now() < end) {
  }
}
void nothing(Exec&, const char&) {}

const Kernel kEmpty{.host = Body::of<nothing>(char{}), .cuda = {}};
const Kernel kSpin{.host = Body::of<spin>(kHold), .cuda = {}};

struct CallTimes {
  std::vector<double> signal, query, synchronize;
  std::vector<double> short_graph_issue, long_graph_issue, short_graph, long_graph;
  std::vector<double> kernel_gap, graph_gap, empty_kernel;
};

/// Each call of round() makes all measurements once, so that what disturbs one for a while disturbs
/// all alike, and the median of none.
class CallProbe {
 public:
  explicit CallProbe(Runtime& runtime)
      : stream_(runtime.make_stream(kDevice, runtime::StreamKind::kNonBlocking, "calls")),
        event_(runtime.make_event(kDevice)),
        flag_(runtime.make_flag()) {}

  void prepare(Host& host) {
    short_ = capture(host, 1);
    long_ = capture(host, kNodes);
  }
  void round(Host& host, CallTimes* samples);
  /// Takes what the timeline says, of the rounds to keep.
  static void take(const runtime::Timeline& timeline, CallTimes& samples);

 private:
  Graph capture(Host& host, std::size_t nodes) {
    return host.capture(stream_, Buffer{}, "probe", [&](Host& h) {
      for (std::size_t i = 0; i < nodes; ++i) h.launch(stream_, "node", Cost{}, {}, kEmpty);
    });
  }
  void hold(Host& host) {
    Cost cost;
    cost.fixed_ns = kHold;
    host.launch(stream_, "hold", cost, {}, kSpin);
  }

  Stream stream_;
  Event event_;
  Flag flag_;
  Graph short_, long_;
  std::uint64_t signals_ = 0;
};

void CallProbe::round(Host& host, CallTimes* samples) {
  host.set_step(samples != nullptr ? 0 : runtime::kNoStep);
  const auto each = [&host](auto&& call) {
    const Nanos begin = host.now();
    for (int i = 0; i < kCalls; ++i) call();
    return microseconds(host.now() - begin) / kCalls;
  };
  // Behind a busy stream, so that a call is no more than a call; then on an idle one.
  hold(host);
  host.launch(stream_, "behind", Cost{}, {}, kEmpty);
  hold(host);
  host.launch(short_, stream_, "short", {});
  host.launch(long_, stream_, "long", {});
  const double signal = each([&] { host.signal(stream_, flag_, ++signals_, "probe.signal"); });
  host.record(event_, stream_, "probe.record");
  host.synchronize(event_, "probe.wait");
  const double query = each([&] { host.query(event_, "probe.query"); });
  const double synchronize = each([&] { host.synchronize(event_, "probe.synchronize"); });
  if (samples == nullptr) return;
  samples->signal.push_back(signal);
  samples->query.push_back(query);
  samples->synchronize.push_back(synchronize);
}

void CallProbe::take(const runtime::Timeline& timeline, CallTimes& samples) {
  const Operation* hold = nullptr;
  for (const Operation& op : timeline.operations) {
    if (op.step == runtime::kNoStep) continue;
    const std::string_view name = op.name;
    if (name == "hold") {
      hold = &op;
    } else if (name == "behind") {
      samples.kernel_gap.push_back(microseconds(op.start - hold->end));
      samples.empty_kernel.push_back(microseconds(op.end - op.start));
    } else if (name == "short") {
      samples.graph_gap.push_back(microseconds(op.start - hold->end));
      samples.short_graph.push_back(microseconds(op.end - op.start));
      samples.short_graph_issue.push_back(microseconds(op.issue_end - op.issue_begin));
    } else if (name == "long") {
      samples.long_graph.push_back(microseconds(op.end - op.start));
      samples.long_graph_issue.push_back(microseconds(op.issue_end - op.issue_begin));
    }
  }
}

void measure_calls(const EngineFactory& make_engine, MeasuredRuntime& out) {
  Runtime runtime(make_engine(), {.detail = runtime::Detail::kTimes, .removed_sites = {}});
  CallProbe probe(runtime);
  CallTimes samples;
  const runtime::HostMain mains[] = {[&](Host& host) {
    probe.prepare(host);
    for (int i = 0; i < kColdRounds + kProbeRounds; ++i) {
      probe.round(host, i < kColdRounds ? nullptr : &samples);
    }
  }};
  runtime.run(mains);
  CallProbe::take(runtime.timeline(), samples);

  const auto of = [](std::vector<double>& values) { return std::max(0.0, median(values)); };
  const auto more = [&of](std::vector<double>& a, std::vector<double>& b) {
    return std::max(0.0, of(a) - of(b));
  };
  constexpr double kMoreNodes = kNodes - 1;
  out.signal_us = of(samples.signal);
  out.query_us = of(samples.query);
  out.synchronize_us = of(samples.synchronize);
  out.empty_kernel_us = of(samples.empty_kernel);
  out.graph_launch_per_node_us =
      more(samples.long_graph_issue, samples.short_graph_issue) / kMoreNodes;
  out.graph.start_latency_us = more(samples.graph_gap, samples.kernel_gap);
  const double per_node = more(samples.long_graph, samples.short_graph) / kMoreNodes;
  out.graph.node_gap_us = std::max(0.0, per_node - out.empty_kernel_us);
}

struct Direction {
  const char* name;
  Memory from, to;
  sim::CopyCost* cost;
  FitQuality* quality;
};

void measure_copies(const EngineFactory& make_engine, MeasuredRuntime& out) {
  const std::array<Direction, 4> directions = {{
      {"h2d", Memory::kPinned, Memory::kDevice, &out.h2d, &out.h2d_fit},
      {"d2h", Memory::kDevice, Memory::kPinned, &out.d2h, &out.d2h_fit},
      {"d2d", Memory::kDevice, Memory::kDevice, &out.d2d, &out.d2d_fit},
      {"pageable", Memory::kPageable, Memory::kDevice, &out.pageable, &out.pageable_fit},
  }};
  Runtime runtime(make_engine(), {.detail = runtime::Detail::kTimes, .removed_sites = {}});
  const Stream stream = runtime.make_stream(kDevice, runtime::StreamKind::kNonBlocking, "copies");
  std::array<std::pair<Buffer, Buffer>, directions.size()> buffers;
  for (std::size_t d = 0; d < directions.size(); ++d) {
    buffers[d] = {runtime.make_buffer(kDevice, directions[d].from, kCopyBytes.back(), "from"),
                  runtime.make_buffer(kDevice, directions[d].to, kCopyBytes.back(), "to")};
  }
  const runtime::HostMain mains[] = {[&](Host& host) {
    for (int i = 0; i < kColdRounds + kProbeRounds; ++i) {
      host.set_step(i < kColdRounds ? runtime::kNoStep : 0);
      for (std::size_t d = 0; d < directions.size(); ++d) {
        for (const std::uint64_t bytes : kCopyBytes) {
          host.copy(stream, directions[d].name, Region::flat(buffers[d].second, 0, bytes),
                    Region::flat(buffers[d].first, 0, bytes));
        }
      }
      host.synchronize(stream, "probe.copies");
    }
  }};
  runtime.run(mains);

  for (const Direction& direction : directions) {
    Observations observations(2);
    for (const std::uint64_t bytes : kCopyBytes) {
      std::vector<double> durations;
      for (const Operation& op : runtime.timeline().operations) {
        if (op.step == runtime::kNoStep || op.bytes != bytes ||
            op.kind == OperationKind::kHostBlock || std::string_view(op.name) != direction.name) {
          continue;
        }
        durations.push_back(static_cast<double>(op.end - op.start));
      }
      observations.add({1, static_cast<double>(bytes)}, median(durations));
    }
    const Fit fit = fit_terms(observations);
    direction.cost->latency_us = fit.terms[0] / 1e3;
    // Within what a profile can say; a machine that copies for nothing (in virtual time) is there.
    direction.cost->gb_per_s = 1 / std::clamp(fit.terms[1], 1e-6, 1e6);
    *direction.quality = fit.quality;
  }
  // A profile says of pageable copies what they take beyond the others.
  out.pageable.latency_us = std::max(0.0, out.pageable.latency_us - out.h2d.latency_us);
}

}  // namespace

MeasuredRuntime measure_runtime(const EngineFactory& make_engine,
                                const OnCalibration& on_progress) {
  MeasuredRuntime out;
  on_progress("calls", 0);
  measure_calls(make_engine, out);
  on_progress("copies", 0.5);
  measure_copies(make_engine, out);
  return out;
}

}  // namespace syncopate::experiments
