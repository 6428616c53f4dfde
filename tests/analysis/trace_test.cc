#include "analysis/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analysis/error.h"
#include "backend/runtime/timeline.h"

namespace syncopate::analysis {
namespace {

using nlohmann::json;
using runtime::Call;
using runtime::CallType;
using runtime::Event;
using runtime::Graph;
using runtime::kUnknownTime;
using runtime::Memory;
using runtime::Nanos;
using runtime::NodeType;
using runtime::Operation;
using runtime::OperationKind;
using runtime::Stream;
using runtime::StreamKind;
using runtime::Timeline;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

/// Writes logs by hand: what the host did, when, and in which order.
struct Log {
  Timeline t;
  std::uint16_t host = 0;
  std::int32_t step = 0;

  Operation& operation(OperationKind kind, const char* name, Nanos begin, Nanos end) {
    Operation& op = t.operations.emplace_back();
    op.kind = kind;
    op.name = name;
    op.host = host;
    op.step = step;
    op.issue_begin = begin;
    op.issue_end = end;
    return op;
  }
  Call& call(CallType type) {
    Call& made = t.calls.emplace_back();
    made.type = type;
    made.host = host;
    return made;
  }
  void call_of_last(CallType type) {
    call(type).operation = static_cast<std::uint32_t>(t.operations.size() - 1);
  }
  void span(const char* name, Nanos begin, Nanos end) {
    Operation& op = operation(OperationKind::kHostSpan, name, begin, end);
    op.start = begin;
    op.end = end;
    call_of_last(CallType::kSpan);
  }
  Operation& enqueue(OperationKind kind, const char* name, Stream stream, Nanos begin, Nanos end,
                     Nanos start, Nanos stop) {
    Operation& op = operation(kind, name, begin, end);
    op.stream = stream;
    op.start = start;
    op.end = stop;
    call_of_last(CallType::kEnqueue);
    return op;
  }
  /// Nodes follow their launch.
  void node(Graph graph, std::uint16_t number, Stream stream, Nanos start, Nanos stop) {
    const auto& info = t.graphs[graph.id].nodes[number];
    Operation& op = operation(OperationKind::kGraphNode, info.name, 0, 0);
    op.kind_in_graph = info.kind;
    op.node = number;
    op.graph = graph;
    op.stream = stream;
    op.start = start;
    op.end = stop;
  }
  void record(Event event, Stream stream, std::uint64_t sequence) {
    Call& made = call(CallType::kRecord);
    made.event = event;
    made.at = {stream, sequence};
  }
  void wait(Stream stream, Event event, Stream target, std::uint64_t sequence) {
    Call& made = call(CallType::kWait);
    made.event = event;
    made.at = {stream, 1};
    made.target = {target, sequence};
  }
  void block(Event event, Stream target, Nanos begin, Nanos end) {
    Operation& op = operation(OperationKind::kHostBlock, "site", begin, end);
    op.start = begin;
    op.end = end;
    call_of_last(CallType::kBlock);
    t.calls.back().event = event;
    t.calls.back().target = {target, 1};
  }
};

constexpr Stream kCopies{0}, kKernels{1}, kDefault{2};

void add_streams(Timeline& t) {
  t.streams = {{"h2d", StreamKind::kNonBlocking, 0},
               {"compute", StreamKind::kNonBlocking, 0},
               {"all", StreamKind::kLegacyDefault, 0}};
}

/// Two steps. The first prepares, copies in, launches a graph of two lanes and waits for the copy;
/// the second launches a kernel in the default stream.
Timeline two_traced_steps() {
  Log log;
  add_streams(log.t);
  log.t.buffers = {{"in", Memory::kPinned, 0, 6000}, {"x", Memory::kDevice, 0, 6000}};
  runtime::GraphNodeInfo carry, forward, side, flag;
  carry.name = "carry";
  forward.name = "forward";
  side.name = "side";
  side.type = NodeType::kCopy;
  side.kind = OperationKind::kCopyD2D;
  side.lane = 1;
  flag.name = "flag";
  flag.type = NodeType::kSignal;
  log.t.graphs = {{"step", {carry, forward, side, flag}}};

  log.span("prepare", 0, 1500);
  Operation& copy =
      log.enqueue(OperationKind::kCopyH2D, "inputs", kCopies, 1500, 2750, 4750, 10750);
  copy.bytes = 6000;
  copy.first_access = 0;
  copy.access_count = 2;
  log.t.accesses = {runtime::read({0}, 0, 6000), runtime::write({1}, 0, 6000)};
  log.record(Event{0}, kCopies, 1);
  log.wait(kKernels, Event{0}, kCopies, 1);
  Operation& launch =
      log.enqueue(OperationKind::kGraph, "step", kKernels, 3000, 4001, 12000, 20000);
  launch.graph = Graph{0};
  log.node(Graph{0}, 0, kKernels, 12000, 13000);
  log.node(Graph{0}, 1, kKernels, 13500, 20000);
  log.node(Graph{0}, 2, kKernels, 13200, 14200);
  log.t.operations.back().bytes = 10;
  log.node(Graph{0}, 3, kKernels, 20000, 20000);
  log.block(Event{0}, kCopies, 4200, 11000);
  log.step = 1;
  log.enqueue(OperationKind::kKernel, "say \"hi\"", kDefault, 12345678, 12346678, 1000000000001,
              1000000000004);
  return log.t;
}

std::string unzip(const std::filesystem::path& file) {
  std::string text;
  gzFile in = ::gzopen(file.c_str(), "rb");
  std::vector<char> part(1 << 16);
  for (int n = 0; (n = ::gzread(in, part.data(), static_cast<unsigned>(part.size()))) > 0;) {
    text.append(part.data(), static_cast<std::size_t>(n));
  }
  EXPECT_EQ(::gzclose(in), Z_OK);
  return text;
}

/// "category name pid/tid start+duration", times in nanoseconds.
std::string line(const json& e) {
  const auto ns = [](const json& us) {
    return std::to_string(std::llround(us.get<double>() * 1e3));
  };
  return e["cat"].get<std::string>() + " " + e["name"].get<std::string>() + " " + e["pid"].dump() +
         "/" + e["tid"].dump() + " " + ns(e["ts"]) + "+" + ns(e["dur"]);
}

class Trace : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(file_); }

