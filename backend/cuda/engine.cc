#include "backend/cuda/engine.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "backend/cuda/activity_recorder.h"
#include "backend/cuda/call.h"
#include "backend/cuda/device_clock.h"
#include "backend/cuda/event.h"
#include "backend/cuda/flags.h"
#include "backend/cuda/graph.h"
#include "backend/cuda/memory.h"
#include "backend/cuda/stamps.h"
#include "backend/cuda/stream.h"
#include "backend/runtime/error.h"

namespace syncopate::cuda {
namespace {

using runtime::Command;
using runtime::Interval;
using runtime::Nanos;

// A device has this many queues at most, and streams beyond them share one, where a stream that a
// flag holds also holds the others. CUDA gives 8 unless asked before it starts.
constexpr auto kQueues = "32";
constexpr auto kQueuesVariable = "CUDA_DEVICE_MAX_CONNECTIONS";
void ask_for_queues() { setenv(kQueuesVariable, kQueues, /*overwrite=*/0); }
std::size_t queues() { return std::strtoul(std::getenv(kQueuesVariable), nullptr, 10); }

constexpr auto kFailurePoll = std::chrono::microseconds(200);

// Entry `id` of a table that grows with the ids that the front end hands out.
template <class T>
T& at(std::vector<T>& table, std::uint32_t id) {
  if (table.size() <= id) table.resize(id + std::size_t{1});
  return table[id];
}

// CUDA finds the devices of two addresses by itself; a pageable one it has never heard of.
cudaMemcpyKind direction(runtime::OperationKind kind) {
  if (kind == runtime::OperationKind::kCopyH2D) return cudaMemcpyHostToDevice;
  if (kind == runtime::OperationKind::kCopyD2H) return cudaMemcpyDeviceToHost;
  return cudaMemcpyDefault;
}

// The right to be the one engine of this process.
class OnlyEngine {
 public:
  OnlyEngine() {
    if (taken.exchange(true)) {
      throw runtime::UsageError("a CUDA engine exists already: one at a time in a process");
    }
  }
  ~OnlyEngine() { taken = false; }
  OnlyEngine(const OnlyEngine&) = delete;
  OnlyEngine& operator=(const OnlyEngine&) = delete;

 private:
  static inline std::atomic<bool> taken = false;
};

class CudaEngine final : public runtime::Engine {
 public:
  explicit CudaEngine(const CudaOptions& options) {
    const int gpus = options.gpus == 0 ? options.devices : options.gpus;
    for (int device = 0; device < options.devices; ++device) {
      gpus_.push_back(device % gpus);
      use(device);
      if (device < gpus) reach_peers(device, gpus);
      hosts_.push_back(std::make_unique<HostState>());
    }
    if (!options.activities) return;
    window_ = *options.activities;
    recorder_ = make_activity_recorder(window_);
  }

  const char* name() const override { return "cuda"; }
  int device_count() const override { return static_cast<int>(hosts_.size()); }
  bool captures_natively() const override { return true; }
  bool orders_default_stream_natively() const override { return true; }

  void create_stream(runtime::Stream stream, runtime::StreamKind kind,
                     runtime::Device device) override {
    StreamState& state = at(streams_, stream.id);
    state.device = static_cast<int>(device.id);
    use(state.device);
    if (kind == runtime::StreamKind::kLegacyDefault) {
      state.native = cudaStreamLegacy;
    } else {
      state.owned = make_stream(kind);
      state.native = state.owned.get();
    }
    if (recorder_) recorder_->name_stream(state.native, stream, gpu_of(state.device));
    ++at(streams_on_, static_cast<std::uint32_t>(gpu_of(state.device)));
    check_queues();
  }

  void create_event(runtime::Event event, runtime::Device device) override {
    use(static_cast<int>(device.id));
    at(events_, event.id) = {make_event(EventUse::kOrder), make_event(EventUse::kOrder)};
  }

  void create_flag(runtime::Flag flag, std::uint64_t cycle) override {
    flags_.create(flag, cycle);
    has_flags_ = true;
    check_queues();
  }

