// What people and editors do to YAML files: each is taken, or refused with its place and what to
// do.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "experiments/config/load.h"
#include "experiments/yaml/error.h"
#include "tests/experiments/scratch.h"

namespace syncopate::experiments {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

// Each case puts its lines behind these two.
constexpr const char* kHead = "program: batching\nruntime: {kind: cpu}\n";
constexpr const char* kRest =
    "model: {kind: hash, vocab: 64}\n"
    "strategy: {kind: async}\n"
    "requests: {count: 4, prompt_tokens: 8, max_new_tokens: 8}\n"
    "limits: {rows: 4, tokens: 32, page_tokens: 4, pages: 16}\n";

std::string with_host(const std::string& value) {
  return std::string(kHead) + "host: {extra_us: " + value + "}\n" + kRest;
}
std::string with_log(const std::string& value) {
  return std::string(kHead) + "output: {log: " + value + "}\n" + kRest;
}
std::string with_slots(const std::string& value) {
  std::string rest = kRest;
  const std::string strategy = "strategy: {kind: async}\n";
  rest.erase(rest.find(strategy), strategy.size());
  return std::string(kHead) + "strategy: {kind: async, slots: " + value + "}\n" + rest;
}

struct TextCase {
  const char* name;
  std::string text;
  const char* place;  ///< Empty: it is taken.
  const char* message;
};

void PrintTo(const TextCase& c, std::ostream* out) { *out << c.name; }

class YamlText : public testing::TestWithParam<TextCase> {};

TEST_P(YamlText, IsTakenOrRefusedWithItsPlaceAndWhatToDo) {
  const TextCase& c = GetParam();
  const Scratch scratch;
  const auto file = scratch.write("a.yaml", c.text);
  std::string message = "no error";
  try {
    load_config(file);
  } catch (const yaml::ConfigError& error) {
    message = error.what();
  }
  if (*c.place == '\0') {
    EXPECT_EQ(message, "no error");
    return;
  }
  EXPECT_THAT(message, StartsWith(file.string() + c.place));
  EXPECT_THAT(message, HasSubstr(c.message));
  EXPECT_LT(message.size(), file.string().size() + 400) << "no file in a message";
  EXPECT_EQ(message.find('\n'), std::string::npos) << "one line";
}

std::string windows(const std::string& text) {
  std::string out = "\xEF\xBB\xBF";
  for (const char c : text) out += c == '\n' ? std::string("\r\n") : std::string(1, c);
  return out;
}

std::string repeated(const std::string& text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

std::string billion_laughs() {
  std::string out = "a0: &a0 [lol, lol, lol]\n";
  for (int i = 1; i < 20; ++i) {
    out += fmt::format("a{0}: &a{0} [*a{1}, *a{1}]\n", i, i - 1);
  }
  return out;
}

const char* const kNumber = "write decimal digits alone, without a unit";
const char* const kQuote = "this quote is not closed on its line";
const char* const kBracket = "this bracket is not closed";

INSTANTIATE_TEST_SUITE_P(
    Table, YamlText,
    testing::Values(
        TextCase{"AsItShouldBe", std::string(kHead) + kRest, "", ""},
        TextCase{"WindowsLineEndsAndMark", windows(std::string(kHead) + kRest), "", ""},
        TextCase{"NoLastLineEnd", std::string(kHead) + kRest + "host: {extra_us: 1}", "", ""},
        TextCase{"DocumentMarkers", "---\n" + std::string(kHead) + kRest + "...\n", "", ""},
        TextCase{"TabBehindAValue", std::string(kHead) + "host: {extra_us: 1}\t\n" + kRest, "", ""},
        TextCase{"TabAsIndentation", std::string(kHead) + "host:\n\textra_us: 1\n" + kRest,
                 ":4:1: ", "YAML allows only spaces there"},
        TextCase{"TabBehindSpaces", std::string(kHead) + "host:\n  \textra_us: 1\n" + kRest,
                 ":4:3: ", "YAML allows only spaces there"},
        TextCase{"OldMacLineEnds", "program: batching\rruntime: {kind: cpu}\r",
                 ":1:18: ", "line ends LF or CRLF"},
        TextCase{"Nul", kHead + std::string("host\0: 1\n", 9), ":3:5: ", "save the file as UTF-8"},
        TextCase{"Latin1", kHead + std::string("# caf\xE9\n"), ":3:6: ", "save the file as UTF-8"},
        TextCase{"Overlong", kHead + std::string("# \xC0\xAF\n"), ":3:3: ", "as UTF-8"},
        TextCase{"Surrogate", kHead + std::string("# \xED\xA0\x80\n"), ":3:3: ", "as UTF-8"},
        TextCase{"CutCharacter", kHead + std::string("# \xE2\x82"), ":3:3: ", "as UTF-8"},
        TextCase{"Utf8InComments", kHead + std::string("# µs, 漢字, 😀\n") + kRest, "", ""},
        TextCase{"Utf16", std::string("\xFF\xFEp\0r\0", 6), ": ", "save it as UTF-8"},
        TextCase{"AnchorOnAScalar", with_slots("&n 2"), ":3:32: ", "write the value out"},
        TextCase{"AnchorOnAMap", std::string(kHead) + "host: &h {extra_us: 1}\n" + kRest,
                 ":3:7: ", "write the value out"},
        TextCase{"AliasOfNothing", with_slots("*n"), ":3:", "n"},
        TextCase{"MergeKey", std::string(kHead) + "host: {<<: {extra_us: 1}}\n" + kRest,
                 ":3:8: ", "merge keys (<<) are not supported: write the keys out"},
        TextCase{"BillionLaughs", billion_laughs(), ":1:5: ", "anchors (&name) are not supported"},
        TextCase{"Tag", with_slots("!!int 2"), ":3:32: ", "remove '"},
        TextCase{"TagOnAMap", std::string(kHead) + "host: !!map {extra_us: 1}\n" + kRest,
                 ":3:7: ", "remove '"},
        TextCase{"DuplicateKey", std::string(kHead) + kRest + kRest,
                 ":7:1: ", "duplicate key 'model': it stands at line 3, column 1"},
        TextCase{"SecondDocument", std::string(kHead) + kRest + "---\nprogram: batching\n",
                 ":8:1: ", "a file holds one"},
        TextCase{"Empty", "", ": ", "expected a map of keys and values"},
        TextCase{"CommentsAlone", "# a\n\n# b\n", ": ", "expected a map of keys and values"},
        TextCase{"AScalarAsTheFile", "hello\n", ":1:1: ", "expected a map of keys and values"},
        TextCase{"ListForMap", std::string(kHead) + "host: [extra_us, 1]\n" + kRest,
                 ":3:7: ", "host: expected a map of keys and values, got a list"},
        TextCase{"MapForList",
                 std::string(kHead) + "model: {kind: hash}\nstrategy: {kind: async}\n" +
                     "requests: [{prompt: {a: 1}, max_new_tokens: 8}]\n" +
                     "limits: {rows: 4, tokens: 32, pages: 16}\n",
                 ":5:21: ", "requests[0].prompt: expected a list, got a map"},
        TextCase{"KeyWithoutSpace", std::string(kHead) + "host: {extra_us:1}\n" + kRest,
                 ":3:", "extra_us:1"},
        TextCase{"QuoteLeftOpenToTheEnd", std::string(kHead) + "host: {extra_us: \"1}\n" + kRest,
                 ":3:18: ", kQuote},
        TextCase{"QuoteClosedByAnother",
                 "program: \"batching\nruntime: {kind: \"cpu\"}\n" + std::string(kRest),
                 ":1:10: ", kQuote},
        TextCase{"ApostropheLeftOpen", "program: 'batching\n" + std::string(kRest),
                 ":1:10: ", kQuote},
        TextCase{"QuoteOverTwoLines", "program: 'batch\n  ing'\n" + std::string(kRest),
                 ":1:10: ", kQuote},
        TextCase{"EscapedQuotes", with_log(R"("a\"b")"), ":3:15: ", R"(got the text "a"b")"},
        TextCase{"BraceLeftOpen", std::string(kHead) + "host: {extra_us: 1\n" + kRest,
                 ":3:7: ", kBracket},
        TextCase{"BracketLeftOpen", std::string(kHead) + "host: [1, 2\n" + kRest,
                 ":3:7: ", kBracket},
        TextCase{"BracketLeftOpenAtTheEnd", std::string(kHead) + "host: [1, 2", ":3:7: ", kBracket},
        TextCase{"BracketTooMany", std::string(kHead) + "host: {extra_us: 1}}\n" + kRest,
                 ":3:", "not valid YAML"},
        TextCase{"IndentedTooFar",
                 std::string(kHead) + "host:\n  extra_us: 1\n    log: on\n" + kRest,
                 ":5:", "not valid YAML"},
        TextCase{"DeepInBrackets", "a: " + repeated("[", 100000), ":1:", ""},
        TextCase{"DeepInBraces", repeated("{a: ", 100000), ":1:", ""},
        TextCase{"DeepInDashes", repeated("- ", 100000), ":1:", "nested too deeply"},
        TextCase{"LongKey", std::string(kHead) + std::string(100000, 'k') + ": 1\n" + kRest,
                 ":3:", ""},
        TextCase{"LongValue", with_log(std::string(1 << 20, 'v')), ":3:15: ", "vvv…"},
        TextCase{"Unit", with_host("8 ms"), ":3:18: ", kNumber},
        TextCase{"UnitWithoutSpace", with_host("8us"), ":3:18: ", kNumber},
        TextCase{"Hexadecimal", with_slots("0x10"), ":3:32: ", kNumber},
        TextCase{"Octal", with_slots("0o10"), ":3:32: ", kNumber},
        TextCase{"LeadingZero", with_slots("010"), ":3:32: ", kNumber},
        TextCase{"Underscore", with_slots("1_0"), ":3:32: ", kNumber},
        TextCase{"PlusSign", with_slots("+2"), ":3:32: ", kNumber},
        TextCase{"Sexagesimal", with_slots("1:30"), ":3:32: ", kNumber},
        TextCase{"Fraction", with_slots("2.0"), ":3:32: ", "expected an integer from 1 to 64"},
        TextCase{"NotANumber", with_host(".nan"), ":3:18: ", "expected a number from 0"},
        TextCase{"NotANumberInC", with_host("nan"), ":3:18: ", "expected a number from 0"},
        TextCase{"Infinite", with_host(".inf"), ":3:18: ", "expected a number from 0"},
        TextCase{"TooLargeForADouble", with_host("1e400"), ":3:18: ", "out of range"},
        TextCase{"TooLargeForAnInteger", with_slots("4294967297"), ":3:32: ", "from 1 to 64"},
        TextCase{"FarTooLarge", with_slots(std::string(1000, '9')), ":3:32: ", "from 1 to 64"},
        TextCase{"NegativeWhereUnsigned", with_slots("-2"), ":3:32: ", "from 1 to 64"},
        TextCase{"Exponent", with_host("1e3"), "", ""}, TextCase{"On", with_log("on"), "", ""},
        TextCase{"Yes", with_log("yes"), ":3:15: ", "expected true or false (or on, off)"},
        TextCase{"CapitalTrue", with_log("True"), ":3:15: ", "expected true or false"},
        TextCase{"OneForTrue", with_log("1"), ":3:15: ", "expected true or false"},
        TextCase{"QuotedTrue", with_log("'true'"), ":3:15: ", "got the text \"true\""}),
    [](const auto& test) { return test.param.name; });

TEST(YamlFile, OfTenMegabytesIsRead) {
  std::string text = std::string(kHead) +
                     "model: {kind: hash}\nstrategy: {kind: async}\n"
                     "limits: {rows: 4, tokens: 32, pages: 16}\nrequests:\n";
  constexpr std::size_t kRequests = 1000;
  for (std::size_t i = 0; i < kRequests; ++i) {
    text += "  - {prompt_tokens: 4, max_new_tokens: 2}  #" + std::string(10000, '.') + "\n";
  }
  const Scratch scratch;
  const auto config = std::get<BatchingConfig>(load_config(scratch.write("a.yaml", text)).config);
  EXPECT_THAT(std::get<std::vector<RequestConfig>>(config.requests), SizeIs(kRequests));
}

}  // namespace
}  // namespace syncopate::experiments