  json write(const Timeline& timeline,
             const TraceOptions& options = {
                 .window = kAllSteps, .process = 42, .device = "a device"}) {
    write_trace(timeline, file_, options);
    text_ = unzip(file_);
    return json::parse(text_);
  }
  static std::vector<json> slices(const json& trace) {
    std::vector<json> found;
    for (const json& e : trace["traceEvents"]) {
      if (e["ph"] == "X") found.push_back(e);
    }
    return found;
  }
  static std::vector<std::string> lines(const json& trace) {
    std::vector<std::string> found;
    for (const json& e : slices(trace)) found.push_back(line(e));
    return found;
  }
  static json slice(const json& trace, const std::string& name) {
    for (const json& e : slices(trace)) {
      if (e["name"] == name) return e;
    }
    return nullptr;
  }

  std::filesystem::path file_ =
      std::filesystem::path(::testing::TempDir()) /
      (std::string("trace_") + ::testing::UnitTest::GetInstance()->current_test_info()->name() +
       ".json.gz");
  std::string text_;
};

TEST_F(Trace, ShowsEachSliceInItsRow) {
  EXPECT_THAT(
      lines(write(two_traced_steps())),
      ElementsAre(
          "user_annotation ProfilerStep#0 42/42 0+12345678", "cpu_op prepare 42/42 0+1500",
          "cuda_runtime cudaMemcpyAsync 42/42 1500+1250",
          "gpu_memcpy Memcpy HtoD (Pinned -> Device) 0/13 4750+6000",
          "cuda_runtime cudaEventRecord 42/42 2750+0",
          "cuda_runtime cudaStreamWaitEvent 42/42 2750+0", "cuda_sync Stream Wait Event 0/1 2750+0",
          "cuda_runtime cudaGraphLaunch 42/42 3000+1001", "kernel carry 0/14 12000+1000",
          "kernel forward 0/14 13500+6500",
          "gpu_memcpy Memcpy DtoD (Device -> Device) 0/19 13200+1000",
          "cuda_runtime cudaEventSynchronize 42/42 4200+6800", "cuda_sync Event Sync 0/1 4200+6800",
          "user_annotation ProfilerStep#1 42/42 12345678+1000",
          "cuda_runtime cudaLaunchKernel 42/42 12345678+1000",
          "kernel say \"hi\" 0/7 1000000000001+3"));
}

TEST_F(Trace, HasTheTimelinesTimesToTheNanosecond) {
  write(two_traced_steps());
  EXPECT_THAT(text_, HasSubstr(R"("tid": 7, "ts": 1000000000.001, "dur": 0.003)"));
}

