// ThreadSanitizer sees the edges of the program and no others: with one left out it reports a data
// race, although the host has run ahead and the streams have too. Built only with the sanitizer.
#if defined(__SANITIZE_THREAD__)

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "tests/cpu/toy.h"

namespace syncopate::cpu::toy {
namespace {

using runtime::Event;

/// Two steps through one slot, in the ordered strategy: pinned inputs go to the device, are
/// doubled, and come back. Sixteen steps are enough for each missing edge to meet its race.
int run_pipeline(const std::string& removed_site) {
  runtime::RuntimeOptions front;
  if (!removed_site.empty()) front.removed_sites.push_back(removed_site);
  const auto runtime = make_runtime(1, {}, std::move(front));
  const Stream h2d = make_stream(*runtime);
  const Stream compute = make_stream(*runtime);
  const Stream d2h = make_stream(*runtime);
  const Event sent = runtime->make_event(kDevice0);
  const Event computed = runtime->make_event(kDevice0);
  const Event fetched = runtime->make_event(kDevice0);
  const Buffer in = make_ints(*runtime, Memory::kPinned, 1);
  const Buffer device_in = make_ints(*runtime, Memory::kDevice, 1);
  const Buffer device_out = make_ints(*runtime, Memory::kDevice, 1);
  const Buffer out = make_ints(*runtime, Memory::kPinned, 1);
  struct Args {
    Buffer in, out;
  };
  const Kernel twice = kernel_of<[](runtime::Exec& exec, const Args& args) {
    *exec.data<int>(args.out) = 2 * *exec.data<int>(args.in);
  }>(Args{device_in, device_out});
  int sum = 0;
  run(*runtime, {[&](Host& host) {
    for (int step = 1; step <= 16; ++step) {
      *runtime->host_data<int>(in) = step;
      host.copy(h2d, "h2d", ints(device_in, 1), ints(in, 1));
      host.record(sent, h2d, "sent");
      host.wait(compute, sent, "compute.wait_sent");
      launch(host, compute, "twice", twice);
      host.record(computed, compute, "computed");
      host.wait(d2h, computed, "d2h.wait_computed");
      host.copy(d2h, "d2h", ints(out, 1), ints(device_out, 1));
      host.record(fetched, d2h, "fetched");
      host.synchronize(fetched, "block");
      sum += *runtime->host_data<int>(out);
    }
  }});
  return sum;
}

class CpuRace : public ::testing::TestWithParam<const char*> {};

TEST(CpuRace, IsNotReportedWhenEveryEdgeIsThere) { EXPECT_EQ(run_pipeline(""), 16 * 17); }

TEST_P(CpuRace, IsReportedWithoutTheEdge) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  constexpr int kSanitizerExit = 66;  // ThreadSanitizer's own
  EXPECT_EXIT(
      {
        run_pipeline(GetParam());
        std::exit(0);
      },
      ::testing::ExitedWithCode(kSanitizerExit), "data race");
}

INSTANTIATE_TEST_SUITE_P(Sites, CpuRace,
                         ::testing::Values("compute.wait_sent", "d2h.wait_computed", "block"));

// The host enqueues a read of pinned memory, overwrites the memory, and goes on to enqueue. A queue
// with a shared index would order the overwriting before the read whenever the stream is late.
void overwrite_too_early() {
  const auto runtime = make_runtime();
  const Stream stream = make_stream(*runtime);
  const Buffer in = make_ints(*runtime, Memory::kPinned, 1);
  const Buffer on_device = make_ints(*runtime, Memory::kDevice, 1);
  Gate gate;
  run(*runtime, {[&](Host& host) {
    launch(host, stream, "gate", gate.kernel());
    host.copy(stream, "h2d", ints(on_device, 1), ints(in, 1));
    *runtime->host_data<int>(in) = 1;
    for (int i = 0; i < 5; ++i) launch(host, stream, "more", store(on_device, 0, i));
    gate.open();
  }});
}

TEST(CpuRaceOfTheHost, IsReportedThoughTheHostRanAhead) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        overwrite_too_early();
        std::exit(0);
      },
      ::testing::ExitedWithCode(66), "data race");
}

// The host waits for the first of two operations and reads what the second writes, when both are
// long done. A queue with a shared count of commands done would order the read after both.
void wait_for_too_little() {
  const auto runtime = make_runtime();
  const Stream stream = make_stream(*runtime);
  const Event first = runtime->make_event(kDevice0);
  const Buffer out = make_ints(*runtime, Memory::kPinned, 2);
  int sum = 0;
  run(*runtime, {[&](Host& host) {
    launch(host, stream, "first", store(out, 0, 1));
    host.record(first, stream, "first");
    launch(host, stream, "second", store(out, 1, 1));
    pause();
    host.synchronize(first, "block");
    sum = runtime->host_data<int>(out)[1];
  }});
  EXPECT_LE(sum, 1);
}

TEST(CpuRaceOfTheStream, IsReportedThoughTheStreamRanAhead) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        wait_for_too_little();
        std::exit(0);
      },
      ::testing::ExitedWithCode(66), "data race");
}

}  // namespace
}  // namespace syncopate::cpu::toy

#endif
