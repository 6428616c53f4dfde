// Hardware profiles as files: configs/hardware/NAME.yaml.
#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "experiments/config/provenance.h"
#include "experiments/yaml/describe.h"
#include "experiments/yaml/where.h"
#include "sim/profile.h"

namespace syncopate::experiments {

struct ProfileFile {
  std::string about;                     ///< One line: which machine, measured or fitted, when.
  std::optional<Provenance> provenance;  ///< Of a calibrated one.
  std::optional<ProfileRanges> ranges;
  sim::HardwareProfile profile;
};

/// Throws ConfigError.
ProfileFile load_profile(const std::filesystem::path& file);

/// The profile's file for `name` as a configuration writes it. Text with a slash or the ending
/// .yaml is a path, relative to the configuration's folder. Anything else is a name, looked up in
/// hardware/ and configs/hardware/ of each folder from the configuration's upwards, then in the
/// folder of configs_folder(). Throws ConfigError at `where`, naming the profiles that exist.
std::filesystem::path find_profile(const std::string& name, const std::filesystem::path& config,
                                   const yaml::Where& where);

/// The configurations that come with the program: beside an installed one in
/// share/syncopate/configs, else those of the source tree.
std::filesystem::path configs_folder();

/// Names of the profiles in `folder`, sorted.
std::vector<std::string> profile_names(const std::filesystem::path& folder);

template <class V>
void describe(V& v, ProfileFile& c) {
  using yaml::key, yaml::required;
  v(required("about", "One line: which machine, measured or fitted, when"), c.about);
  v(key("provenance", "How it was measured, when `calibrate` wrote it"), c.provenance);
  v(key("ranges", "Steps that it was measured with; sim warns outside"), c.ranges);
  sim::HardwareProfile& p = c.profile;
  v(required("host", "What calls cost the host thread"), p.host);
  v(key("launch", "From the host's call to the device"), p.launch);
  v(key("graph", "CUDA graphs on the device"), p.graph);
  v(required("kernels", "Device work, by kind"), p.kernels);
  v(required("spans", "Host work, by kind"), p.spans);
  v(required("h2d", "Copies from pinned memory to the device"), p.h2d);
  v(required("d2h", "Copies from the device to pinned memory"), p.d2h);
  v(key("d2d", "Copies within the device"), p.d2d);
  v(key("peer", "Copies between devices"), p.peer);
  v(key("pageable", "Copies with a side in pageable memory"), p.pageable);
  v(key("jitter", "Durations are drawn from 1 - jitter to 1 + jitter times their value")
        .range(0, 0.99),
    p.jitter);
}

}  // namespace syncopate::experiments