TEST_F(Trace, SaysOfWorkAndWaitsWhatTheyBelongTo) {
  const json trace = write(two_traced_steps());
  EXPECT_EQ(slice(trace, "Memcpy HtoD (Pinned -> Device)")["args"],
            json::parse(R"json({"External id": 1, "operation": "inputs", "device": 0, "context": 1,
                            "stream": 13, "correlation": 1, "bytes": 6000,
                            "memory bandwidth (GB/s)": 1.0})json"));
  EXPECT_EQ(slice(trace, "forward")["args"],
            json::parse(R"({"External id": 1, "queued": 0, "device": 0, "context": 1,
                            "stream": 14, "correlation": 4, "graph id": 0, "graph node id": 1})"));
  EXPECT_EQ(slice(trace, "cudaGraphLaunch")["args"],
            json::parse(R"({"External id": 1, "correlation": 4})"));
  EXPECT_EQ(slice(trace, "Stream Wait Event")["args"],
            json::parse(R"({"External id": 1, "wait_on_stream": 13,
                            "wait_on_cuda_event_record_corr_id": 2, "wait_on_cuda_event_id": 0,
                            "device": 0, "context": 1, "stream": 14, "correlation": 3})"));
  EXPECT_EQ(slice(trace, "Event Sync")["args"]["stream"], -1);
  EXPECT_EQ(slice(trace, "Event Sync")["args"]["wait_on_cuda_event_record_corr_id"], 2);
}

TEST_F(Trace, JoinsEachLaunchToAllThatItStarted) {
  const json trace = write(two_traced_steps());
  std::map<int, int> starts;
  std::vector<std::string> flows;
  for (const json& e : trace["traceEvents"]) {
    if (e["ph"] != "s" && e["ph"] != "f") continue;
    EXPECT_EQ(e["cat"], "ac2g");
    EXPECT_EQ(e["name"], "ac2g");
    EXPECT_EQ(e.value("bp", ""), e["ph"] == "f" ? "e" : "");
    flows.push_back(e["id"].dump() + e["ph"].get<std::string>() + " " + e["pid"].dump() + "/" +
                    e["tid"].dump() + " " + e["ts"].dump());
  }
  EXPECT_THAT(flows, ElementsAre("1s 42/42 1.5", "1f 0/13 4.75", "4s 42/42 3.0", "4f 0/14 12.0",
                                 "4f 0/14 13.5", "4f 0/19 13.2", "6s 42/42 12345.678",
                                 "6f 0/7 1000000000.001"));
}

TEST_F(Trace, NamesItsRowsAndItself) {
  const json trace = write(two_traced_steps());
  EXPECT_EQ(trace["schemaVersion"], 1);
  EXPECT_EQ(trace["distributedInfo"]["rank"], 0);
  EXPECT_THAT(text_, HasSubstr(R"("rank": 0)"));
  EXPECT_EQ(trace["deviceProperties"], json::parse(R"([{"id": 0, "name": "a device"}])"));
  EXPECT_EQ(trace["displayTimeUnit"], "ms");
  std::vector<std::string> names;
  for (const json& e : trace["traceEvents"]) {
    if (e["name"] != "thread_name" && e["name"] != "process_labels") continue;
    const json& args = e["args"];
    names.push_back(e["pid"].dump() + "/" + e["tid"].dump() + " " +
                    (args.contains("name") ? args["name"] : args["labels"]).get<std::string>());
  }
  EXPECT_THAT(names,
              UnorderedElementsAre("42/0 CPU", "42/42 host 0", "0/0 GPU 0", "0/13 stream 13 h2d",
                                   "0/14 stream 14 compute", "0/19 stream 19 compute, lane 1",
                                   "0/7 stream 7 all", "0/1 synchronization"));
}

TEST_F(Trace, OfAWindowHasItsStepsAloneWithTheIdsOfTheWhole) {
  const json trace = write(two_traced_steps(), {.window = {1, 1}, .process = 42, .device = ""});
  EXPECT_THAT(lines(trace), ElementsAre("user_annotation ProfilerStep#1 42/42 12345678+1000",
                                        "cuda_runtime cudaLaunchKernel 42/42 12345678+1000",
                                        "kernel say \"hi\" 0/7 1000000000001+3"));
  EXPECT_EQ(slice(trace, "cudaLaunchKernel")["args"]["correlation"], 6);
  EXPECT_THAT(lines(write(two_traced_steps(), {.window = {2, 9}, .process = 0, .device = ""})),
              ElementsAre());
}

