#include "analysis/timeline_io.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <sstream>

#include "analysis/error.h"
#include "analysis/metrics.h"
#include "analysis/races.h"
#include "tests/analysis/program.h"

namespace syncopate::analysis {
namespace {

using runtime::NodeType;
using runtime::Timeline;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class TimelineFile : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(file); }

  std::string text() const {
    std::ifstream in(file, std::ios::binary);
    std::ostringstream all;
    all << in.rdbuf();
    return all.str();
  }
  void put(const std::string& text) const { std::ofstream(file, std::ios::binary) << text; }
  std::string error_of(const std::string& spoilt) const {
    put(spoilt);
    try {
      read_timeline(file);
    } catch (const FileError& error) {
      return error.what();
    }
    return "no error";
  }

  std::filesystem::path file =
      std::filesystem::path(::testing::TempDir()) /
      (std::string("timeline_") + ::testing::UnitTest::GetInstance()->current_test_info()->name() +
       ".json");
};

/// Two hosts, every kind of call, and every field other than its default somewhere.
Timeline sample() {
  Program p(2);
  const Stream s = p.stream("s \"quoted\" \\ \n\u00e9"), u = p.stream("u");
  const Buffer x = p.buffer("x", UINT64_MAX);
  GraphNodeInfo first, second;
  first.name = "first";
  second.name = "second";
  second.type = NodeType::kSignal;
  second.kind = OperationKind::kCopyD2D;
  second.lane = 1;
  second.flag = Flag{4};
  second.value = 1ULL << 63U;
  second.cycle = 3;
  second.after = {0};
  const Graph graph = p.graph("graph", {first, second});
  p.on(0).step(3).launch(s, "kernel", {write(x, 0, UINT64_MAX), read(x, 5, 6)});
  p.record(Event{2}, s);
  p.wait(u, Event{2});
  p.wait(u, p.end_of(s), /*implicit=*/true);
  p.launch_graph(graph, u, "launch", {write(x, 0, 4)}, {{read(x, 1, 2)}});
  p.block(Event{2});
  p.see(Event{2});
  p.on(1).step(-1).span("span", {runtime::access_of({x, 0, 1, 3, 4}, /*write=*/false)});
  Timeline t = p.timeline();
  t.streams[1].kind = runtime::StreamKind::kLegacyDefault;
  t.streams[1].device = 1;
  t.buffers[0].memory = runtime::Memory::kPageable;
  t.buffers[0].device = 1;
  t.end = 1'000'000'000'000'000;
  runtime::Operation& op = t.operations[0];
  op.bytes = UINT64_MAX;
  op.issue_begin = 11;
  op.issue_end = 12;
  op.start = 13;
  op.end = 999'999'999'999'999;
  return t;
}

