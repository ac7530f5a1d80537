#include "src/templates/open/space_text.h"

#include <gmock/gmock.h>

#include "src/base/files/file.h"
#include "src/base/files/locked_temp_dir.h"

namespace tilewright {
namespace {

std::int64_t NumberOf(const OpenSpace& space, const OpenConfig& config, const char* parameter) {
  return std::get<std::int64_t>(space.ValueOf(config, space.Find(parameter)));
}

/// Returns the space with a knob `a` of 1 to 8 and the rest of a text.
Result<OpenSpace> WithRest(const std::string& rest) {
  return ParseSpaceText("knob a = range(1, 8)\nknob b = {-1, 3}\nknob c = {\"x\", \"yy\"}\n" + rest,
                        "s.txt");
}

TEST(SpaceTextTest, KnobsHaveTheValuesOfSchedules) {
  const auto space = ParseSpaceText(
      "# a comment\nspace mm  knob a = {4, 1, -2} default 3 knob b = powers(9)\n"
      "knob c = divisors(12) default 4\nknob d = range(-1, 1)\nknob e = {\"-O2\", \"\"}\n",
      "s.txt");
  ASSERT_TRUE(space.ok()) << space.status().message();
  EXPECT_EQ(space->name(), "mm");
  const auto& all = space->parameters();
  ASSERT_EQ(all.size(), 5u);
  const auto numbers = [&](std::size_t i) {
    std::vector<std::int64_t> values;
    for (const ParameterValue& value : all[i].values) {
      values.push_back(std::get<std::int64_t>(value));
    }
    return values;
  };
  EXPECT_THAT(numbers(0), testing::ElementsAre(4, 1, -2));
  EXPECT_THAT(numbers(1), testing::ElementsAre(1, 2, 4, 8));
  EXPECT_THAT(numbers(2), testing::ElementsAre(1, 2, 3, 4, 6, 12));
  EXPECT_THAT(numbers(3), testing::ElementsAre(-1, 0, 1));
  EXPECT_EQ(all[4].type, ParameterType::kText);
  EXPECT_FALSE(all[4].ordered);
  // The default is the largest value that is not above the stated one, else the first value.
  const OpenConfig config = space->Default();
  EXPECT_EQ(NumberOf(*space, config, "a"), 1);
  EXPECT_EQ(NumberOf(*space, config, "b"), 1);
  EXPECT_EQ(NumberOf(*space, config, "c"), 4);
}

TEST(SpaceTextTest, ConditionsMeanWhatTheyMeanInSchedules) {
  struct Case {
    const char* condition;
    bool (*holds)(std::int64_t a, std::int64_t b, const std::string& c);
  };
  const Case cases[] = {
      {"a / 3 == 1", [](auto a, auto, auto&) { return a >= 3 && a <= 5; }},
      {"b / 2 == -1", [](auto, auto b, auto&) { return b == -1; }},
      {"ceil_div(a, 3) == 2", [](auto a, auto, auto&) { return a >= 4 && a <= 6; }},
      {"min(a, 3) * max(b, 0) == 9", [](auto a, auto b, auto&) { return a >= 3 && b == 3; }},
      {"not a == 2 and (c == \"x\" or a < 4) else \"why\"",
       [](auto a, auto, auto& c) { return a != 2 && (c == "x" || a < 4); }},
      {"a % 4 != 0 require b > 0", [](auto a, auto b, auto&) { return a % 4 != 0 && b > 0; }},
      {"-a + 2 * 3 >= (a - 1)", [](auto a, auto, auto&) { return -a + 6 >= a - 1; }},
  };
  for (const Case& one : cases) {
    const auto space = WithRest(std::string("require ") + one.condition);
    ASSERT_TRUE(space.ok()) << one.condition << ": " << space.status().message();
    for (std::int64_t i = 0; i < space->combinations(); ++i) {
      const OpenConfig config = space->FromIndex(i);
      const bool holds = one.holds(NumberOf(*space, config, "a"), NumberOf(*space, config, "b"),
                                   std::get<std::string>(space->ValueOf(config, space->Find("c"))));
      EXPECT_EQ(space->Allows(config), holds) << one.condition << " of config " << i;
    }
  }
}

TEST(SpaceTextTest, MistakesAreNamedWithTheirPlace) {
  const std::pair<const char*, const char*> cases[] = {
      {"knob a = {1}", "s.txt:4:6: a second knob 'a'"},
      {"knob d = {1, \"x\"}", "s.txt:4:10: integers and texts in one knob"},
      {"knob d = thrifty(8, 2)", "s.txt:4:10: 'thrifty', expected values: {…}, range(…)"},
      {"knob d = {1, 2} default 0", "s.txt:4:25: the default is none of the values"},
      {"knob d = {1 2}", "s.txt:4:13: '2', expected '}'"},
      {"knob d = range(3)", "s.txt:4:10: range of 1 numbers, expected 2"},
      {"knob d = range(3, 2)", "s.txt:4:10: a range without a number"},
      {"knob d = range(0, 5000)", "s.txt:4:10: more than 4096 values"},
      {"knob d = range(9223372036854775807, -9223372036854775807)",
       "s.txt:4:10: range of numbers that are too small or too large"},
      {"knob min = {1}", "s.txt:4:6: 'min' is a word of conditions"},
      {"knob True = {1}", "s.txt:4:6: 'True' is a word of conditions"},
      {"require e < 2", "s.txt:4:9: 'e' is not a knob above"},
      {"require system(a)", "s.txt:4:9: 'system' is not a knob above"},
      {"require (a < 2", "s.txt:4:15: the end, expected ')'"},
      {"require a < 2)", "s.txt:4:14: ')', expected an operator"},
      {"require else", "s.txt:4:9: 'else', expected a condition"},
      {"require a = 2", "s.txt:4:11: '=', expected an operator or a value"},
      {"require a < 2 else why", "s.txt:4:20: 'why', expected the reason, a text"},
      {"parallel(a)", "s.txt:4:1: 'parallel', expected knob or require"},
      {"require a > 9", "s.txt: "},  // no config is left
  };
  for (const auto& [rest, message] : cases) {
    const auto space = WithRest(rest);
    ASSERT_FALSE(space.ok()) << rest;
    EXPECT_EQ(space.status().code(), StatusCode::kInvalidArgument) << rest;
    EXPECT_THAT(space.status().message(), testing::StartsWith(message)) << rest;
  }
  EXPECT_FALSE(ParseSpaceText("space s", "s.txt").ok());
  std::string many;
  for (int i = 0; i < 257; ++i) many += "knob k" + std::to_string(i) + " = {1} ";
  EXPECT_THAT(ParseSpaceText(many, "s.txt").status().message(),
              testing::HasSubstr("more than 256 knobs"));
  EXPECT_FALSE(ParseSpaceText("knob a = {1} require " + std::string(5000, '('), "s.txt").ok());
}

TEST(SpaceTextTest, FilesAreRecognizedByTheirContents) {
  const auto folder = ScopedTempDir::Create("tilewright-test");
  ASSERT_TRUE(folder.ok());
  const std::string t1 = folder->path() + "/a.txt", text = folder->path() + "/b.json";
  const auto space = WithRest("require a < b");
  ASSERT_TRUE(space.ok());
  ASSERT_TRUE(WriteFile(t1, "\n " + space->ToT1()).ok());
  ASSERT_TRUE(WriteFile(text, "# comment\nknob a = {1, 2}").ok());
  const auto from_t1 = LoadOpenSpace(t1), from_text = LoadOpenSpace(text);
  ASSERT_TRUE(from_t1.ok()) << from_t1.status().message();
  EXPECT_EQ(from_t1->parameters(), space->parameters());
  EXPECT_EQ(from_t1->conditions(), space->conditions());
  ASSERT_TRUE(from_text.ok()) << from_text.status().message();
  EXPECT_EQ(from_text->size(), 2);
  ASSERT_TRUE(WriteFile(text, "{\"General\": 1").ok());
  EXPECT_THAT(LoadOpenSpace(text).status().message(), testing::StartsWith(text + ": "));
}

}  // namespace
}  // namespace tilewright
