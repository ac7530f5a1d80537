#include "src/space/open/condition_parser.h"

#include <gtest/gtest.h>

#include <string>

namespace tilewright {
namespace {

/// Returns the value of an expression with x = 12, y = 5, f = 0.5, t = 'abc': as Python prints it.
std::string ValueOf(const std::string& text) {
  const std::vector<std::pair<std::string, ExpressionValue>> known = {{"x", {std::int64_t{12}}},
                                                                      {"y", {std::int64_t{5}}},
                                                                      {"f", {0.5}},
                                                                      {"t", {std::string("abc")}}};
  ExpressionPool pool(std::vector<ValueRange>(known.size()));
  std::vector<const ExpressionValue*> values;
  for (const auto& [name, value] : known) values.push_back(&value);
  const auto parsed = ParseCondition(text, pool, [&](std::string_view name) {
    for (std::size_t i = 0; i < known.size(); ++i) {
      if (known[i].first == name) return std::optional(pool.ParameterAt(static_cast<int>(i)));
    }
    return std::optional<ExpressionId>();
  });
  if (!parsed.ok()) return parsed.status().message();
  const ExpressionValue value = pool.Evaluate(*parsed, values);
  // Substitution gives the same.
  ExpressionId left = *parsed;
  for (std::size_t i = 0; i < known.size(); ++i) {
    left = pool.Substitute(left, static_cast<int>(i), 0, known[i].second);
  }
  EXPECT_TRUE(pool.is_constant(left)) << text;
  if (pool.is_constant(left)) {
    EXPECT_EQ(pool.constant(left), value) << text;
  }
  if (value.failed()) return "failed";
  if (const auto* boolean = std::get_if<bool>(&value.value)) return *boolean ? "True" : "False";
  if (const auto* name = std::get_if<std::string>(&value.value)) return *name;
  if (const auto* integer = std::get_if<std::int64_t>(&value.value))
    return std::to_string(*integer);
  return value.is_number() ? ToText(ParameterValue(value.number())) : "list";
}

TEST(ConditionParserTest, EvaluatesAsPythonDoes) {
  const std::pair<const char*, const char*> cases[] = {
      {"x + y * 2", "22"},
      {"(x + y) * 2", "34"},
      {"x - y - 3", "4"},
      {"2 ** 3 ** 2", "512"},
      {"-x ** 2", "-144"},
      {"2 ** -1", "0.5"},
      {"-x // y", "-3"},
      {"-x % y", "3"},
      {"x % -y", "-3"},
      {"x / y", "2.4"},
      {"x // f", "24"},
      {"x << 2 | 1", "49"},
      {"x & 6 ^ 1", "5"},
      {"~x", "-13"},
      {"1 < y < x <= 12", "True"},
      {"1 < y > x", "False"},
      {"x == 12.0 != f", "True"},
      {"not x == 12", "False"},
      {"x and y", "5"},
      {"0 or y", "5"},
      {"x > 3 && !(y > 7) || f > 1", "True"},
      {"y in [1, 5]", "True"},
      {"y not in (1, 2, 3,)", "True"},
      {"'b' in t", "True"},
      {"t == \"abc\"", "True"},
      {"t < 'b'", "True"},
      {"t + 'd'", "abcd"},
      {"t < x", "failed"},
      {"x // (y - 5)", "failed"},
      {"y == 5 or x // (y - 5)", "True"},
      {"max(x, y) - min([x, y])", "7"},
      {"max(x)", "12"},
      {"abs(y - x) + int(2.9) + round(2.5) + round(3.5)", "15"},
      {"math.ceil(x / y) + floor(2.4) + len(t)", "8"},
      {"sqrt(16) + math.log2(8)", "7"},
      {"True + True", "2"},
      {"1e3 + .5 + 0x10", "1016.5"},
      {"pow(y, 2) == 25", "True"},
      {"9223372036854775807 + y", "failed"},
      {"x in range(0, 20, 4)", "True"},
      {"sum", "\"sum\": no parameter \"sum\""},
      {"x +", "position 4 of \"x +\": expected a value"},
      {"x y", "position 3 of \"x y\": expected an operator or the end"},
      {"foo(x)", "position 7 of \"foo(x)\": expected a known function, not foo"},
      {"12x", "position 3 of \"12x\": expected an operator"},
      {"(x", "position 3 of \"(x\": expected \")\""},
      {"'x", "position 3 of \"'x\": expected the end of the text"},
  };
  for (const auto& [text, expected] : cases) {
    EXPECT_EQ(ValueOf(text), expected) << text;
  }
}

TEST(ConditionParserTest, ReadsListsOfValues) {
  const auto list = [](std::string_view text) {
    const auto values = ParseValueList(text);
    if (!values.ok()) return values.status().message();
    std::string all;
    for (const ParameterValue& value : *values) all += (all.empty() ? "" : " ") + ToText(value);
    return all;
  };
  EXPECT_EQ(list("[16, 32,48]"), "16 32 48");
  EXPECT_EQ(list("(0.5, 1, 'a', True)"), "0.5 1 a true");
  EXPECT_EQ(list("range(3)"), "0 1 2");
  EXPECT_EQ(list("list(range(8, 2, -3))"), "8 5");
  EXPECT_EQ(list("[1, 2] + [32*i for i in range(1, 4)]"), "1 2 32 64 96");
  EXPECT_EQ(list("[i for i in range(1, 13) if 12 % i == 0]"), "1 2 3 4 6 12");
  EXPECT_EQ(list("[]"), "");
  EXPECT_EQ(list("[i]"), "\"[i]\": no parameter \"i\"");
  EXPECT_EQ(list("7"), "\"7\", expected a list");
  EXPECT_EQ(list("range(100000)"),
            "position 14 of \"range(100000)\": expected at most 65,536 values");
}

TEST(ConditionParserTest, EndsAtLimits) {
  EXPECT_NE(ValueOf(std::string(500, '(')).find("100 levels"), std::string::npos);
  EXPECT_NE(ValueOf(std::string(500, '-') + "1").find("100 levels"), std::string::npos);
  EXPECT_NE(ValueOf(std::string(20000, '1')).find("10000"), std::string::npos);
  // A chained comparison reads its middle twice, so nesting doubles the work.
  std::string chained = "x ** 1";
  for (int i = 0; i < 25; ++i) chained = "0 <= (" + chained + ") <= 5";
  EXPECT_NE(ValueOf(chained).find("repeat"), std::string::npos);
  // Each level of comprehensions multiplies the items.
  std::string list = "[1";
  for (int i = 0; i < 99; ++i) list += ", 1";
  list += "]";
  std::string nested = list;
  for (const char* name : {"x", "y", "z", "u", "v"}) {
    std::string items = "[";
    for (int i = 0; i < 100; ++i) items += std::string(name) + ",";
    nested = "[" + items + "] for " + name + " in " + nested + "]";
  }
  EXPECT_FALSE(ParseValueList(nested).ok());
}

}  // namespace
}  // namespace tilewright