TEST_F(Trace, ShowsAGraphWhoseNodesHaveNoTimesAsOneKernel) {
  Timeline t = two_traced_steps();
  for (Operation& op : t.operations) {
    if (op.kind == OperationKind::kGraphNode) op.start = op.end = kUnknownTime;
  }
  EXPECT_EQ(line(slice(write(t), "step")), "kernel step 0/14 12000+8000");

  for (Operation& op : t.operations) {
    if (op.kind == OperationKind::kGraph) op.start = op.end = kUnknownTime;
  }
  const json trace = write(t);
  EXPECT_TRUE(slice(trace, "step").is_null());
  EXPECT_FALSE(slice(trace, "cudaGraphLaunch").is_null());
  for (const json& e : trace["traceEvents"]) {
    EXPECT_FALSE(e["ph"] == "s" && e["id"] == 4) << "a flow that leads nowhere";
  }
}

TEST_F(Trace, KeepsHostsAndDevicesApart) {
  Log log;
  log.t.hosts = 2;
  log.t.streams = {{"a", StreamKind::kNonBlocking, 0}, {"b", StreamKind::kNonBlocking, 1}};
  log.enqueue(OperationKind::kKernel, "k", Stream{0}, 10, 20, 30, 40);
  log.host = 1;
  log.enqueue(OperationKind::kKernel, "k", Stream{1}, 5, 6, 7, 8);
  Call& write_flag = log.call(CallType::kSignal);
  write_flag.at = {Stream{1}, 2};
  // Process 1 is a device's.
  EXPECT_THAT(
      lines(write(log.t, {.window = kAllSteps, .process = 1, .device = ""})),
      ElementsAre("user_annotation ProfilerStep#0 2/2 10+10",
                  "cuda_runtime cudaLaunchKernel 2/2 10+10", "kernel k 0/13 30+10",
                  "user_annotation ProfilerStep#0 2/3 5+1", "cuda_runtime cudaLaunchKernel 2/3 5+1",
                  "kernel k 1/14 7+1", "cuda_driver cuStreamWriteValue64 2/3 6+0"));
}

TEST_F(Trace, OfATimelineWithoutCallsIsRefused) {
  Timeline t = two_traced_steps();
  t.detail = runtime::Detail::kTimes;
  EXPECT_THROW(write(t), InvalidTimelineError);
}

TEST_F(Trace, OfATimelineThatContradictsItselfIsRefused) {
  Timeline missing = two_traced_steps();
  missing.streams.pop_back();
  EXPECT_THROW(write(missing), InvalidTimelineError);
  Timeline backwards = two_traced_steps();
  std::swap(backwards.calls[0].operation, backwards.calls[1].operation);
  EXPECT_THROW(write(backwards), InvalidTimelineError);
}

