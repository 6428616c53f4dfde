#include "experiments/config/expression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "experiments/yaml/error.h"
#include "experiments/yaml/node.h"

namespace syncopate::experiments {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

yaml::Node condition_values() {
  return yaml::parse(R"(
limits: {rows: 8, tokens: 512, tenth: 0.1, small: 1e-3}
strategy: {kind: async, graphs: true, slots: null, name: "8"}
variants: [{schedule: [7, 14, 7], slots: 2}, {slots: 3}]
)",
                     "values");
}

Expression condition(const std::string& text) {
  return Expression(text, {std::make_shared<const std::string>("sweep.yaml"), 4, 7});
}

struct Condition {
  const char* text;
  bool holds;
};

/// Worked out by hand.
TEST(Expression, HoldsAsItReads) {
  const Condition cases[] = {
      {"limits.rows == 8", true},
      {"limits.rows != 8", false},
      {"limits.rows < 8 or limits.rows >= 8", true},
      {"limits.tokens / limits.rows == 64", true},
      {"limits.tokens % 100 == 12", true},
      {"2 + 3 * 4 == 14", true},
      {"(2 + 3) * 4 == 20", true},
      {"10 - 2 - 3 == 5", true},
      {"16 / 4 / 2 == 2", true},
      {"-limits.rows < 0", true},
      {"limits.rows -3 == 5", true},
      {"limits.small * 1e3 == 1", true},
      {"limits.small == 1e-3 and limits.tenth == 0.1", true},
      {"strategy.kind == async", true},
      {"strategy.kind == 'async'", true},
      {"strategy.kind == \"ordered\"", false},
      {"strategy.graphs", true},
      {"strategy.graphs == on", true},
      {"not strategy.graphs", false},
      {"strategy.slots == null", true},
      {"limits.rows != null", true},
      {"strategy.slots == null or strategy.slots > 2", true},  // the rest is not looked at
      {"strategy.slots != null and strategy.slots > 2", false},
      {"strategy.name == '8'", true},  // it is quoted, and so text
      {"variants.0.slots == 2 and variants.1.slots == 3", true},
      {"true or false and false", true},     // and binds more than or …
      {"(true or false) and false", false},  // … unless told otherwise
      {"not false and false", false},        // not binds more than and …
      {"not 1 == 2", true},                  // … and less than a comparison
      {"not not true", true},
  };
  const yaml::Node config = condition_values();
  for (const Condition& each : cases) {
    EXPECT_EQ(condition(each.text).holds(config), each.holds) << each.text;
  }
}

struct WrongCondition {
  std::string text;
  const char* message;
};

TEST(Expression, SaysWhereAndWhatIsWrong) {
  const WrongCondition cases[] = {
      {"", "expected a key, a number or text, got the end"},
      {"limits.rows >", "expected a key, a number or text, got the end"},
      {"limits.rows = 8", "expected an operator, got '= 8'"},
      {"limits.rows > 8 8", "expected an operator, got '8'"},
      {"(limits.rows > 8", "expected ')', got the end"},
      {"'async", "expected a closing quote"},
      {"8ms > 2", "expected a number, got '8ms > 2'"},
      {"limits..rows > 2", "expected a key"},
      {".rows > 2", "expected a key"},
      {std::string(200, '(') + "true", "expected fewer brackets"},
      {std::string(2000, ' '), "is longer than 1000 characters"},
      {"limits.row > 8", "the configuration has no 'limits.row'; did you mean 'rows'?"},
      {"variants.2.slots > 8", "has no 'variants.2.slots'"},
      {"limits.rows.more > 8", "has no 'limits.rows.more'"},
      {"strategy.slots > 8", "'strategy.slots' is null, where a number is needed"},
      {"strategy.kind > 8", "'strategy.kind' is text, where a number is needed"},
      {"strategy.kind == 8", "'==' compares text with a number"},
      {"limits.rows", "'limits.rows' is a number, where true or false is needed"},
      {"limits.rows + 1", "'+' is a number, where true or false is needed"},
      {"8 / (limits.rows - 8) > 1", "'/' divides by 0"},
      {"variants.0.schedule == 8", "'variants.0.schedule' is a map or a list"},
  };
  const yaml::Node config = condition_values();
  for (const WrongCondition& each : cases) {
    try {
      condition(each.text).holds(config);
      ADD_FAILURE() << "no error: " << each.text;
    } catch (const yaml::ConfigError& error) {
      EXPECT_THAT(error.what(), StartsWith("sweep.yaml:4:7: ")) << each.text;
      EXPECT_THAT(error.what(), HasSubstr(each.message)) << each.text;
    }
  }
}

}  // namespace
}  // namespace syncopate::experiments
