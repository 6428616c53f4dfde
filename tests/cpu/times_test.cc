#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/cpu/toy.h"

namespace syncopate::cpu::toy {
namespace {

using runtime::Nanos;
using runtime::Operation;
using runtime::OperationKind;

TEST(CpuTimes, AreOrderedAndNeverBeforeTheBeginning) {
  const auto runtime = make_runtime(2, {.chaos_seed = 7});
  Stream streams[2][2];
  Buffer cells[2], outs[2];
  for (std::uint32_t id = 0; id < 2; ++id) {
    for (Stream& stream : streams[id]) stream = make_stream(*runtime, Device{id});
    cells[id] = make_ints(*runtime, Memory::kDevice, 2, Device{id});
    outs[id] = make_ints(*runtime, Memory::kPinned, 2, Device{id});
  }
  const HostMain main = [&](Host& host) {
    const std::uint32_t id = host.device().id;
    for (int i = 0; i < 20; ++i) {
      for (int s = 0; s < 2; ++s) launch(host, streams[id][s], "store", store(cells[id], s, i));
      host.busy("busy", 1000);
    }
    host.copy(streams[id][0], "d2h", ints(outs[id], 1), ints(cells[id], 1));
    host.synchronize(streams[id][0], "block");
  };
  run(*runtime, {main, main});

  const runtime::Timeline& timeline = runtime->timeline();
  std::map<std::uint32_t, Nanos> stream_end;
  int device_operations = 0;
  for (const Operation& operation : timeline.operations) {
    EXPECT_GE(operation.issue_begin, 0);
    EXPECT_LE(operation.issue_begin, operation.issue_end);
    EXPECT_LE(operation.start, operation.end);
    EXPECT_LE(operation.end, timeline.end);
    EXPECT_LE(operation.issue_begin, operation.start);
    if (!operation.stream) continue;
    ++device_operations;
    EXPECT_GE(operation.start, stream_end[operation.stream.id]) << "a stream runs one at a time";
    stream_end[operation.stream.id] = operation.end;
  }
  EXPECT_EQ(device_operations, 2 * (2 * 20 + 1));
}

TEST(CpuTimes, BusyAndSleepLastAtLeastAsLongAsAsked) {
  const auto runtime = make_runtime();
  run(*runtime, {[&](Host& host) {
    const Nanos begin = host.now();
    EXPECT_GE(begin, 0);
    host.busy("busy", 300'000);
    const Nanos after_busy = host.now();
    EXPECT_GE(after_busy - begin, 300'000);
    host.sleep_until(after_busy + 12'000'000);
    EXPECT_GE(host.now(), after_busy + 12'000'000);
    host.sleep_until(begin);  // the past: no sleep
  }});
  const Operation& busy = runtime->timeline().operations.at(0);
  EXPECT_GE(busy.end - busy.start, 300'000);
  EXPECT_EQ(busy.kind, OperationKind::kHostSpan);
}

TEST(CpuTimes, OfABlockAreTheHosts) {
  const auto runtime = make_runtime();
  const Stream stream = make_stream(*runtime);
  const Buffer cell = make_ints(*runtime, Memory::kDevice, 1);
  run(*runtime, {[&](Host& host) {
    launch(host, stream, "store", store(cell, 0, 1));
    host.synchronize(stream, "block");
  }});
  const auto& operations = runtime->timeline().operations;
  ASSERT_EQ(operations.size(), 2u);
  EXPECT_EQ(operations[1].kind, OperationKind::kHostBlock);
  EXPECT_GE(operations[1].end, operations[0].end);
}

}  // namespace
}  // namespace syncopate::cpu::toy
