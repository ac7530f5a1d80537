// Import and export of Relay text.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "src/base/files/file.h"
#include "src/graph/relay/syntax.h"
#include "tests/support/data_file.h"

namespace tilewright::relay {
namespace {

using testing::HasSubstr;

class PublishedText : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string path = DataFile(std::string("relay/") + GetParam() + ".relay");
    if (!FileExists(path)) GTEST_SKIP() << path << " is not there";
    auto text = ReadFile(path);
    ASSERT_TRUE(text.ok()) << text.status().message();
    text_ = *std::move(text);
  }
  std::string text_;
};

class CompleteText : public PublishedText {};

TEST_P(CompleteText, PrintsTheSameBytesWithNumbersRecomputed) {
  auto module = Parse(text_);
  ASSERT_TRUE(module.ok()) << module.status().message();
  EXPECT_FALSE(module->fragment);
  EXPECT_EQ(Print(*module, Numbering::kRecompute), text_);
}

TEST_P(CompleteText, PrintsTheSameBytesWithNumbersKept) {
  auto module = Parse(text_);
  ASSERT_TRUE(module.ok()) << module.status().message();
  EXPECT_EQ(Print(*module, Numbering::kKeep), text_);
}

INSTANTIATE_TEST_SUITE_P(Own, CompleteText, testing::Values("own_packed"));
INSTANTIATE_TEST_SUITE_P(Files, CompleteText,
                         testing::Values("resnet18_v1_vta_packed", "resnet50_nhwc_before_partition",
                                         "resnet50_nhwc_after_partition", "conv_bn_relu",
                                         "conv_bn_relu_fn", "conv_bn_relu_fused_main",
                                         "conv_bn_relu_fused_primfunc"),
                         [](const auto& tested) { return std::string(tested.param); });

class FragmentText : public PublishedText {};

TEST_P(FragmentText, PrintsTheSameBytesWithNumbersKept) {
  auto module = Parse(text_);
  ASSERT_TRUE(module.ok()) << module.status().message();
  EXPECT_TRUE(module->fragment);
  EXPECT_EQ(Print(*module), text_);
}

INSTANTIATE_TEST_SUITE_P(Own, FragmentText, testing::Values("own_fixed"));
INSTANTIATE_TEST_SUITE_P(Files, FragmentText, testing::Values("efficientnet_fused_int16"),
                         [](const auto& tested) { return std::string(tested.param); });

TEST(RelayText, RefusesTheAbbreviatedStyle) {
  EXPECT_EQ(Parse("fn (%x: int8) {\n  %0 = f(%x);\n  ...\n  g(%0)\n}").status().message(),
            "line 3, column 3: \"...\" marks omitted lines; expected a complete listing");
}

// f, g, h and k are relu, tanh, exp and sqrt.
constexpr char kDeferred[] = R"(def @main(%x: Tensor[(4), float32]) -> Tensor[(4), float32] {
  %0 = tanh(%x) /* ty=Tensor[(4), float32] */;
  %1 = sqrt(%x) /* ty=Tensor[(4), float32] */;
  %2 = nn.relu(%0) /* ty=Tensor[(4), float32] */;
  %3 = exp(%1) /* ty=Tensor[(4), float32] */;
  add(%2, %3) /* ty=Tensor[(4), float32] */
}
)";

TEST(RelayText, NumbersAValueWhenItsFirstUserIsWritten) {
  auto module = Parse(kDeferred);
  ASSERT_TRUE(module.ok()) << module.status().message();
  EXPECT_EQ(Print(*module, Numbering::kRecompute), kDeferred);
}

TEST(RelayText, RenumbersWhatWasWrittenInAnotherOrder) {
  auto module = Parse(R"(def @main(%x: Tensor[(4), float32]) -> Tensor[(4), float32] {
  %7 = tanh(%x) /* ty=Tensor[(4), float32] */;
  %9 = nn.relu(%7) /* ty=Tensor[(4), float32] */;
  %3 = sqrt(%x) /* ty=Tensor[(4), float32] */;
  %1 = exp(%3) /* ty=Tensor[(4), float32] */;
  add(%9, %1) /* ty=Tensor[(4), float32] */
}
)");
  ASSERT_TRUE(module.ok()) << module.status().message();
  EXPECT_EQ(Print(*module, Numbering::kRecompute), kDeferred);
}