  std::byte* allocate(runtime::Buffer buffer, runtime::Memory memory, std::uint64_t bytes,
                      runtime::Device device) override {
    std::byte*& base = at(bases_, buffer.id);
    switch (memory) {
      case runtime::Memory::kDevice:
        use(static_cast<int>(device.id));
        at(device_memory_, buffer.id) = make_device_memory(bytes);
        base = static_cast<std::byte*>(device_memory_[buffer.id].get());
        return nullptr;
      case runtime::Memory::kPinned:
        pinned_memory_.push_back(make_pinned_memory(bytes));
        base = static_cast<std::byte*>(pinned_memory_.back().get());
        return base;
      case runtime::Memory::kPageable:
        pageable_memory_.push_back(std::make_unique<std::byte[]>(bytes));
        base = pageable_memory_.back().get();
        return base;
    }
    return nullptr;
  }

  Interval renew(int host, runtime::Buffer buffer, std::uint64_t bytes) override {
    const Nanos begin = now(host);
    device_memory_[buffer.id] = DeviceMemory();  // frees, and waits for the device
    device_memory_[buffer.id] = make_raw_device_memory(bytes);
    bases_[buffer.id] = static_cast<std::byte*>(device_memory_[buffer.id].get());
    return {begin, now(host)};
  }

  void begin_capture(int host, runtime::Stream origin) override {
    cuda::begin_capture(native(origin));
    state_of(host).origin = origin;
    state_of(host).captured = 0;
  }

  void abandon_capture(int host) override {
    HostState& state = state_of(host);
    if (state.origin) drop_capture(native(std::exchange(state.origin, {})));
  }

  void end_capture(int host, runtime::Graph graph, const runtime::GraphScript&) override {
    HostState& state = state_of(host);
    const cudaStream_t origin = native(std::exchange(state.origin, {}));
    const OwnedGraph captured = cuda::end_capture(origin);
    at(state.graphs, graph.id) = instantiate(captured, origin);
  }

  Interval enqueue(int host, runtime::Stream stream, const Command& command) override {
    HostState& state = state_of(host);
    if (recorder_ && host == 0) follow_window(state, command);
    const Nanos begin = now(host);
    if (command.operation == Command::kNoOperation) {
      submit(state, native(stream), command);
      if (recorder_ && state.origin && command.type != Command::Type::kWait) {
        recorder_->name_nodes(native(stream), state.captured++);
      }
    } else {
      const Stamps::Pair pair = state.stamps.begin(native(stream));
      submit(state, native(stream), command);
      state.stamps.end(pair, native(stream), command.operation, stream);
    }
    // CUDA gives control back once the data is staged; the seam's rule is that the copy is done.
    if (command.pageable) SYNCOPATE_CUDA_CALL(cudaStreamSynchronize(native(stream)));
    return {begin, now(host)};
  }

  Interval record(int host, runtime::Event event, runtime::Position position) override {
    const Nanos begin = now(host);
    SYNCOPATE_CUDA_CALL(cudaEventRecord(event_for(state_of(host), event), native(position.stream)));
    return {begin, now(host)};
  }

  Interval block(int host, runtime::SyncPoint point) override {
    const Nanos begin = now(host);
    // Stamps are read in the time that the host has to wait anyway.
    while (!reached(host, point) && state_of(host).stamps.resolve_one()) {
    }
    if (point.event) {
      SYNCOPATE_CUDA_CALL(cudaEventSynchronize(events_[point.event.id].live.get()));
    } else {
      SYNCOPATE_CUDA_CALL(cudaStreamSynchronize(native(point.position.stream)));
    }
    return {begin, now(host)};
  }

  Interval block(int host, runtime::Flag flag, std::uint64_t value) override {
    const Nanos begin = now(host);
    // A failed run's flags are all released, so this ends.
    while (!flags_.reached(flag, value)) {
      if (!state_of(host).stamps.resolve_one()) std::this_thread::yield();
    }
    return {begin, now(host)};
  }