TEST_F(Trace, ThatCannotBeWrittenIsAnErrorThatNamesTheFile) {
  const auto error_of = [](const std::filesystem::path& file) -> std::string {
    try {
      write_trace(two_traced_steps(), file);
    } catch (const FileError& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(error_of("/dev/full"), "/dev/full: cannot be written: No space left on device");
  EXPECT_THAT(error_of("/nowhere/trace.json.gz"), StartsWith("/nowhere/trace.json.gz: "));
}

TEST_F(Trace, GivesTheSameBytesForTheSameTimeline) {
  const auto bytes = [this] {
    write(two_traced_steps());
    std::ifstream in(file_, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  EXPECT_EQ(bytes(), bytes());
}

// -- activities: what a profiler recorded, by hand ---------------------------------------------

runtime::Activity record(runtime::ActivityKind kind, const char* name, std::uint32_t correlation,
                         Nanos start, Nanos end) {
  runtime::Activity activity;
  activity.kind = kind;
  activity.name = name;
  activity.correlation = correlation;
  activity.start = start;
  activity.end = end;
  return activity;
}

/// The first of two_traced_steps(), and what was recorded of its copy, its graph and its block; of
/// the second step's kernel nothing was.
Timeline recorded_sample() {
  using enum runtime::ActivityKind;
  Timeline t = two_traced_steps();
  runtime::Log<runtime::Activity> records;
  records.push_back(record(kRuntimeCall, "cudaMemcpyAsync", 70, 1600, 2600));
  records.push_back(record(kCopy, "Memcpy HtoD (Pinned -> Device)", 70, 4800, 10700));
  records.back().stream = kCopies;
  records.back().bytes = 5900;
  records.push_back(record(kRuntimeCall, "cudaStreamWaitEvent", 71, 2800, 2900));
  records.push_back(record(kRuntimeCall, "cudaGraphLaunch", 72, 3100, 4000));
  records.push_back(record(kKernel, "gather", 72, 12100, 12900));
  records.back().node = 0;
  records.push_back(record(kKernel, "gemm", 72, 13600, 19900));
  records.back().node = 1;
  records.push_back(record(kFill, "Memset (Device)", 72, 13300, 13400));
  records.back().node = 2;
  records.push_back(record(kKernel, "helper", 72, 13650, 13700));
  records.back().native_stream = 5;
  records.push_back(record(kRuntimeCall, "cudaEventSynchronize", 73, 4300, 10900));
  records.push_back(record(kSync, "Event Sync", 73, 4310, 10890));
  records.push_back(record(kRuntimeCall, "cudaEventRecord", 80, 999'000'000, 999'000'100));
  runtime::attach_activities(records, t);
  t.activities = runtime::Activities{std::move(records), 0};
  return t;
}

TEST_F(Trace, ShowsWhatWasRecordedBelowTheOperations) {
  EXPECT_THAT(
      lines(write(recorded_sample())),
      ElementsAre("user_annotation ProfilerStep#0 42/42 0+12345678", "cpu_op prepare 42/42 0+1500",
                  "cpu_op inputs 42/42 1500+1250", "gpu_user_annotation inputs 0/13 4800+5900",
                  "cuda_runtime cudaMemcpyAsync 42/42 1600+1000",
                  "gpu_memcpy Memcpy HtoD (Pinned -> Device) 0/13 4800+5900",
                  "cpu_op step 42/42 3000+1001", "gpu_user_annotation step 0/14 12100+7800",
                  "cuda_runtime cudaGraphLaunch 42/42 3100+900", "kernel gather 0/14 12100+800",
                  "gpu_memset Memset (Device) 0/19 13300+100", "kernel gemm 0/14 13600+6300",
                  "kernel helper 0/27 13650+50", "cpu_op site 42/42 4200+6800",
                  "cuda_runtime cudaEventSynchronize 42/42 4300+6600",
                  "cuda_sync Event Sync 0/1 4310+6580",
                  "user_annotation ProfilerStep#1 42/42 12345678+1000",
                  "cuda_runtime cudaLaunchKernel 42/42 12345678+1000",
                  "kernel say \"hi\" 0/7 1000000000001+3",
                  "cuda_runtime cudaStreamWaitEvent 42/42 2800+100"));
}

TEST_F(Trace, SaysOfRecordsWhatTheyBelongToAndJoinsThem) {
  const json trace = write(recorded_sample());
  EXPECT_EQ(slice(trace, "gemm")["args"],
            json::parse(R"({"External id": 1, "operation": "forward", "queued": 0, "device": 0,
                            "context": 1, "stream": 14, "correlation": 72, "graph id": 0,
                            "graph node id": 1})"));
  EXPECT_EQ(slice(trace, "helper")["args"]["operation"], "step");
  EXPECT_EQ(slice(trace, "helper")["args"]["graph node id"], -1);
  EXPECT_EQ(slice(trace, "Event Sync")["args"]["stream"], -1);
  // What was not recorded has ids that no record has.
  EXPECT_GT(slice(trace, "cudaLaunchKernel")["args"]["correlation"], 80);
  std::map<int, std::string> flows;
  for (const json& e : trace["traceEvents"]) {
    if (e["ph"] == "s" || e["ph"] == "f") flows[e["id"]] += e["ph"].get<std::string>();
  }
  flows.erase(flows.upper_bound(80), flows.end());
  EXPECT_THAT(flows, ElementsAre(std::pair(70, "sf"), std::pair(72, "sffff")));
}

TEST_F(Trace, OfAWindowHasTheRecordsOfItsStepsAlone) {
  EXPECT_THAT(lines(write(recorded_sample(), {.window = {1, 1}, .process = 42, .device = ""})),
              ElementsAre("user_annotation ProfilerStep#1 42/42 12345678+1000",
                          "cuda_runtime cudaLaunchKernel 42/42 12345678+1000",
                          "kernel say \"hi\" 0/7 1000000000001+3"));
}

}  // namespace
}  // namespace syncopate::analysis
