#include "src/space/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/space/trial.h"

namespace tilewright {
namespace {

using testing::HasSubstr;

/// Returns the space of the 64 -> 64, 3x3, 56x56 convolution in AutoTVM's x86 package (sizes 7 7 8
/// 2).
ConfigSpace ExampleSpace() {
  ConfigSpace space;
  EXPECT_TRUE(space.Add(*Knob::Split("tile_ic", 64, 2)).ok());
  EXPECT_TRUE(space.Add(*Knob::Split("tile_oc", 64, 2)).ok());
  EXPECT_TRUE(space.Add(*Knob::Split("tile_ow", 56, 2)).ok());
  EXPECT_TRUE(space.Add(Knob::Bool("unroll_kw", {true, false})).ok());
  return space;
}

TEST(ConfigSpaceTest, FirstKnobIsTheFastestDigit) {
  const ConfigSpace space = ExampleSpace();
  EXPECT_EQ(space.size(), 7 * 7 * 8 * 2);
  EXPECT_EQ(space.Digits(188), (std::vector<std::int64_t>{6, 5, 3, 0}));
  EXPECT_EQ(space.IndexOf({6, 5, 3, 0}), 188);
  const Config config = space.At(188);
  EXPECT_EQ(config.Factors("tile_ic"), (std::vector<std::int64_t>{1, 64}));
  EXPECT_EQ(config.Factors("tile_oc"), (std::vector<std::int64_t>{2, 32}));
  EXPECT_EQ(config.Factors("tile_ow"), (std::vector<std::int64_t>{8, 7}));
  EXPECT_EQ(config.Integer("unroll_kw"), 1);
}

TEST(ConfigSpaceTest, EveryIndexRoundTripsThroughTextAndValues) {
  const ConfigSpace space = ExampleSpace();
  for (std::int64_t i = 0; i < space.size(); ++i) {
    const Config config = space.At(i);
    auto parsed = Config::Parse(config.ToString());
    ASSERT_TRUE(parsed.ok()) << parsed.status().message();
    EXPECT_EQ(*parsed, config);
    parsed->index = -1;
    auto located = space.Locate(*parsed);
    ASSERT_TRUE(located.ok()) << located.status().message();
    EXPECT_EQ(*located, config);
  }
}

TEST(ConfigSpaceTest, LocateNamesTheKnobTheSpaceLacks) {
  const ConfigSpace space = ExampleSpace();
  Config config = space.At(0);
  config.values[2].second = KnobValue{std::vector<std::int64_t>{4, 16}};
  EXPECT_THAT(space.Locate(config).status().message(),
              HasSubstr("tile_ow: the space has no value [4,16]"));
  config = space.At(0);
  config.values.pop_back();
  EXPECT_THAT(space.Locate(config).status().message(), HasSubstr("unroll_kw"));
  config = space.At(0);
  config.values.emplace_back("more", KnobValue{true});
  EXPECT_EQ(space.Locate(config).status().code(), StatusCode::kNotFound);
}

TEST(ConfigSpaceTest, RefusesSecondKnobOfOneNameAndOverflow) {
  ConfigSpace space;
  ASSERT_TRUE(space.Add(Knob::Other("a", {1})).ok());
  EXPECT_FALSE(space.Add(Knob::Other("a", {1, 2})).ok());
  const std::vector<std::int64_t> many(std::size_t{1} << 16, 0);
  ASSERT_TRUE(space.Add(Knob::Other("b", many)).ok());
  ASSERT_TRUE(space.Add(Knob::Other("c", many)).ok());
  ASSERT_TRUE(space.Add(Knob::Other("d", many)).ok());
  EXPECT_FALSE(space.Add(Knob::Other("e", many)).ok());
  EXPECT_EQ(ConfigSpace().size(), 1);
  EXPECT_TRUE(ConfigSpace().At(0).values.empty());
}

TEST(ConfigTest, EverySpellingOfATextIsReadTheSame) {
  const char* const written =
      R"({"index":7,"values":{"split":[1,64],"words":["none","vec"],"n":-16,"on":true,)"
      R"("off":false,"word":"unroll","none":""}})";
  const char* const spaced =
      R"({"values": {"split": [1, 64], "words": ["none", "ve\u0063"], "n": -16, "on": true,)"
      R"( "off": false, "word": "unroll", "none": ""}, "index": 7})";
  const auto config = Config::Parse(written);
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(config->ToString(), written);
  EXPECT_EQ(*Config::Parse(spaced), *config);
  for (const char* value : {"[]", "[0.5]", "[1,\"a\"]", "null", "01", "[1,]", "{}", "1e999"}) {
    const std::string text = std::string(R"({"index":7,"values":{"k":)") + value + "}}";
    EXPECT_FALSE(Config::Parse(text).ok()) << text;
  }
  EXPECT_TRUE(Config::Parse(R"({"index":7,"values":{}})").ok());
  const auto escaped = Config::Parse(R"({"index":7,"values":{"k":"a\"b"}})");
  ASSERT_TRUE(escaped.ok());
  EXPECT_EQ(escaped->ToString(), R"({"index":7,"values":{"k":"a\"b"}})");
  EXPECT_EQ(escaped->ValuesText(), R"({"k":"a\"b"})");
  EXPECT_EQ(Config().ValuesText(), "{}");
}

TEST(ConfigTest, RealNumbersStayRealNumbers) {
  const char* const written =
      R"({"index":7,"values":{"a":0.5,"b":-1.0,"c":1e-07,"d":1e+22,"e":2,"f":0.1}})";
  const auto config = Config::Parse(written);
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(config->Find("b")->value, (decltype(KnobValue::value)(-1.0)));
  EXPECT_EQ(config->Find("e")->value, (decltype(KnobValue::value)(std::int64_t{2})));
  EXPECT_EQ(config->ToString(), written);
  const auto other = Config::Parse(R"({"index":7,"values":{"a":5e-1,"b":-1e0,"c":0.0000001,)"
                                   R"("d":10000000000000000000000.0,"e":2,"f":0.10}})");
  ASSERT_TRUE(other.ok()) << other.status().message();
  EXPECT_EQ(*other, *config);
}

TEST(ConfigTest, BadTextIsRefused) {
  for (const char* text :
       {"", "[]", "{}", R"({"index":1})", R"({"index":1.5,"values":{}})",
        R"({"index":1,"values":{"a":null}})", R"({"index":1,"values":{"a":[1,"b"]}})",
        R"({"index":1,"values":{"a":[]}})", R"({"index":1,"values":{},"more":1})"}) {
    EXPECT_FALSE(Config::Parse(text).ok()) << text;
  }
}

TEST(OutcomeTest, NamesRoundTripAndNumbersStay) {
  for (int i = 0; i < 8; ++i) {
    const auto outcome = static_cast<Outcome>(i);
    auto parsed = ParseOutcome(OutcomeName(outcome));
    ASSERT_TRUE(parsed.ok());
    EXPECT_EQ(*parsed, outcome);
  }
  EXPECT_EQ(OutcomeName(Outcome::kWrongResult), "wrong_result");
  EXPECT_FALSE(ParseOutcome("fine").ok());
}

}  // namespace
}  // namespace tilewright