  bool reached(int /*host*/, runtime::SyncPoint point) override {
    return point.event ? completed(events_[point.event.id].live.get())
                       : completed_all(native(point.position.stream));
  }

  Nanos now(int /*host*/) override { return steady_now() - origin_; }

  Interval busy(int host, Nanos duration) override {
    const Nanos begin = now(host);
    Nanos end = begin;
    while (end - begin < duration) end = now(host);
    return {begin, end};
  }

  void sleep_until(int /*host*/, Nanos time) override {
    std::this_thread::sleep_until(
        std::chrono::steady_clock::time_point(std::chrono::nanoseconds(origin_ + time)));
  }

  Nanos begin_span(int host, std::span<const runtime::Access>) override { return now(host); }
  Nanos end_span(int host, const runtime::Cost&) override { return now(host); }

  void attach(int host, runtime::Log<runtime::Operation>& operations) override {
    state_of(host).operations = &operations;
    state_of(host).stamps.attach(operations);
  }

  void run(int hosts, const std::function<void(int host)>& main) override {
    for (int device = 0; device < device_count(); ++device) {
      use(device);
      SYNCOPATE_CUDA_CALL(cudaDeviceSynchronize());  // zero fills may be under way
      state_of(device).stamps.open();
    }
    if (recorder_ && window_.first_step == runtime::kNoStep) start_recording();
    origin_ = steady_now();
    running_ = hosts;
    {
      std::vector<std::jthread> others;
      for (int host = 1; host < hosts; ++host) {
        others.emplace_back([this, host, &main] { run_host(host, main); });
      }
      run_host(0, main);
    }
    for (int device = 0; device < device_count(); ++device) guarded([&] { drain(device); });
    end_ = now(0);
    guarded([&] { stop_recording(); });
    for (int device = 0; device < device_count(); ++device) {
      guarded([&] {
        use(device);
        state_of(device).stamps.close();
      });
    }
    if (failure_) std::rethrow_exception(failure_);
  }

  void stamp(int host, std::span<runtime::Operation> operations) override {
    state_of(host).stamps.convert(operations, origin_);
  }

  void explain(runtime::Timeline& timeline) override {
    if (!recorder_) return;
    try {
      timeline.activities = recorder_->take(timeline, origin_);
      runtime::attach_activities(timeline.activities->records, timeline);
    } catch (const CudaError&) {
      if (!failure_) throw;  // else it repeats what ended the run
    }
  }

  Nanos end_time() const override { return end_; }

 private:
  struct StreamState {
    OwnedStream owned;  // empty for the legacy default stream
    cudaStream_t native = nullptr;
    int device = 0;
  };
  // An event recorded inside a capture marks a place in the graph and no work, and CUDA lets
  // nothing outside refer to it. A second event takes those records, so the first still stands for
  // the newest work recorded outside, as the front end has it.
  struct EventPair {
    OwnedEvent live;
    OwnedEvent captured;
  };
  // What only the host's own thread touches inside run().
  struct HostState {
    Stamps stamps;
    runtime::Log<runtime::Operation>* operations = nullptr;
    runtime::Stream origin;              // of the capture under way
    std::uint16_t captured = 0;          // nodes of its script so far
    std::vector<OwnedGraphExec> graphs;  // by id; those of other hosts are empty here
  };

  // A stream that waits for a flag's value would hold those that share its queue, perhaps the very
  // one that is to set it.
  void check_queues() const {
    const std::size_t most = queues();
    for (std::size_t gpu = 0; has_flags_ && gpu < streams_on_.size(); ++gpu) {
      if (streams_on_[gpu] <= most) continue;
      throw runtime::UnavailableError(
          "GPU " + std::to_string(gpu) + " has " + std::to_string(most) + " queues (" +
          kQueuesVariable + ") for " + std::to_string(streams_on_[gpu]) +
          " streams, of which a flag may hold one with all that share its queue");
    }
  }

