// Traces of requests: the three layouts, what cannot be read and where, and a run of one.
#include "experiments/config/request_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "experiments/config/length_file.h"
#include "experiments/config/load.h"
#include "experiments/run/run.h"
#include "experiments/run/workload.h"
#include "experiments/yaml/error.h"
#include "tests/experiments/scratch.h"

namespace syncopate::experiments {
namespace {

using runtime::Nanos;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class RequestTrace : public testing::Test {
 protected:
  /// "arrival in ns, prompt, output" of each.
  std::vector<std::string> read(const std::string& text) {
    std::vector<std::string> out;
    for (const TracedRequest& row : read_request_trace(scratch_.write("trace.csv", text))) {
      out.push_back(std::to_string(row.arrival) + ", " + std::to_string(row.prompt_tokens) + ", " +
                    std::to_string(row.output_tokens));
    }
    return out;
  }
  /// Behind the folder's name.
  std::string error(const std::string& text) {
    try {
      read(text);
    } catch (const yaml::ConfigError& error) {
      const std::string what = error.what();
      return what.substr(what.find("trace.csv"));
    }
    return "no error";
  }
  const Scratch scratch_;
};

TEST_F(RequestTrace, OfSecondsIsReadToTheNanosecond) {
  EXPECT_THAT(read("arrival_s,prompt_tokens,output_tokens\n"
                   "10.000000001,5,6\n"
                   "12.5,700,8\r\n"
                   "9,1,0\n"),
              ElementsAre("1000000001, 5, 6", "3500000000, 700, 8", "0, 1, 0"));
}

TEST_F(RequestTrace, OfAzureIsReadOverMidnightAndTheEndOfAMonth) {
  EXPECT_THAT(read("TIMESTAMP,ContextTokens,GeneratedTokens\n"
                   "2024-02-28 23:59:59.9799600,4808,10\n"
                   "2024-02-29 00:00:00.0000001,374,44\n"
                   "2024-03-01T00:00:00+00:00,3,4\n"),
              ElementsAre("0, 4808, 10", "20040100, 374, 44", "86400020040000, 3, 4"));
}

TEST_F(RequestTrace, OfBurstGptIsReadWithItsFailedRequests) {
  EXPECT_THAT(read("Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
                   "5,ChatGPT,472,18,490,Conversation log\n"
                   "45.0,GPT-4,1087,0,1087,API log\n"),
              ElementsAre("0, 472, 18", "40000000000, 1087, 0"));
}

TEST_F(RequestTrace, WhatCannotBeReadIsToldWithItsPlace) {
  const std::string head = "arrival_s,prompt_tokens,output_tokens\n";
  EXPECT_THAT(error(""), StartsWith("trace.csv: is empty"));
  EXPECT_THAT(error(head), StartsWith("trace.csv: has no request"));
  EXPECT_THAT(error("time,tokens\n1,2\n"),
              StartsWith("trace.csv:1:1: 'time,tokens' are no trace's columns. Known: arrival_s"));
  EXPECT_THAT(error(head + "1,2,3\n4,5\n"), StartsWith("trace.csv:3:1: has 2 columns"));
  EXPECT_THAT(error(head + "1,2,3,4,5,6,7,8\n"), StartsWith("trace.csv:2:1: has 8 columns"));
  EXPECT_THAT(error(head + "1,2,3\n4,5,-6\n"),
              StartsWith("trace.csv:3:5: '-6' is no number of tokens"));
  EXPECT_THAT(error(head + "1,99999999,3\n"), StartsWith("trace.csv:2:3: '99999999' is no number"));
  EXPECT_THAT(error(head + "1.5.2,2,3\n"), StartsWith("trace.csv:2:1: '1.5.2' is no time in sec"));
  EXPECT_THAT(error(head + ",2,3\n"), StartsWith("trace.csv:2:1: '' is no time in seconds"));
  const std::string azure = "TIMESTAMP,ContextTokens,GeneratedTokens\n";
  for (const char* time : {"12.5", "2023-02-29 00:00:00.0", "2023-01-01 24:00:00", "2023-1-1 1:1:1",
                           "1969-12-31 23:59:59", "2023-01-01 00:00"}) {
    EXPECT_THAT(error(azure + time + ",2,3\n"), StartsWith("trace.csv:2:1: ")) << time;
  }
  EXPECT_THROW(read_request_trace(scratch_.folder() / "nowhere.csv"), yaml::ConfigError);
}

TEST_F(RequestTrace, LengthsOfAFileAreDrawnAsOftenAsTheyStandThere) {
  GeneratedRequests c;
  c.count = 30'000;
  c.prompt_tokens = Lengths(1);
  c.prompt_tokens->max = 500;
  c.prompt_tokens->file = scratch_.write("lengths.txt", "7\r\n\n7\n40\n900\n").string();
  c.max_new_tokens = Lengths(1);
  std::map<std::size_t, int> seen;
  for (const batching::Request& request : make_requests(c, 16)) ++seen[request.prompt.size()];
  ASSERT_EQ(seen.size(), 3U);
  EXPECT_NEAR(seen[7], 15'000, 400);  // the deviation is 87
  EXPECT_NEAR(seen[40], 7'500, 350);
  EXPECT_NEAR(seen[500], 7'500, 350);  // of 900, which is beyond the most

  const auto wrong = [&](const char* text) {
    try {
      read_lengths(scratch_.write("lengths.txt", text));
    } catch (const yaml::ConfigError& error) {
      const std::string what = error.what();
      return what.substr(what.find("lengths.txt"));
    }
    return std::string("no error");
  };
  EXPECT_EQ(wrong("5\n4 \n"), "lengths.txt:2:1: '4 ' is no number of tokens, from 1 to 16777216");
  EXPECT_THAT(wrong("0\n"), StartsWith("lengths.txt:1:1: '0' is no number"));
  EXPECT_EQ(wrong("\n"), "lengths.txt: has no length");
  EXPECT_THROW(read_lengths(scratch_.folder() / "nowhere.txt"), yaml::ConfigError);
}

constexpr const char* kServed = R"(
program: batching
runtime: {kind: sim, profile: h200, effects: off}
model: {kind: hash}
strategy: {kind: async}
requests: {trace: trace.csv, rate_scale: 2}
limits: {rows: 2, tokens: 16, pages: 100}
)";

TEST_F(RequestTrace, IsServedAtItsTimesAndLengths) {
  scratch_.write("trace.csv",
                 "arrival_s,prompt_tokens,output_tokens\n3,4,5\n3.5,6,7\n4,1,0\n5,2,2\n");
  const ResolvedConfig config = load_config(scratch_.write("a.yaml", kServed));
  const RunResult run = run_config(config);
  const auto& requests = run.batching().requests;
  ASSERT_EQ(requests.size(), 4U);
  const Nanos start = requests[0].arrival;
  EXPECT_EQ(requests[1].arrival - start, 250'000'000);
  EXPECT_EQ(requests[3].arrival - start, 1'000'000'000);
  EXPECT_EQ(requests[1].prompt_tokens, 6U);
  EXPECT_EQ(requests[1].new_tokens(), 7U);
  EXPECT_EQ(requests[2].reason, batching::FinishReason::kRefused);  // of no length
  EXPECT_EQ(requests[3].new_tokens(), 2U);

  const auto two = load_config(scratch_.folder() / "a.yaml", {{"requests.count=2"}, {}, false});
  EXPECT_EQ(run_config(two).batching().requests.size(), 2U);
}

TEST_F(RequestTrace, ASecondSourceOfWhatItSaysIsRefused) {
  scratch_.write("trace.csv", "arrival_s,prompt_tokens,output_tokens\n3,4,5\n");
  const auto file = scratch_.write("a.yaml", kServed);
  const auto refused = [&](const char* set) {
    try {
      load_config(file, {{set}, {}, false});
    } catch (const yaml::ConfigError& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  for (const char* set :
       {"requests.prompt_tokens=4", "requests.max_new_tokens=4", "requests.interval_ms=3",
        "requests.arrivals={kind: poisson, rate_per_s: 1}"}) {
    EXPECT_THAT(refused(set), HasSubstr("is what requests.trace says: keep one")) << set;
  }
  EXPECT_THAT(refused("requests.trace=other.csv"), HasSubstr("other.csv: cannot be read"));
}

}  // namespace
}  // namespace syncopate::experiments
