// What the tests of virtual time share: a runtime on a simulated machine, kernels of a fixed
// duration, and operations by name.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "backend/runtime/error.h"
#include "backend/runtime/host.h"
#include "backend/runtime/runtime.h"
#include "sim/profile.h"
#include "sim/sim_engine.h"

namespace syncopate::sim {

using runtime::Access;
using runtime::Buffer;
using runtime::Cost;
using runtime::Device;
using runtime::Event;
using runtime::Exec;
using runtime::Flag;
using runtime::Graph;
using runtime::Host;
using runtime::Kernel;
using runtime::Memory;
using runtime::Name;
using runtime::Nanos;
using runtime::Operation;
using runtime::read;
using runtime::Region;
using runtime::Stream;
using runtime::StreamKind;
using runtime::Work;
using runtime::write;

inline constexpr Device kDevice{0};

/// Times only, unless a test is about effects.
inline constexpr SimOptions kTimesOnly{.effects = false};

inline Cost takes(Nanos ns) {
  Cost cost;
  cost.fixed_ns = ns;
  return cost;
}

/// A kernel whose host body does nothing.
inline Kernel idle_kernel() {
  struct Nothing {};
  return {.host = runtime::Body::of<[](Exec&, const Nothing&) {}>(Nothing{}), .cuda = {}};
}

class VirtualMachine {
 public:
  explicit VirtualMachine(const HardwareProfile& profile, const SimOptions& options = kTimesOnly,
                          int devices = 1, runtime::Detail detail = runtime::Detail::kAll)
      : runtime_(make_sim_engine(profile, options, devices), {detail, {}}) {}

  runtime::Runtime& operator*() { return runtime_; }
  runtime::Runtime* operator->() { return &runtime_; }

  Stream stream(std::string label = "stream", StreamKind kind = StreamKind::kNonBlocking,
                Device device = kDevice) {
    return runtime_.make_stream(device, kind, std::move(label));
  }
  Event event() { return runtime_.make_event(kDevice); }
  Buffer buffer(Memory memory, std::uint64_t bytes) {
    return runtime_.make_buffer(kDevice, memory, bytes, "buffer");
  }

  void run(const runtime::HostMain& main) { run({main}); }
  void run(std::initializer_list<runtime::HostMain> mains) {
    const std::vector<runtime::HostMain> all(mains);
    runtime_.run(all);
  }

  const runtime::Log<Operation>& operations() const { return runtime_.timeline().operations; }
  Nanos end() const { return runtime_.timeline().end; }

  /// The one operation of that name.
  const Operation& find(std::string_view name) const {
    const Operation* found = nullptr;
    for (const Operation& operation : operations()) {
      if (operation.name != name) continue;
      EXPECT_EQ(found, nullptr) << "two operations '" << name << "'";
      found = &operation;
    }
    if (found == nullptr) throw runtime::UsageError("no operation '" + std::string(name) + "'");
    return *found;
  }

 private:
  runtime::Runtime runtime_;
};

inline void launch(Host& host, Stream stream, Name name, Nanos ns) {
  host.launch(stream, name, takes(ns), {}, idle_kernel());
}

inline void expect_times(const Operation& operation, Nanos start, Nanos end) {
  EXPECT_EQ(operation.start, start) << operation.name;
  EXPECT_EQ(operation.end, end) << operation.name;
}

}  // namespace syncopate::sim