  // Makes a device of the runtime the current one of this thread.
  void use(int device) const { SYNCOPATE_CUDA_CALL(cudaSetDevice(gpu_of(device))); }
  int gpu_of(int device) const { return gpus_[static_cast<std::size_t>(device)]; }
  HostState& state_of(int host) { return *hosts_[static_cast<std::size_t>(host)]; }
  cudaStream_t native(runtime::Stream stream) const { return streams_[stream.id].native; }
  cudaEvent_t event_for(const HostState& state, runtime::Event event) const {
    const EventPair& pair = events_[event.id];
    return (state.origin ? pair.captured : pair.live).get();
  }

  // Whether all that the stream holds is done.
  static bool completed_all(cudaStream_t stream) {
    const cudaError_t status = cudaStreamQuery(stream);
    if (status != cudaErrorNotReady) {
      check_call(status, "cudaStreamQuery(stream)", __FILE__, __LINE__);
      return true;
    }
    cudaGetLastError();
    return false;
  }

  static void reach_peers(int device, int devices) {
    for (int peer = 0; peer < devices; ++peer) {
      if (peer == device) continue;
      int reachable = 0;
      SYNCOPATE_CUDA_CALL(cudaDeviceCanAccessPeer(&reachable, device, peer));
      if (!reachable) continue;
      const cudaError_t status = cudaDeviceEnablePeerAccess(peer, 0);
      if (status == cudaErrorPeerAccessAlreadyEnabled) {
        cudaGetLastError();  // by an earlier engine or a library of this process
      } else {
        check_call(status, "cudaDeviceEnablePeerAccess(peer, 0)", __FILE__, __LINE__);
      }
    }
  }

  void submit(HostState& state, cudaStream_t stream, const Command& command) {
    if (command.implicit) return;  // the kernels of a collective meet by themselves
    switch (command.type) {
      case Command::Type::kKernel:
        launch(stream, command);
        return;
      case Command::Type::kCopy:
        copy(stream, command);
        return;
      case Command::Type::kGraph:
        SYNCOPATE_CUDA_CALL(cudaGraphLaunch(state.graphs[command.graph.id].get(), stream));
        return;
      case Command::Type::kWait:
        SYNCOPATE_CUDA_CALL(cudaStreamWaitEvent(stream, event_for(state, command.event), 0));
        return;
      case Command::Type::kSignal:
        flags_.write(stream, command.flag, command.value);
        return;
      case Command::Type::kWaitFlag:
        flags_.wait(stream, command.flag, command.value);
        return;
    }
  }

  void launch(cudaStream_t stream, const Command& command) {
    if (!command.kernel->cuda) {
      throw runtime::UsageError("kernel '" + std::string(command.name) + "' has no CUDA body");
    }
    runtime::Exec exec(bases_.data(), stream);
    command.kernel->cuda(exec);
    const cudaError_t status = cudaGetLastError();
    if (status != cudaSuccess) {
      throw runtime::OperationError(command.name, cudaGetErrorString(status));
    }
  }

  void copy(cudaStream_t stream, const Command& command) {
    const runtime::Region& dst = command.dst;
    const runtime::Region& src = command.src;
    std::byte* const to = bases_[dst.buffer.id] + dst.offset;
    const std::byte* const from = bases_[src.buffer.id] + src.offset;
    const bool flat = dst.rows == 1 || (dst.pitch == dst.width && src.pitch == src.width);
    const cudaMemcpyKind kind = direction(command.kind);
    if (flat) {
      SYNCOPATE_CUDA_CALL(cudaMemcpyAsync(to, from, dst.bytes(), kind, stream));
    } else {
      SYNCOPATE_CUDA_CALL(
          cudaMemcpy2DAsync(to, dst.pitch, from, src.pitch, dst.width, dst.rows, kind, stream));
    }
  }

  void start_recording() {
    recorder_->start();
    recording_ = true;
  }
  void stop_recording() {
    if (!std::exchange(recording_, false)) return;
    recorder_->stop();
  }