TEST_F(TimelineFile, ComesBackAsItWas) {
  const Timeline in = sample();
  write_timeline(in, file);
  const Timeline out = read_timeline(file);

  EXPECT_EQ(out.detail, in.detail);
  EXPECT_EQ(out.hosts, in.hosts);
  EXPECT_EQ(out.end, in.end);
  ASSERT_EQ(out.streams.size(), in.streams.size());
  for (std::size_t i = 0; i < in.streams.size(); ++i) {
    EXPECT_EQ(out.streams[i].label, in.streams[i].label);
    EXPECT_EQ(out.streams[i].kind, in.streams[i].kind);
    EXPECT_EQ(out.streams[i].device, in.streams[i].device);
  }
  ASSERT_EQ(out.buffers.size(), 1);
  EXPECT_EQ(out.buffers[0].label, "x");
  EXPECT_EQ(out.buffers[0].memory, runtime::Memory::kPageable);
  EXPECT_EQ(out.buffers[0].device, 1);
  EXPECT_EQ(out.buffers[0].bytes, UINT64_MAX);
  ASSERT_EQ(out.graphs.size(), 1);
  EXPECT_EQ(out.graphs[0].label, "graph");
  ASSERT_EQ(out.graphs[0].nodes.size(), 2);
  const GraphNodeInfo& node = out.graphs[0].nodes[1];
  EXPECT_STREQ(node.name, "second");
  EXPECT_EQ(node.type, NodeType::kSignal);
  EXPECT_EQ(node.kind, OperationKind::kCopyD2D);
  EXPECT_EQ(node.lane, 1);
  EXPECT_EQ(node.flag, Flag{4});
  EXPECT_EQ(node.value, 1ULL << 63U);
  EXPECT_EQ(node.cycle, 3);
  EXPECT_EQ(node.after, std::vector<std::uint16_t>{0});
  ASSERT_EQ(out.operations.size(), in.operations.size());
  for (std::size_t i = 0; i < in.operations.size(); ++i) {
    const runtime::Operation &a = in.operations[i], &b = out.operations[i];
    EXPECT_STREQ(a.name, b.name);
    EXPECT_EQ(
        std::tie(a.kind, a.kind_in_graph, a.host, a.node, a.stream, a.step, a.graph, a.first_access,
                 a.access_count, a.bytes, a.issue_begin, a.issue_end, a.start, a.end),
        std::tie(b.kind, b.kind_in_graph, b.host, b.node, b.stream, b.step, b.graph, b.first_access,
                 b.access_count, b.bytes, b.issue_begin, b.issue_end, b.start, b.end));
  }
  ASSERT_EQ(out.calls.size(), in.calls.size());
  for (std::size_t i = 0; i < in.calls.size(); ++i) {
    const runtime::Call &a = in.calls[i], &b = out.calls[i];
    EXPECT_STREQ(a.site, b.site);
    EXPECT_EQ(std::tie(a.type, a.implicit, a.host, a.operation, a.at.stream, a.at.sequence,
                       a.target.stream, a.target.sequence, a.event, a.flag, a.value),
              std::tie(b.type, b.implicit, b.host, b.operation, b.at.stream, b.at.sequence,
                       b.target.stream, b.target.sequence, b.event, b.flag, b.value));
  }
  ASSERT_EQ(out.accesses.size(), in.accesses.size());
  for (std::size_t i = 0; i < in.accesses.size(); ++i) {
    const Access &a = in.accesses[i], &b = out.accesses[i];
    EXPECT_EQ(std::tie(a.buffer, a.begin, a.end, a.write, a.pitch, a.width),
              std::tie(b.buffer, b.begin, b.end, b.write, b.pitch, b.width));
  }
}

TEST_F(TimelineFile, WithWhatAProfilerRecordedComesBackToo) {
  Timeline in = sample();
  write_timeline(in, file);
  EXPECT_FALSE(read_timeline(file).activities.has_value());

  runtime::Activity known;
  known.name = "gemm<float>";
  known.kind = runtime::ActivityKind::kFill;
  known.device = 1;
  known.node = 3;
  known.operation = 1;
  known.correlation = 4'000'000'000;
  known.stream = Stream{1};
  known.native_stream = 77;
  known.bytes = UINT64_MAX;
  known.start = -5;
  known.end = 6;
  const runtime::Activity unknown;
  in.activities = runtime::Activities{{known, unknown}, 9};
  write_timeline(in, file);
  const Timeline out = read_timeline(file);
  ASSERT_TRUE(out.activities.has_value());
  EXPECT_EQ(out.activities->dropped, 9U);
  ASSERT_EQ(out.activities->records.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    const runtime::Activity &a = in.activities->records[i], &b = out.activities->records[i];
    EXPECT_STREQ(a.name, b.name);
    EXPECT_EQ(std::tie(a.kind, a.device, a.node, a.operation, a.correlation, a.stream,
                       a.native_stream, a.bytes, a.start, a.end),
              std::tie(b.kind, b.device, b.node, b.operation, b.correlation, b.stream,
                       b.native_stream, b.bytes, b.start, b.end));
  }
  in.activities->records[0].operation = 1000;
  write_timeline(in, file);
  EXPECT_THROW(read_timeline(file), FileError);
}

TEST_F(TimelineFile, OfARunWithTimesOnlyComesBackToo) {
  Timeline in;
  in.detail = runtime::Detail::kTimes;
  in.operations.resize(3);
  write_timeline(in, file);
  const Timeline out = read_timeline(file);
  EXPECT_EQ(out.detail, runtime::Detail::kTimes);
  EXPECT_EQ(out.operations.size(), 3);
  EXPECT_EQ(out.operations[2].start, runtime::kUnknownTime);
  EXPECT_FALSE(out.operations[2].stream);
}

