// Small kernels and helpers from which the tests of the CPU engine build their programs.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "backend/cpu/cpu_engine.h"
#include "backend/runtime/host.h"
#include "backend/runtime/kernel.h"
#include "backend/runtime/runtime.h"

namespace syncopate::cpu::toy {

using runtime::Buffer;
using runtime::Device;
using runtime::Host;
using runtime::HostMain;
using runtime::Kernel;
using runtime::Memory;
using runtime::Name;
using runtime::Region;
using runtime::Runtime;
using runtime::Stream;
using runtime::StreamKind;

inline constexpr Device kDevice0{0};
inline constexpr Device kDevice1{1};

inline std::unique_ptr<Runtime> make_runtime(int devices = 1, const CpuOptions& options = {},
                                             runtime::RuntimeOptions front = {}) {
  return std::make_unique<Runtime>(make_cpu_engine(options, devices), std::move(front));
}

inline void run(Runtime& runtime, std::initializer_list<HostMain> mains) {
  runtime.run(std::vector<HostMain>(mains));
}

inline Stream make_stream(Runtime& runtime, Device device = kDevice0) {
  return runtime.make_stream(device, StreamKind::kNonBlocking, "stream");
}

inline Buffer make_ints(Runtime& runtime, Memory memory, std::uint64_t count,
                        Device device = kDevice0) {
  return runtime.make_buffer(device, memory, count * sizeof(int), "ints");
}

/// `count` ints of `buffer`, from `first` on.
inline Region ints(Buffer buffer, std::uint64_t count, std::uint64_t first = 0) {
  return Region::flat(buffer, first * sizeof(int), count * sizeof(int));
}

inline void launch(Host& host, Stream stream, Name name, const Kernel& kernel) {
  host.launch(stream, name, {}, {}, kernel);
}

template <auto F, class Args>
Kernel kernel_of(const Args& args) {
  return {.host = runtime::Body::of<F, Args>(args), .cuda = {}};
}

// -- kernels ------------------------------------------------------------------------------------

struct Store {
  Buffer buffer;
  int index;
  int value;
};
inline void run_store(runtime::Exec& exec, const Store& args) {
  exec.data<int>(args.buffer)[args.index] = args.value;
}
inline Kernel store(Buffer buffer, int index, int value) {
  return kernel_of<run_store>(Store{buffer, index, value});
}

/// buffer[index] = buffer[index] * 10 + digit: its result tells the order of its runs.
inline void run_append(runtime::Exec& exec, const Store& args) {
  int& target = exec.data<int>(args.buffer)[args.index];
  target = target * 10 + args.value;
}
inline Kernel append(Buffer buffer, int index, int digit) {
  return kernel_of<run_append>(Store{buffer, index, digit});
}

/// Holds a stream until the test opens it.
class Gate {
 public:
  void open() { open_.store(true, std::memory_order_relaxed); }
  Kernel kernel() { return kernel_of<run_gate>(Args{this}); }

 private:
  struct Args {
    Gate* gate;
  };
  static void run_gate(runtime::Exec&, const Args& args) {
    while (!args.gate->open_.load(std::memory_order_relaxed)) std::this_thread::yield();
  }
  std::atomic<bool> open_{false};
};

/// Long enough for a thread that nothing holds back to get past a point, as a rule. Tests use it to
/// give a wrong implementation the chance to fail, never to let a right one pass.
inline void pause() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }

inline void run_fail(runtime::Exec&, const int&) { throw std::runtime_error("the reason"); }
inline Kernel fail() { return kernel_of<run_fail>(0); }

}  // namespace syncopate::cpu::toy
