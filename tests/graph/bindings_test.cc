// Parsing of bindings (sizes and values that the user gives), without a model file.

#include "src/graph/ir/bindings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilewright {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string MessageOf(const BindingTexts& texts) { return ParseBindings(texts).status().message(); }

TEST(Bindings, AreReadFromTexts) {
  const auto sets = ParseBindings({{"x=1x3x320x320", "a=b=2"}, {"height=320"}, {"sr=16000"}});
  ASSERT_TRUE(sets.ok()) << sets.status().message();
  ASSERT_EQ(sets->size(), 1U);
  EXPECT_THAT(sets->front().Options(), ElementsAre("--dim height=320", "--shape a=b=2",
                                                   "--shape x=1x3x320x320", "--value sr=16000"));
}

TEST(Bindings, OfSeveralSetsGoTogether) {
  const auto sets = ParseBindings({{"x=1x8,2x16", "y=4"}, {"n=3,5"}, {"v=1,2"}});
  ASSERT_TRUE(sets.ok()) << sets.status().message();
  ASSERT_EQ(sets->size(), 2U);
  EXPECT_THAT((*sets)[0].Options(),
              ElementsAre("--dim n=3", "--shape x=1x8", "--shape y=4", "--value v=1,2"));
  EXPECT_THAT((*sets)[1].Options(),
              ElementsAre("--dim n=5", "--shape x=2x16", "--shape y=4", "--value v=1,2"));
}

TEST(Bindings, ThatSayNothingAreRefused) {
  EXPECT_EQ(MessageOf({{"x"}, {}, {}}), "--shape x: expected NAME=VALUE");
  EXPECT_EQ(MessageOf({{}, {"=3"}, {}}), "--dim =3: expected NAME=VALUE");
  EXPECT_EQ(MessageOf({{}, {}, {"sr="}}), "--value sr=: expected NAME=VALUE");
  EXPECT_THAT(MessageOf({{"x=1x-3"}, {}, {}}), HasSubstr("size '-3', expected a number from 1"));
  EXPECT_THAT(MessageOf({{}, {"n=2147483649"}, {}}), HasSubstr("size '2147483649', expected"));
  EXPECT_THAT(MessageOf({{}, {"n=99999999999999999999"}, {}}), HasSubstr("expected a number from"));
  EXPECT_THAT(MessageOf({{"x=2147483648x2147483648x2147483648"}, {}, {}}), HasSubstr("2^40"));
  EXPECT_THAT(MessageOf({{"x=1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1"}, {}, {}}),
              HasSubstr("17 dimensions, expected at most 16"));
  EXPECT_THAT(MessageOf({{"x=1", "x=2"}, {}, {}}), HasSubstr("'x' is given twice"));
  EXPECT_THAT(MessageOf({{}, {}, {"v=1", "v=2"}}), HasSubstr("'v' is given twice"));
  EXPECT_THAT(MessageOf({{"x=1,2"}, {"n=1,2,3"}, {}}),
              HasSubstr("--dim n: 3 shape variants, but 2 of another name"));
}

TEST(Bindings, ValuesFitTheirType) {
  const auto message = [](const char* text, const TensorType& type) {
    return TensorOfText(text, type).status().message();
  };
  const auto exact = TensorOfText("9007199254740993", {{}, kInt64});
  ASSERT_TRUE(exact.ok());
  EXPECT_EQ(exact->As<std::int64_t>()[0], 9007199254740993);
  EXPECT_EQ(TensorOfText("true, false", {{2}, kBool})->At(0), 1);
  EXPECT_EQ(TensorOfText("-0.5,1e3", {{1, 2}, kFloat32})->At(1), 1000);
  EXPECT_EQ(message("1,2", {{}, kInt64}), "2 elements, expected 1 of int64[]");
  EXPECT_EQ(message("1", {{2}, kInt64}), "1 element, expected 2 of int64[2]");
  EXPECT_EQ(message("1.5", {{}, kInt64}), "'1.5' is not a valid int64");
  EXPECT_EQ(message("128", {{}, kInt8}), "'128' is not a valid int8");
  EXPECT_EQ(message("-1", {{}, kUInt8}), "'-1' is not a valid uint8");
  EXPECT_EQ(message("2", {{}, kBool}), "'2' is not a valid bool");
  EXPECT_EQ(message("1e39", {{}, kFloat32}), "'1e39' is not a valid float32");
  EXPECT_EQ(message("", {{}, kFloat32}), "'' is not a valid float32");
}

}  // namespace
}  // namespace tilewright
