// The CPU engine: the runtime on threads, with no GPU. Programs, kernels' host bodies and
// synchronization run for real, so ThreadSanitizer can check what a program declares, and wall
// clocks can time it.
//
// - A stream is a thread with a bounded queue. Commands of one stream run in order, streams overlap
//   as far as the machine has cores.
// - Device, pinned and pageable memory are all host memory, 64-byte aligned. Copies copy.
// - A graph runs node by node in the order of its capture, on the thread of the stream that it is
//   launched into: a legal schedule of the graph, without overlap inside it. A flag that a node
//   waits for must therefore not depend on a later node of the same graph; such a graph, which
//   could run elsewhere, is a DeadlockError here.
// - Threads are ordered by what the program asks for and by nothing else (counter.h,
//   stream_thread.h): a missing event is a data race here as it is on a GPU.
// - After an error no further operation runs, all hosts and streams are released, and run() throws
//   the first error. Hosts get it from any call that would wait, enqueue or query.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "backend/runtime/engine.h"

namespace syncopate::cpu {

struct CpuOptions {
  /// Commands that a stream holds before the host has to wait (CUDA's limit is about as large).
  std::size_t queue_capacity = 1024;
  /// When not 0: random delays of up to 200 us before and after each operation and graph node.
  std::uint64_t chaos_seed = 0;
  /// How long all threads must have been asleep before the run is called a deadlock.
  std::chrono::nanoseconds stall_timeout = std::chrono::seconds(3);
};

/// An engine of `devices` devices, each with one host. Throws UsageError for options out of range.
std::unique_ptr<runtime::Engine> make_cpu_engine(const CpuOptions& options, int devices);

}  // namespace syncopate::cpu