constexpr char kFused[] = R"(#[version = "0.0.5"]
type Option[A] {
  Some(A),
  None,
}

def @main(%x: Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32] {
  %4 = fn (%p0: Tensor[(2, 3), float32], %p1: Tensor[(2, 3), float32], Primitive=1, hash="b") -> Tensor[(2, 3), float32] {
    %0 = nn.relu(%p0);
    add(%0, %p1)
  };
  %2 = fn (%p01: Tensor[(2, 3), float32], %p11: Tensor[(3), float32], hash="a", Primitive=1) -> Tensor[(2, 3), float32] {
    %1 = multiply(%p01, 2f /* ty=float32 */);
    add(%1, %p11)
  };
  %3 = %2(%x, meta[relay.Constant][0] /* ty=Tensor[(3), float32] */);
  %4(%3, %x)
})";

TEST(RelayText, RenumbersFunctionsFromTheLastToTheFirst) {
  // The traversal reaches the last function first, but its line is printed only with its call.
  constexpr char kPrinted[] = R"(#[version = "0.0.5"]
type Option[A] {
  Some(A),
  None,
}

def @main(%x: Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32] {
  %2 = fn (%p01: Tensor[(2, 3), float32], %p11: Tensor[(3), float32], hash="a", Primitive=1) -> Tensor[(2, 3), float32] {
    %1 = multiply(%p01, 2f /* ty=float32 */);
    add(%1, %p11)
  };
  %3 = %2(%x, meta[relay.Constant][0] /* ty=Tensor[(3), float32] */);
  %4 = fn (%p0: Tensor[(2, 3), float32], %p1: Tensor[(2, 3), float32], Primitive=1, hash="b") -> Tensor[(2, 3), float32] {
    %0 = nn.relu(%p0);
    add(%0, %p1)
  };
  %4(%3, %x)
})";
  auto module = Parse(kFused);
  ASSERT_TRUE(module.ok()) << module.status().message();
  EXPECT_EQ(Print(*module, Numbering::kRecompute), kPrinted);
  EXPECT_EQ(Print(*module, Numbering::kKeep), kFused);
}

TEST(RelayText, KeepsTuplesMetadataAndDeviceAnnotations) {
  constexpr char kText[] =
      R"(def @main(%x {virtual_device=VirtualDevice(device_type=1)}: int8) -> (int8, int8) {
 %0 = (%x, 1 /* ty=int32 */) /* ty=(int8, int32) */;
 %1 = %0.0 /* ty=int8 */;
 (%1, %1)
}

#[metadata]
{"root": 1, "b64ndarrays": ["..."]}
)";
  auto module = Parse(kText);
  ASSERT_TRUE(module.ok()) << module.status().message();
  EXPECT_EQ(Print(*module, Numbering::kRecompute), kText);
}

TEST(RelayText, ReadsAVariableWithADotBeforeAProjection) {
  auto module = Parse("fn (%a.0: int8, %a: (int8, int8)) { %0 = (%a.0, %a.1); %0 }");
  ASSERT_TRUE(module.ok()) << module.status().message();
  EXPECT_THAT(Print(*module), HasSubstr("%0 = %a.1;"));
  EXPECT_THAT(Print(*module), HasSubstr("(%a.0, %0)"));
}

struct Rejected {
  const char* name;
  std::string text;
  const char* message;
};
void PrintTo(const Rejected& rejected, std::ostream* out) { *out << rejected.name; }
class RejectedText : public testing::TestWithParam<Rejected> {};

