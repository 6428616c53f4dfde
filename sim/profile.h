// HardwareProfile: every number that virtual time is made of. Plain data; experiments/ reads it
// from configs/hardware/*.yaml, whose keys are the names here.
//
// Units are in the names: _us microseconds, gb_per_s 1e9 bytes a second (bytes a nanosecond). A
// duration is a sum of named terms, base + per_x * x, computed in double and rounded once to
// nanoseconds. All terms are >= 0. The defaults are a machine on which everything but a byte is
// free: tests set what they are about.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/runtime/cost.h"

namespace syncopate::sim {

/// What calls cost the host thread that makes them.
struct HostCallCosts {
  double kernel_launch_us = 0;
  double graph_launch_us = 0;           ///< A graph launch …
  double graph_launch_per_node_us = 0;  ///< … and what each of its nodes adds.
  double copy_us = 0;  ///< An asynchronous copy, or the call part of a pageable one.
  double record_us = 0;
  double wait_us = 0;    ///< A wait for an event, or for a flag's value.
  double signal_us = 0;  ///< A flag's signal.
  double query_us = 0;
  double synchronize_us = 0;   ///< A synchronize that finds its point reached.
  double renew_us = 0;         ///< A buffer of device memory freed and allocated anew …
  double renew_per_mb_us = 0;  ///< … and what each 1e6 bytes of it add.
  double wake_us = 0;          ///< From the point being reached to a blocked host running again.
};

/// The way from the host to the device.
struct LaunchPath {
  double latency_us = 0;   ///< End of the host's call to the earliest start on the device.
  double handover_us = 0;  ///< From a point of one stream, or a flag's value, being reached to a
                           ///< stream that was held by it going on.
  std::uint32_t queue_depth = 1024;  ///< Commands of a stream that may be pending (not yet done); a
                                     ///< call that finds its stream full holds the host. >= 1.
};

struct GraphTiming {
  double start_latency_us = 0;  ///< When a graph could start to the start of its first nodes.
  double node_gap_us = 0;       ///< End of the last node that a node comes after to its start.
};

/// Time of a kernel whose blocks each compute a tile of one row's tokens against all that the row
/// attends to, so many tiles at once. The last wave takes as long as the others however few tiles
/// it has: this is what narrow bands of heads and short sequences pay. One wave's time is given at
/// some KV lengths and is linear between them; before the first and behind the last it is
/// proportional to the length. (At long sequences a card reaches its power limit, so no line
/// through 0 fits all.)
struct WaveCost {
  struct Point {
    double kv_tokens = 0;
    double us = 0;
  };
  double tile_tokens = 128;          ///< Tokens of a tile.
  double at_once = 1;                ///< Tiles that run at the same time.
  std::vector<Point> per_wave = {};  ///< At least one; KV lengths grow.
};

/// Device cost of one kind of work, when it runs alone, and what it asks of the device.
struct KernelCost {
  double base_us = 0;
  double per_row_us = 0;
  double per_token_us = 0;
  double per_kv_ktoken_us = 0;        ///< Per 1,000 KV tokens read, summed over the rows.
  double per_attention_kpair_us = 0;  ///< Per 1,000 pairs of a token and a KV entry that it attends
                                      ///< to. In decode the same count as the KV tokens.
  double per_mb_us = 0;               ///< Per 1,000,000 bytes moved.

  /// Added: waves of tiles, of which causal attention computes the share that it attends to.
  std::optional<WaveCost> waves = {};

  /// What caches, clocks and a sleeping core have lost in a pause. The pause runs from the end of
  /// the last kernel of this kind on the device to when this one is ready to start; the first has
  /// had the longest one. A pause of `pause_us` or more adds all of `after_pause_us`, a shorter one
  /// its share. With no pause (a kernel of this kind still runs, or ended in that instant) nothing
  /// is added.
  double after_pause_us = 0;
  double pause_us = 0;

  /// Shares of the device, 0 to 1. Demands slow down what runs at the same time once their sum
  /// exceeds 1; 0 neither slows nor is slowed.
  double sm = 0;         ///< Demand on the streaming multiprocessors' throughput.
  double bandwidth = 0;  ///< Demand on memory bandwidth.
  double holds = 0;      ///< Share of the block slots occupied from start to end: a kernel starts
                         ///< only while the sum stays within 1. 1 for persistent kernels.
};

/// Host cost of one kind of span.
struct SpanCost {
  double base_us = 0;
  double per_row_us = 0;
  double per_changed_row_us = 0;
};

/// One copy engine: a copy of n bytes takes latency_us + n / gb_per_s.
struct CopyCost {
  double latency_us = 0;
  double gb_per_s = 1;  ///< > 0.
};

/// A machine's device, host and the path between them. All devices of a run are alike.
struct HardwareProfile {
  std::string name;

  HostCallCosts host;
  LaunchPath launch;
  GraphTiming graph;

  /// Indexed by runtime::Work. kNone's terms are added to operations that cost only `fixed_ns`.
  std::array<KernelCost, runtime::kWorkKinds> kernels;
  std::array<SpanCost, runtime::kWorkKinds> spans;

  CopyCost h2d, d2h, d2d, peer;
  /// Copies with one side in pageable memory: latency added to that of their direction, and the
  /// throughput in place of it.
  CopyCost pageable;

  /// Relative amplitude of durations: each is drawn evenly from [1 - jitter, 1 + jitter) times the
  /// nominal one. 0: none. Below 1.
  double jitter = 0;

  KernelCost& kernel(runtime::Work work) { return kernels[static_cast<std::size_t>(work)]; }
  const KernelCost& kernel(runtime::Work work) const {
    return kernels[static_cast<std::size_t>(work)];
  }
  SpanCost& span(runtime::Work work) { return spans[static_cast<std::size_t>(work)]; }
  const SpanCost& span(runtime::Work work) const { return spans[static_cast<std::size_t>(work)]; }
};

}  // namespace syncopate::sim
