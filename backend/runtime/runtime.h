// Runtime: owns what a program creates, runs its hosts, and hands over the timeline.
//
// A program is written against Runtime and Host alone and runs unchanged in virtual time (sim), on
// CPU threads (cpu) and on GPUs (cuda); which of them is decided in one place, by the engine that
// is passed in.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/runtime/engine.h"
#include "backend/runtime/handles.h"
#include "backend/runtime/timeline.h"

namespace syncopate::runtime {

class Host;
using HostMain = std::function<void(Host&)>;

struct RuntimeOptions {
  Detail detail = Detail::kAll;
  /// Sites whose record, wait, signal or block is left out: the program then runs with that edge
  /// missing. For tests of what each edge is for. Leaving out a signal that something waits for
  /// is a deadlock, as it should be.
  std::vector<std::string> removed_sites;
};

class Runtime {
 public:
  explicit Runtime(std::unique_ptr<Engine> engine, RuntimeOptions options = {});
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  const char* kind() const { return engine_->name(); }
  int device_count() const { return engine_->device_count(); }

  // Creation: before run(), from one thread. What is created lives as long as the runtime.

  /// The legacy default stream of `device` always exists: make_stream(kLegacyDefault) returns it.
  Stream make_stream(Device device, StreamKind kind, std::string label);
  Event make_event(Device device);
  /// A counter at 0. With `cycle` each of its values is waited for once, by one stream, and value
  /// v is signalled only behind the wait for v - cycle: what a ring of slots does. In a graph the
  /// values of such a flag advance by `cycle` with each launch; those of others are baked in.
  Flag make_flag(std::uint64_t cycle = 0);
  /// What the collectives of one group of devices meet at (Host::collective). A graph holds
  /// `per_graph` of them, the same number in each, and in order.
  Meeting make_meeting(std::vector<Device> ranks, std::uint64_t per_graph = 0);
  /// Zero-filled. Throws UnavailableError when the memory is not to be had.
  Buffer make_buffer(Device device, Memory memory, std::uint64_t bytes, std::string label);
  /// Host address of a pinned or pageable buffer, for use inside host spans that declare it; null
  /// for device memory.
  std::byte* host_data(Buffer buffer) const { return host_data_[buffer.id]; }
  template <class T>
  T* host_data(Buffer buffer) const {
    return reinterpret_cast<T*>(host_data(buffer));
  }

  /// Runs one main per device to the end, and all work that they enqueued. Once only.
  /// Throws the first error of a host or operation; the timeline then holds what was done.
  void run(std::span<const HostMain> mains);

  /// Valid after run().
  const Timeline& timeline() const { return timeline_; }
  Timeline take_timeline() { return std::move(timeline_); }

 private:
  friend class Host;
  bool removed(Site site) const;
  void collect(std::deque<Host>& hosts);

  std::unique_ptr<Engine> engine_;
  RuntimeOptions options_;
  Timeline timeline_;
  std::vector<std::byte*> host_data_;
  std::vector<Stream> default_streams_;  // per device, made on demand
  std::vector<Device> event_devices_;
  std::vector<std::uint64_t> flag_cycles_;
  struct MeetingPlace {
    std::vector<Device> ranks;
    std::vector<Flag> flags;  // by who waits, then who signals
  };
  std::vector<MeetingPlace> meetings_;
  // Hosts capture at the same time.
  std::atomic<std::uint32_t> next_graph_ = 0;
  std::deque<std::atomic<bool>> in_graphs_;  // by buffer: a captured graph holds its address
};

}  // namespace syncopate::runtime
