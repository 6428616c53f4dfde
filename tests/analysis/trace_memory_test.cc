// A trace is streamed: whatever was kept of the run while it is written would be allocated.

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>

#include "analysis/trace.h"
#include "backend/runtime/timeline.h"
#include "tests/batching/counted_allocations.h"

namespace syncopate::analysis {
namespace {

using runtime::CallType;
using runtime::Event;
using runtime::Nanos;
using runtime::OperationKind;
using runtime::Stream;
using runtime::Timeline;

/// Steps of a span, a kernel and its record, and the host's wait for it.
Timeline run_of(int steps) {
  Timeline t;
  t.streams = {{"compute", runtime::StreamKind::kNonBlocking, 0}};
  Nanos now = 0;
  const auto add = [&](OperationKind kind, const char* name, int step, CallType type) {
    runtime::Operation& op = t.operations.emplace_back();
    op.kind = kind;
    op.name = name;
    op.step = step;
    op.issue_begin = op.start = now;
    op.issue_end = op.end = now += 10'000;
    if (kind == OperationKind::kKernel) op.stream = Stream{0};
    t.calls.emplace_back().type = type;
    t.calls.back().operation = static_cast<std::uint32_t>(t.operations.size() - 1);
  };
  for (int step = 0; step < steps; ++step) {
    const runtime::Position done{Stream{0}, static_cast<std::uint64_t>(step) + 1};
    add(OperationKind::kHostSpan, "prepare", step, CallType::kSpan);
    add(OperationKind::kKernel, "forward", step, CallType::kEnqueue);
    t.calls.emplace_back().type = CallType::kRecord;
    t.calls.back().event = Event{0};
    t.calls.back().at = done;
    add(OperationKind::kHostBlock, "block", step, CallType::kBlock);
    t.calls.back().event = Event{0};
    t.calls.back().target = done;
  }
  return t;
}

TEST(TraceMemory, DoesNotGrowWithTheRun) {
  const std::filesystem::path file =
      std::filesystem::path(::testing::TempDir()) / "trace_memory.json.gz";
  const auto allocations_of = [&file](int steps) {
    const Timeline t = run_of(steps);
    const std::uint64_t before = allocations;
    write_trace(t, file);
    return allocations - before;
  };
  const std::uint64_t some = allocations_of(200);  // enough to fill the buffer
  EXPECT_EQ(allocations_of(5000), some);
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace syncopate::analysis

#endif