  // Of host 0, before each command: recording begins before the window's first operation, and ends
  // once the device has done its last.
  void follow_window(HostState& state, const Command& command) {
    if (command.operation == Command::kNoOperation) return;
    const std::int32_t step = (*state.operations)[command.operation].step;
    if (step > window_.last_step) {
      if (!recording_) return;
      if (past_window_ == Command::kNoOperation) past_window_ = command.operation;
      while (state.stamps.resolve_one()) {
      }
      if (state.stamps.resolved_before(past_window_)) stop_recording();
    } else if (step >= window_.first_step && !recording_ && past_window_ == Command::kNoOperation) {
      start_recording();
    }
  }

  // Runs `fn`; the first error of any thread is kept.
  template <class Fn>
  bool guarded(Fn&& fn) {
    try {
      fn();
      return true;
    } catch (...) {
      const std::lock_guard lock(failure_mutex_);
      if (!failure_) failure_ = std::current_exception();
      return false;
    }
  }

  void run_host(int host, const std::function<void(int host)>& main) {
    const bool fine = guarded([&] {
      use(host);
      if (recorder_) recorder_->name_host(host);
      main(host);
    });
    --running_;
    if (fine) return;
    guarded([&] { abandon_capture(host); });
    // Others may wait for a flag that this host would have signalled. Repeated, since what is
    // already in a stream may still set a flag back.
    while (running_ > 0) {
      flags_.release_all();
      std::this_thread::sleep_for(kFailurePoll);
    }
  }

  void drain(int device) {
    use(device);
    if (failure_) {
      for (const StreamState& stream : streams_) {
        if (stream.device != device) continue;
        while (!completed_all(stream.native)) {
          flags_.release_all();
          std::this_thread::sleep_for(kFailurePoll);
        }
      }
    }
    SYNCOPATE_CUDA_CALL(cudaDeviceSynchronize());
  }

  OnlyEngine only_;  // first: for as long as there is anything else
  std::unique_ptr<ActivityRecorder> recorder_;
  ActivityOptions window_;
  // Only host 0's thread touches these inside run().
  bool recording_ = false;
  std::uint32_t past_window_ = Command::kNoOperation;  // first operation behind the window

  // Memory before what may still use it: members are destroyed from the last to the first.
  std::vector<std::byte*> bases_;            // by buffer id
  std::vector<DeviceMemory> device_memory_;  // by buffer id
  std::vector<PinnedMemory> pinned_memory_;
  std::vector<std::unique_ptr<std::byte[]>> pageable_memory_;
  Flags flags_;
  std::vector<EventPair> events_;
  std::vector<StreamState> streams_;
  std::vector<std::size_t> streams_on_;  // by GPU
  bool has_flags_ = false;
  std::vector<std::unique_ptr<HostState>> hosts_;  // one a device
  std::vector<int> gpus_;                          // by device: which GPU it is

  Nanos origin_ = steady_now();
  Nanos end_ = 0;
  std::atomic<int> running_ = 0;
  std::mutex failure_mutex_;
  std::exception_ptr failure_;
};

}  // namespace

int visible_devices() {
  ask_for_queues();
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    cudaGetLastError();
    return 0;
  }
  return count;
}

std::unique_ptr<runtime::Engine> make_cuda_engine(const CudaOptions& options) {
  ask_for_queues();
  if (options.devices < 1) throw runtime::UsageError("a CUDA engine needs at least one device");
  if (options.gpus < 0 || options.gpus > options.devices) {
    throw runtime::UsageError("a CUDA engine of " + std::to_string(options.devices) +
                              " devices on " + std::to_string(options.gpus) + " GPUs");
  }
  const int needed = options.gpus == 0 ? options.devices : options.gpus;
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || count == 0) {
    cudaGetLastError();
    throw runtime::UnavailableError(
        std::string("no CUDA device: ") +
        cudaGetErrorString(status == cudaSuccess ? cudaErrorNoDevice : status));
  }
  if (count < needed) {
    throw runtime::UnavailableError("no CUDA device " + std::to_string(count) +
                                    ": the program asks for " + std::to_string(needed) +
                                    ", this machine has " + std::to_string(count));
  }
  return std::make_unique<CudaEngine>(options);
}

}  // namespace syncopate::cuda
