// Each way to get a configuration wrong, with the message that it must give.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "experiments/config/load.h"
#include "experiments/yaml/error.h"
#include "tests/experiments/scratch.h"

namespace syncopate::experiments {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Lines 1 to 7, 8 to 10 and 11 to 15 of the files below.
constexpr const char* kBeforeStrategy =
    "program: batching\n"
    "runtime: {kind: cpu}\n"
    "model:\n"
    "  kind: hash\n"
    "  vocab: 64\n"
    "  seed: 3\n"
    "  max_positions: 100\n";
constexpr const char* kStrategy =
    "strategy:\n"
    "  kind: async\n"
    "  slots: 2\n";
constexpr const char* kTail =
    "requests:\n"
    "  count: 4\n"
    "  prompt_tokens: 8\n"
    "  max_new_tokens: {min: 4, max: 16}\n"
    "limits: {rows: 4, tokens: 32, page_tokens: 4, pages: 16}\n";

std::string valid() { return std::string(kBeforeStrategy) + kStrategy + kTail; }

/// `text` with the one place that says `from` saying `to`.
std::string replace(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  EXPECT_EQ(text.find(from, at + 1), std::string::npos) << from << " stands there twice";
  return text.replace(at, from.size(), to);
}

std::string error_of(const std::filesystem::path& file, const Overrides& overrides = {}) {
  try {
    load_config(file, overrides);
  } catch (const yaml::ConfigError& error) {
    return error.what();
  }
  return "no error";
}

struct Case {
  const char* name;
  std::string text;
  std::string place;  ///< ":line:column: ", or ": ".
  std::vector<std::string> parts;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class ConfigError : public testing::TestWithParam<Case> {};

TEST_P(ConfigError, NamesThePlaceAndWhatWouldBeRight) {
  const Case& c = GetParam();
  const Scratch scratch;
  const auto file = scratch.write("a.yaml", c.text);
  const std::string error = error_of(file);
  EXPECT_THAT(error, StartsWith(file.string() + c.place));
  for (const std::string& part : c.parts) EXPECT_THAT(error, HasSubstr(part));
  EXPECT_EQ(error.find('\n'), std::string::npos) << "one line";
}

const std::string kDeep = std::string(5000, '[') + std::string(5000, ']');

INSTANTIATE_TEST_SUITE_P(
    All, ConfigError,
    testing::Values(
        Case{"UnknownKey",
             replace(valid(), "slots:", "slot:"),
             ":10:3: ",
             {"unknown key 'slot' in strategy", "did you mean 'slots'?",
              "Allowed: kind, slots, graphs, pinned, blocking_streams, "
              "d2h_on_default, allow_races"}},
        Case{"UnknownKeyLikeNone",
             replace(valid(), "slots:", "colour:"),
             ":10:3: ",
             {"unknown key 'colour' in strategy. Allowed: kind, slots"}},
        Case{"UnknownTopKey",
             valid() + "limit: 3\n",
             ":16:1: ",
             {"unknown key 'limit' in the file", "did you mean 'limits'?"}},
        Case{"UnknownModelKey",
             replace(valid(), "vocab:", "hidden:"),
             ":5:3: ",
             {"unknown key 'hidden' in model", "Allowed: kind, vocab, seed, max_positions"}},
        Case{"UnknownChoice",
             replace(valid(), "async", "asinc"),
             ":9:9: ",
             {"strategy.kind: unknown value 'asinc'", "did you mean 'async'?",
              "default_stream, unordered, ordered, async"}},
        Case{"UnknownModel",
             replace(valid(), "kind: hash", "kind: gpt"),
             ":4:9: ",
             {"model.kind: unknown value 'gpt'", "Allowed: hash, llama"}},
        Case{"WrongType",
             replace(valid(), "slots: 2", "slots: two"),
             ":10:10: ",
             {"strategy.slots: expected an integer from 1 to 64, got 'two'"}},
        Case{"QuotedNumber",
             replace(valid(), "slots: 2", "slots: '2'"),
             ":10:10: ",
             {"expected an integer from 1 to 64, got the text \"2\""}},
        Case{"FractionForInteger",
             replace(valid(), "slots: 2", "slots: 2.5"),
             ":10:10: ",
             {"expected an integer", "got '2.5'"}},
        Case{"OutOfRange",
             replace(valid(), "slots: 2", "slots: 65"),
             ":10:10: ",
             {"strategy.slots: 65 is out of range: expected an integer from 1 to 64"}},
        Case{"Negative",
             replace(valid(), "seed: 3", "seed: -3"),
             ":6:9: ",
             {"model.seed: -3 is out of range", "at least 0"}},
        Case{"TooLargeForAnyInteger",
             replace(valid(), "seed: 3", "seed: 99999999999999999999"),
             ":6:9: ",
             {"is out of range"}},
        Case{"NotABool",
             valid() + "output: {log: maybe}\n",
             ":16:15: ",
             {"output.log: expected true or false (or on, off), got 'maybe'"}},
        Case{"Infinity",
             valid() + "host: {extra_us: inf}\n",
             ":16:18: ",
             {"host.extra_us: expected a number from 0 to 1000000, got 'inf'"}},
        Case{"DuplicateKey",
             replace(valid(), "  slots: 2\n", "  slots: 2\n  slots: 3\n"),
             ":11:3: ",
             {"duplicate key 'slots'", "line 10, column 3"}},
        Case{"DuplicateKeyInBraces",
             replace(valid(), "rows: 4,", "rows: 4, rows: 5,"),
             ":15:19: ",
             {"duplicate key 'rows'"}},
        Case{"MissingKey",
             replace(valid(), "  count: 4\n", ""),
             ":12:3: ",
             {"requests: lacks count: count, prompt_tokens and max_new_tokens say what to draw, or "
              "a "
              "trace what came"}},
        Case{"MissingSection",
             replace(valid(), kStrategy, ""),
             ":1:1: ",
             {"the file lacks the key 'strategy'"}},
        Case{"EmptyValue",
             replace(valid(), "kind: async", "kind:"),
             ":9:3: ",
             {"strategy.kind: expected one of: default_stream", "got nothing"}},
        Case{"ListForMap",
             replace(valid(), "runtime: {kind: cpu}", "runtime: [cpu]"),
             ":2:10: ",
             {"runtime: expected a map of keys and values, got a list"}},
        Case{"ScalarForMap",
             replace(valid(), "runtime: {kind: cpu}", "runtime: cpu"),
             ":2:10: ",
             {"runtime: expected a map of keys and values, got 'cpu'"}},
        Case{"MapForScalar",
             replace(valid(), "slots: 2", "slots: {a: 1}"),
             ":10:10: ",
             {"strategy.slots: expected an integer from 1 to 64, got a map"}},
        Case{"ListAsFile", "- a\n- b\n", ":1:1: ", {"the file: expected a map", "got a list"}},
        Case{"Empty", "", ": ", {"is empty"}},
        Case{"OnlyComments", "# nothing\n\n", ": ", {"is empty"}},
        Case{"ByteOrderMarkAlone", "\xEF\xBB\xBF", ": ", {"is empty"}},
        Case{"SecondDocument", valid() + "---\na: 1\n", ":17:1: ", {"a second document"}},
        Case{"Tab",
             replace(valid(), "  slots: 2", "\tslots: 2"),
             ":10:1: ",
             {"a tab as indentation"}},
        Case{"BadSyntax",
             replace(valid(), "runtime: {kind: cpu}", "runtime: {kind: cpu"),
             ":2:10: ",
             {"this bracket is not closed"}},
        Case{"Nul", std::string("a: \0b", 5), ":1:4: ", {"not UTF-8 text"}},
        Case{"Utf16",
             "\xFF\xFE"
             "a",
             ": ",
             {"not UTF-8 text"}},
        Case{"Anchor", replace(valid(), "slots: 2", "slots: &n 2"), ":10:", {"anchors"}},
        Case{"Alias", replace(valid(), "slots: 2", "slots: *n"), ":10:", {}},
        Case{"Tag", replace(valid(), "slots: 2", "slots: !!int 2"), ":10:", {"tags"}},
        Case{"Deep", "a: " + kDeep, ":1:", {"is nested too deeply"}},
        Case{"UnorderedIsRefused",
             replace(replace(valid(), "kind: async", "kind: unordered"), "slots: 2", "slots: 1"),
             ":9:9: ",
             {"strategy.kind: unordered has races", "allow_races: true"}},
        Case{"AsyncWithOneSlotIsRefused",
             replace(valid(), "slots: 2", "slots: 1"),
             ":10:10: ",
             {"async with 1 slot", "allow_races: true"}},
        Case{"StreamsOfTheDefaultStream",
             replace(replace(valid(), "kind: async", "kind: default_stream"), "slots: 2",
                     "d2h_on_default: true"),
             ":10:19: ",
             {"strategy.d2h_on_default: default_stream has no streams of its own", "remove it"}},
        Case{"SlotsWithoutAsync",
             replace(valid(), "kind: async", "kind: ordered"),
             ":10:10: ",
             {"ordered has one step in flight"}},
        Case{"EffectsOffOnCpu",
             replace(valid(), "{kind: cpu}", "{kind: cpu, effects: off}"),
             ":2:31: ",
             {"runtime.effects: off is for sim only: cpu always computes"}},
        Case{"EosWithoutEffects",
             replace(replace(valid(), "{kind: cpu}", "{kind: sim, profile: post, effects: off}"),
                     "  count: 4", "  eos: 1\n  count: 4"),
             ":12:8: ",
             {"requests.eos: with runtime.effects off no tokens exist"}},
        Case{"TokensWithoutEffects",
             replace(valid(), "{kind: cpu}", "{kind: sim, profile: post, effects: off}") +
                 "output: {tokens: on}\n",
             ":16:18: ",
             {"output.tokens: with runtime.effects off no tokens exist"}},
        Case{"TraceWithoutLog",
             valid() + "output: {log: off, trace: on}\n",
             ":16:27: ",
             {"output.trace: a trace is made from the log: set output.log: true"}},
        Case{"WindowWithoutTrace",
             valid() + "output: {window: [1, 2]}\n",
             ":16:18: ",
             {"output.window: limits the trace, and none is written"}},
        Case{"WindowBackwards",
             valid() + "output: {trace: on, window: [3, 2]}\n",
             ":16:29: ",
             {"output.window: the first step, 3, is after the last, 2"}},
        Case{"WindowOfThree",
             valid() + "output: {trace: on, window: [1, 2, 3]}\n",
             ":16:29: ",
             {"output.window: expected a list of 2, got one of 3"}},
        Case{"WindowOfOneStep",
             valid() + "output: {trace: on, window: 4}\n",
             ":16:29: ",
             {"output.window: expected a list of 2, got '4'"}},
        Case{"WindowBeforeTheFirstStep",
             valid() + "output: {trace: on, window: [-1, 2]}\n",
             ":16:30: ",
             {"output.window[0]: -1 is out of range"}},
        Case{"KernelsOnCpu",
             valid() + "output: {trace: on, kernels: on}\n",
             ":16:30: ",
             {"output.kernels: is for cuda only, not cpu"}},
        Case{"KernelsWithoutTrace",
             replace(valid(), "{kind: cpu}", "{kind: cuda}") + "output: {kernels: on}\n",
             ":16:19: ",
             {"output.kernels: kernels go into the trace: set output.trace: true"}},
        Case{"ProfileOnCpu",
             replace(valid(), "{kind: cpu}", "{kind: cpu, profile: h200}"),
             ":2:31: ",
             {"runtime.profile: only sim has a hardware profile"}},
        Case{"SimWithoutProfile",
             replace(valid(), "{kind: cpu}", "{kind: sim}"),
             ":2:10: ",
             {"runtime.profile: sim needs a hardware profile"}},
        Case{"UnknownProfile",
             replace(valid(), "{kind: cpu}", "{kind: sim, profile: h20}"),
             ":2:31: ",
             {"no profile 'h20'", "did you mean 'h200'?", "post_sync_terms"}},
        Case{"NeverFitsPool",
             replace(valid(), "max: 16", "max: 58"),
             ":14:19: ",
             {"8 prompt and 58 new tokens never fit the KV pool of 64"}},
        Case{"MoreRowsThanTokens",
             replace(valid(), "rows: 4", "rows: 33"),
             ":15:16: ",
             {"limits.rows: a batch of 32 tokens (limits.tokens) never holds 33 rows"}},
        Case{"ControlCharacters",
             replace(valid(), "kind: async", R"(kind: "a\nb\x1b[31m\0c")"),
             ":9:9: ",
             {R"(unknown value 'a\nb\x1b[31m\x00c')"}},
        Case{"LongValue",
             replace(valid(), "kind: async", "kind: " + std::string(39, 'a') + "ééé"),
             ":9:9: ",
             {"unknown value '" + std::string(39, 'a') + "…'. Allowed: "}},
        Case{"LongKey",
             valid() + std::string(1000, 'k') + ": 1\n",
             ":16:1: ",
             {"unknown key '" + std::string(40, 'k') + "…' in the file. Allowed: "}},
        Case{"NeverFitsModel",
             replace(valid(), "max_positions: 100", "max_positions: 23"),
             ":14:19: ",
             {"8 prompt and 16 new tokens are more than the model's max_positions, 23"}},
        Case{"MinAboveMax",
             replace(valid(), "min: 4", "min: 17"),
             ":14:19: ",
             {"min 17 is more than max 16"}},
        Case{"StopOutsideVocabulary",
             replace(valid(), "  count: 4", "  stop: [[1, 2], [3, -1]]\n  count: 4"),
             ":12:18: ",
             {"requests.stop[1]: token id -1 is outside the model's vocabulary, 0 to 63"}},
        Case{"EmptyStop",
             replace(valid(), "  count: 4", "  stop: [[]]\n  count: 4"),
             ":12:10: ",
             {"requests.stop[0]: a stop sequence has at least one token id"}},
        Case{"LastArrivalTooLate",
             replace(valid(), "  count: 4", "  interval_ms: 5e8\n  count: 4"),
             ":12:16: ",
             {"the last of 4 requests would come after 1500000000 ms; 1000000000 is the most"}},
        Case{"ArrivalsAndInterval",
             replace(valid(), "  count: 4",
                     "  interval_ms: 5\n  arrivals: {kind: poisson, rate_per_s: 2}\n  count: 4"),
             ":12:16: ",
             {"requests.interval_ms: requests.arrivals says when they come: keep one"}},
        Case{
            "ArrivalsOfNoKind",
            replace(valid(), "  count: 4", "  arrivals: {kind: poison, rate_per_s: 2}\n  count: 4"),
            ":12:20: ",
            {"unknown value 'poison'", "did you mean 'poisson'"}},
        Case{"ArrivalsWithoutARate",
             replace(valid(), "  count: 4", "  arrivals: {kind: constant}\n  count: 4"),
             ":12:13: ",
             {"requests.arrivals.rate_per_s: is missing: constant needs it"}},
        Case{"ClosedWithARate",
             replace(valid(), "  count: 4",
                     "  arrivals: {kind: closed, clients: 2, rate_per_s: 2}\n  count: 4"),
             ":12:52: ",
             {"requests.arrivals.rate_per_s: is not for closed: remove it"}},
        Case{"ClosedWithoutClients",
             replace(valid(), "  count: 4", "  arrivals: {kind: closed}\n  count: 4"),
             ":12:13: ",
             {"requests.arrivals.clients: is missing: closed needs it"}},
        Case{"GammaWithoutCv",
             replace(valid(), "  count: 4", "  arrivals: {kind: gamma, rate_per_s: 2}\n  count: 4"),
             ":12:13: ",
             {"requests.arrivals.cv: is missing: gamma needs it"}},
        Case{"CvOfPoisson",
             replace(valid(), "  count: 4",
                     "  arrivals: {kind: poisson, rate_per_s: 2, cv: 2}\n  count: 4"),
             ":12:48: ",
             {"requests.arrivals.cv: is not for poisson: remove it"}},
        Case{"ArrivalsTooSlow",
             replace(valid(), "  count: 4",
                     "  arrivals: {kind: poisson, rate_per_s: 1e-5}\n  count: 4"),
             ":12:41: ",
             {"the last of 4 requests would come after some 400000 s; 100000 s is the most"}},
        Case{"MedianOutsideOfTheEnds",
             replace(valid(), "min: 4", "median: 40, sigma: 1, min: 4"),
             ":14:28: ",
             {"40 is not between min 4 and max 16"}},
        Case{"SigmaWithoutMedian",
             replace(valid(), "min: 4", "sigma: 1, min: 4"),
             ":14:27: ",
             {"is for a log-normal: give the median, too"}},
        Case{"SloOfSomethingElse",
             replace(valid(), "limits:", "slo: {ttft: 4}\nlimits:"),
             "",
             {"unknown key 'ttft' in slo. Allowed: ttft_ms, tpot_ms"}},
        Case{"EosOutsideVocabulary",
             replace(valid(), "  count: 4", "  eos: 64\n  count: 4"),
             ":12:8: ",
             {"token id 64 is outside the model's vocabulary, 0 to 63"}}),
    [](const auto& test) { return test.param.name; });

TEST(ConfigErrorInAList, NamesTheRequest) {
  const Scratch scratch;
  const std::string list = std::string(kBeforeStrategy) + kStrategy +
                           "requests:\n"
                           "  - {prompt_tokens: 8, max_new_tokens: 4}\n"
                           "  - {prompt: [1, 6], max_new_tokens: 4}\n"
                           "limits: {rows: 4, tokens: 32, pages: 16}\n";
  EXPECT_THAT(error_of(scratch.write("a.yaml", replace(list, "prompt: [1, 6], ", ""))),
              HasSubstr(":13:5: requests[1]: needs prompt (token ids) or prompt_tokens"));
  EXPECT_THAT(
      error_of(scratch.write("a.yaml", replace(list, "[1, 6]", "[1, 6], prompt_tokens: 2"))),
      HasSubstr(":13:5: requests[1]: has both prompt and prompt_tokens: keep one"));
}

TEST(ConfigFileThatCannotBeRead, SaysWhy) {
  const Scratch scratch;
  EXPECT_THAT(error_of(scratch.folder() / "none.yaml"), HasSubstr("none.yaml: no such file"));
  EXPECT_THAT(error_of(scratch.folder()), HasSubstr("is a folder, not a file"));
  EXPECT_THAT(error_of("/dev/zero"), HasSubstr("is not a regular file"));
  const auto huge = scratch.write("huge.yaml", "");
  std::filesystem::resize_file(huge, 17 << 20);
  EXPECT_THAT(error_of(huge), HasSubstr("is 17 MiB large; a configuration may have 16 MiB"));
}

TEST(ConfigFileThatCannotBeRead, SaysThatPermissionLacks) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may read everything";
  const Scratch scratch;
  const auto file = scratch.write("a.yaml", valid());
  std::filesystem::permissions(file, std::filesystem::perms::none);
  EXPECT_THAT(error_of(file), HasSubstr("Permission denied"));
}

TEST(ConfigFile, MayHaveAByteOrderMarkAndWindowsLineEnds) {
  const Scratch scratch;
  std::string text = "\xEF\xBB\xBF";
  for (const char c : valid()) text += c == '\n' ? std::string("\r\n") : std::string(1, c);
  const auto file = scratch.write("a.yaml", text);
  EXPECT_EQ(std::get<BatchingConfig>(load_config(file).config).strategy.slots, 2U);
  const auto wrong = scratch.write("b.yaml", replace(text, "slots: 2", "slots: two"));
  EXPECT_THAT(error_of(wrong), HasSubstr(":10:10: "));
}

TEST(ProfileFile, BoundsEveryTimeFromAboveSoThatTheClockCannotOverflow) {
  const Scratch scratch;
  const std::string profile = read_text(SYNCOPATE_SOURCE_DIR "/configs/hardware/post.yaml");
  scratch.write("hardware/mine.yaml", replace(profile, "    base_us: 27888", "    base_us: 1e9"));
  const auto file =
      scratch.write("a.yaml", replace(valid(), "{kind: cpu}", "{kind: sim, profile: mine}"));
  EXPECT_THAT(error_of(file), AllOf(HasSubstr("hardware/mine.yaml:"),
                                    HasSubstr("kernels.forward.base_us: 1e9 is out of range: "
                                              "expected a number from 0 to")));
}

TEST(ProfileFile, IsAsStrictAsAConfig) {
  const Scratch scratch;
  std::string profile = read_text(SYNCOPATE_SOURCE_DIR "/configs/hardware/post.yaml");
  profile = replace(profile, "    base_us: 27888", "    bas_us: 27888");
  scratch.write("hardware/mine.yaml", profile);
  const auto file =
      scratch.write("a.yaml", replace(valid(), "{kind: cpu}", "{kind: sim, profile: mine}"));
  EXPECT_THAT(error_of(file),
              AllOf(HasSubstr("hardware/mine.yaml:"),
                    HasSubstr("unknown key 'bas_us' in kernels.forward; did you mean 'base_us'?")));
}

}  // namespace
}  // namespace syncopate::experiments