TEST_F(TimelineFile, IsTheSameWhenWrittenAgain) {
  write_timeline(sample(), file);
  const std::string once = text();
  write_timeline(read_timeline(file), file);
  EXPECT_EQ(text(), once);
}

TEST_F(TimelineFile, ThatIsWrongIsRefusedWithTheFileThePlaceAndTheReason) {
  write_timeline(sample(), file);
  const std::string good = text();
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string bad = good;
    bad.replace(bad.find(from), from.size(), to);
    return error_of(bad);
  };
  EXPECT_THAT(error_of(good + "x"), StartsWith(file.string() + ": not JSON from byte "));
  EXPECT_THAT(error_of(""), HasSubstr("not JSON"));
  EXPECT_THAT(error_of("[]"), HasSubstr("format: stands in something that is not an object"));
  EXPECT_EQ(changed("\"version\":1", "\"version\":2"),
            file.string() + ": version: only version 1 can be read");
  EXPECT_THAT(changed("\"h2d\"", "\"x\""), HasSubstr("operation_kinds: not the names"));
  EXPECT_THAT(changed("\"hosts\":2", "\"hosts\":70000"), HasSubstr("hosts: 70000 is out of range"));
  EXPECT_THAT(changed("\"hosts\":2", "\"hosts\":2.5"), HasSubstr("hosts: not a whole number"));
  EXPECT_THAT(changed("\"memory\":[2]", "\"memory\":[3]"),
              HasSubstr("buffers.memory[0]: 3 is out of range: there are 3"));
  EXPECT_THAT(changed("\"memory\":[2]", "\"memory\":[2,2]"),
              HasSubstr("buffers.memory: 2 values, but 1 in the column before"));
  EXPECT_THAT(changed("\"after\":[[],[0]]", "\"after\":[[],[1]]"),
              HasSubstr("graphs.nodes.after[1]: node 1 does not come before it"));
  EXPECT_THAT(changed("\"access_count\":[2", "\"access_count\":[9"),
              HasSubstr("operations.first_access[0]: points past the last of 5 accesses"));
  EXPECT_THAT(changed("\"access\":[4]", "\"access\":[5]"),
              HasSubstr("strides[0]: 5 is out of range: there are 5"));
  EXPECT_THAT(changed("\"pitch\":[4]", "\"pitch\":[1]"),
              HasSubstr("strides[0]: rows without gaps between them"));
  EXPECT_THAT(changed("\"issue_begin\"", "\"issue_bygone\""), HasSubstr("issue_begin: missing"));
}

TEST_F(TimelineFile, ThatIsMissingOrInNoFolderIsNamed) {
  EXPECT_THROW(read_timeline("no/such/file.json"), FileError);
  EXPECT_THROW(write_timeline(Timeline{}, "no/such/folder/timeline.json"), FileError);
}

TEST_F(TimelineFile, CutShortAnywhereIsATypedError) {
  write_timeline(sample(), file);
  const std::string good = text();
  for (std::size_t length = 0; length + 2 < good.size(); length += 3) {
    EXPECT_THAT(error_of(good.substr(0, length)), HasSubstr("not JSON")) << "cut at " << length;
  }
}

TEST_F(TimelineFile, WithAnyBytesChangedIsReadOrRefusedAndNeverCrashesWhatReadsIt) {
  write_timeline(sample(), file);
  const std::string good = text();
  // On until enough have been of either kind: how many seeds that takes depends on the JSON
  // library.
  int read = 0;
  int refused = 0;
  for (std::uint64_t seed = 0; read < 100 || refused < 1000; ++seed) {
    ASSERT_LT(seed, 100'000U) << read << " read, " << refused << " refused";
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    std::string bad = good;
    for (std::uint64_t flips = 1 + random() % 2; flips > 0; --flips) {
      char& byte = bad[random() % bad.size()];
      const std::string likely = byte >= '0' && byte <= '9' ? "0123456789" : "0,-[]\"";
      byte =
          random() % 4 == 0 ? static_cast<char>(random() % 256) : likely[random() % likely.size()];
    }
    put(bad);
    try {
      const Timeline timeline = read_timeline(file);
      ++read;
      for (const Race& race : find_races(timeline)) (void)describe(timeline, race);
      (void)measure(timeline);
    } catch (const runtime::Error&) {
      ++refused;
    }
  }
}

}  // namespace
}  // namespace syncopate::analysis