// Found by their arguments' namespace.
namespace syncopate::sim {

/// Of any term: 100 s, so that the terms of the largest step add up within the clock's 292 years.
inline constexpr double kMaxMicros = 1e8;

template <class V>
void describe(V& v, HostCallCosts& c) {
  using experiments::yaml::key, experiments::yaml::required;
  v(required("kernel_launch_us", "A kernel launch").range(0, kMaxMicros), c.kernel_launch_us);
  v(required("graph_launch_us", "A graph launch").range(0, kMaxMicros), c.graph_launch_us);
  v(key("graph_launch_per_node_us", "Added for each node").range(0, kMaxMicros),
    c.graph_launch_per_node_us);
  v(required("copy_us", "An asynchronous copy").range(0, kMaxMicros), c.copy_us);
  v(required("record_us", "An event record").range(0, kMaxMicros), c.record_us);
  v(required("wait_us", "A stream's wait for an event or flag").range(0, kMaxMicros), c.wait_us);
  v(key("signal_us", "A flag's signal").range(0, kMaxMicros), c.signal_us);
  v(key("query_us", "An event query").range(0, kMaxMicros), c.query_us);
  v(key("synchronize_us", "A synchronize that need not wait").range(0, kMaxMicros),
    c.synchronize_us);
  v(key("renew_us", "A buffer of device memory freed and allocated anew").range(0, kMaxMicros),
    c.renew_us);
  v(key("renew_per_mb_us", "Added for each 1e6 bytes of it").range(0, kMaxMicros),
    c.renew_per_mb_us);
  v(key("wake_us", "From the event to the blocked host running again").range(0, kMaxMicros),
    c.wake_us);
}

template <class V>
void describe(V& v, LaunchPath& c) {
  using experiments::yaml::key;
  v(key("latency_us", "End of the call to the earliest start on the device").range(0, kMaxMicros),
    c.latency_us);
  v(key("handover_us", "From a stream's point to a stream held by it going on")
        .range(0, kMaxMicros),
    c.handover_us);
  v(key("queue_depth", "Pending commands of a stream before calls block").range(1, 1 << 20),
    c.queue_depth);
}

template <class V>
void describe(V& v, GraphTiming& c) {
  using experiments::yaml::key;
  v(key("start_latency_us", "From when a graph could start to its first nodes")
        .range(0, kMaxMicros),
    c.start_latency_us);
  v(key("node_gap_us", "End of the last node before a node to its start").range(0, kMaxMicros),
    c.node_gap_us);
}

template <class V>
void describe(V& v, WaveCost::Point& c) {
  using experiments::yaml::required;
  v(required("kv_tokens", "KV tokens that a row attends to").range(1, 1e9), c.kv_tokens);
  v(required("us", "A wave of tiles there; linear between points").range(0, kMaxMicros), c.us);
}

template <class V>
void describe(V& v, WaveCost& c) {
  using experiments::yaml::required;
  v(required("tile_tokens", "Tokens of a row that one block computes").range(1, 1 << 20),
    c.tile_tokens);
  v(required("at_once", "Blocks that run at the same time").range(1, 1 << 20), c.at_once);
  v(required("per_wave", "Its time by KV length, which grows"), c.per_wave);
}

template <class V>
void describe(V& v, KernelCost& c) {
  using experiments::yaml::key;
  v(key("base_us", "Every launch").range(0, kMaxMicros), c.base_us);
  v(key("per_row_us", "Added for each request in the batch").range(0, kMaxMicros), c.per_row_us);
  v(key("per_token_us", "Added for each token computed").range(0, kMaxMicros), c.per_token_us);
  v(key("per_kv_ktoken_us", "Added for each 1,000 KV tokens read").range(0, kMaxMicros),
    c.per_kv_ktoken_us);
  v(key("per_attention_kpair_us",
        "Added for each 1,000 pairs of a token and an entry it attends to")
        .range(0, kMaxMicros),
    c.per_attention_kpair_us);
  v(key("per_mb_us", "Added for each 1e6 bytes moved").range(0, kMaxMicros), c.per_mb_us);
  v(key("waves", "Added: waves of tiles, as attention over whole sequences runs"), c.waves);
  v(key("after_pause_us", "Added after a pause since the last of its kind").range(0, kMaxMicros),
    c.after_pause_us);
  v(key("pause_us", "The shortest pause that adds all of it; a shorter one adds its share")
        .range(0, kMaxMicros),
    c.pause_us);
  v(key("sm", "Demand on the multiprocessors, a share").range(0, 1), c.sm);
  v(key("bandwidth", "Demand on memory bandwidth, a share").range(0, 1), c.bandwidth);
  v(key("holds", "Share of the block slots held from start to end").range(0, 1), c.holds);
}

template <class V>
void describe(V& v, SpanCost& c) {
  using experiments::yaml::key;
  v(key("base_us", "Every time").range(0, kMaxMicros), c.base_us);
  v(key("per_row_us", "Added for each request in the batch").range(0, kMaxMicros), c.per_row_us);
  v(key("per_changed_row_us", "Added for each row that joined, left or moved").range(0, kMaxMicros),
    c.per_changed_row_us);
}

template <class V>
void describe(V& v, CopyCost& c) {
  using experiments::yaml::required;
  v(required("latency_us", "Every copy").range(0, kMaxMicros), c.latency_us);
  v(required("gb_per_s", "1e9 bytes a second").range(1e-6, 1e6), c.gb_per_s);
}

template <class V>
void describe(V& v, std::array<KernelCost, runtime::kWorkKinds>& c) {
  using experiments::yaml::key, experiments::yaml::required;
  const auto of = [&](runtime::Work work) -> KernelCost& {
    return c[static_cast<std::size_t>(work)];
  };
  v(required("forward", "The model's step, with sampling"), of(runtime::Work::kForward));
  v(required("carry", "Carry-over of ids from the step before"), of(runtime::Work::kCarry));
  v(key("attention", "Attention alone, over whole sequences"), of(runtime::Work::kAttention));
  v(key("relayout", "Rows packed for a collective, or merged behind one"),
    of(runtime::Work::kRelayout));
  v(key("exchange", "A collective between devices"), of(runtime::Work::kExchange));
  v(key("none", "Kernels that cost only a fixed time"), of(runtime::Work::kNone));
}

template <class V>
void describe(V& v, std::array<SpanCost, runtime::kWorkKinds>& c) {
  using experiments::yaml::key, experiments::yaml::required;
  const auto of = [&](runtime::Work work) -> SpanCost& {
    return c[static_cast<std::size_t>(work)];
  };
  v(required("prepare", "Schedule a step and fill its inputs"), of(runtime::Work::kPrepare));
  v(required("update", "Take a step's results"), of(runtime::Work::kUpdate));
  v(key("none", "Spans that cost only a fixed time"), of(runtime::Work::kNone));
}

}  // namespace syncopate::sim