TEST_P(RejectedText, NamesPlaceAndExpectation) {
  auto module = Parse(GetParam().text);
  ASSERT_FALSE(module.ok());
  EXPECT_EQ(module.status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(module.status().message(), GetParam().message);
}

std::string Repeat(const char* part, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += part;
  return text;
}

INSTANTIATE_TEST_SUITE_P(
    Texts, RejectedText,
    testing::Values(
        Rejected{"Empty", "", "line 1, column 1: no function, expected a def or fn"},
        Rejected{"Garbage", "hello",
                 "line 1, column 1: 'hello', expected 'def', 'fn', 'type' or '#['"},
        Rejected{"NoSemicolon", "fn (%x: int8) {\n  %0 = f(%x)\n  %0\n}",
                 "line 3, column 3: '%0', expected ';'"},
        Rejected{"Unbound", "fn (%x: int8) {\n  f(%y)\n}",
                 "line 2, column 5: %y is not bound here"},
        Rejected{"BoundTwice", "fn (%x: int8) {\n %0 = f(%x);\n %0 = f(%x);\n %0 }",
                 "line 3, column 2: %0 is bound twice"},
        Rejected{"CutInStatement", "fn (%x: int8) {\n  %0 = f(%x",
                 "line 2, column 12: the text ends, expected ',' or ')'"},
        Rejected{"CutInType", "fn (%x: Tensor[(1, 2",
                 "line 1, column 21: the text ends, expected ','"},
        Rejected{"NoResult", "fn (%x: int8) { }",
                 "line 1, column 17: '}', expected the result of the body"},
        Rejected{"OpenComment", "fn (%x: int8) { %x /* ty=",
                 "line 1, column 20: comment without end, expected \"*/\""},
        Rejected{"OpenString", "fn (%x: int8, hash=\"a) { %x }",
                 "line 1, column 20: string without end, expected \""},
        Rejected{"HugeDim", "fn (%x: Tensor[(99999999999), int8]) { %x }",
                 "line 1, column 17: dimension 99999999999, expected 0 to 2147483647"},
        Rejected{"HugeTensor", "fn (%x: Tensor[(2000000, 2000000), int8]) { %x }",
                 "line 1, column 26: tensor of more than 68719476736 elements"},
        Rejected{"Rank", "fn (%x: Tensor[(1,1,1,1,1,1,1,1,1), int8]) { %x }",
                 "line 1, column 33: more than 8 dimensions"},
        Rejected{"ElementType", "fn (%x: Tensor[(1), int7]) { %x }",
                 "line 1, column 21: 'int7', expected an element type such as float32"},
        Rejected{"DeepTuple", "fn () { " + Repeat("(", 100000),
                 "line 1, column 72: nested deeper than 64 levels"},
        Rejected{"DeepType", "fn (%x: " + Repeat("(", 100000),
                 "line 1, column 72: nested deeper than 64 levels"},
        Rejected{"StaleParameter", "fn (%x: int8 /* ty=int16 */) { %x }",
                 "line 1, column 14: parameter %x of type int8 has the comment ty=int16"},
        Rejected{"StaleFunction", "fn (%x: int8) -> int8 {\n%x\n} /* ty=fn (int8) -> int16 */",
                 "line 1, column 1: the function has type fn (int8) -> int8, but its comment "
                 "declares fn (int8) -> int16"},
        Rejected{
            "TwoTypesOfAConstant",
            "fn () { (meta[relay.Constant][0] /* ty=int8 */,\n meta[relay.Constant][0] /* ty=int16 "
            "*/) }",
            "line 2, column 2: meta[relay.Constant][0] has another type than at line 1, column 10"},
        Rejected{"BinaryByte", std::string("fn \x01"),
                 "line 1, column 4: byte 0x01 starts no token"}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST(RelayText, WalksALongChainWithoutRecursion) {
  std::string text = "fn (%x: int8) {\n  %0 = f(%x);\n";
  constexpr int kLength = 200000;
  for (int i = 1; i < kLength; ++i)
    text += "  %" + std::to_string(i) + " = f(%" + std::to_string(i - 1) + ");\n";
  text += "  f(%" + std::to_string(kLength - 1) + ")\n}\n";
  auto module = Parse(text);
  ASSERT_TRUE(module.ok()) << module.status().message();
  EXPECT_EQ(Print(*module, Numbering::kRecompute), text);
}

TEST(RelayText, RefusesFunctionsThatReachOneAnotherTooDeep) {
  std::string text = "fn (%x: int8) {\n %f0 = fn () { %x };\n";
  for (int i = 1; i < 100; ++i) {
    text += " %f" + std::to_string(i) + " = fn () { %f" + std::to_string(i - 1) + "() };\n";
  }
  EXPECT_EQ(Parse(text + " %f99()\n}").status().message(),
            "line 66, column 9: functions are nested deeper than 64 levels");
}

}  // namespace
}  // namespace tilewright::relay
