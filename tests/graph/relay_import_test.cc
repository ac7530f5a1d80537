// Import of Relay text into a graph.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/graph/ir/graph.h"

namespace tilewright {
namespace {

using testing::ElementsAre;

int FindNode(const Graph& graph, std::string_view name) {
  for (int id = 0; id < graph.size(); ++id) {
    if (graph.node(id).name == name) return id;
  }
  return -1;
}

std::vector<std::string> NamesOfOperators(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes()) {
    if (node.kind == NodeKind::kOperator) names.push_back(node.name);
  }
  return names;
}

TEST(RelayImport, NamesValuesAsTheTextDoes) {
  auto graph = ImportRelay(R"(def @main(%data: Tensor[(1, 3, 8, 8), float32]) {
  %0 = nn.conv2d(%data, meta[relay.Constant][0] /* ty=Tensor[(4, 3, 3, 3), float32] */, strides=[2, 2], padding=[1, 1], channels=4, kernel_size=[3, 3]) /* ty=Tensor[(1, 4, 4, 4), float32] */;
  %1 = nn.bias_add(%0, meta[relay.Constant][1] /* ty=Tensor[(4), float32] */);
  %2 = clip(%1, a_min=0f, a_max=6f);
  nn.batch_flatten(%2) /* ty=Tensor[(1, 64), float32] */
})",
                           "small");
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_EQ(graph->name, "small");
  EXPECT_THAT(NamesOfOperators(*graph), ElementsAre("%0", "%1#0", "%1", "%2", "%result"));
  EXPECT_GE(FindNode(*graph, "relay.Constant.1"), 0);
  EXPECT_EQ(graph->node(graph->inputs()[0]).name, "data");
  const Node& conv = graph->node(FindNode(*graph, "%0"));
  EXPECT_THAT(conv.op.attributes.padding, ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(conv.op.attributes.strides, ElementsAre(2, 2));
  EXPECT_EQ(conv.op.attributes.kernel_layout, "OIHW");
  EXPECT_EQ(graph->node(graph->outputs()[0]).type.ToString(), "float32[1,64]");
}

TEST(RelayImport, OrdersNodesFromTheResultNotByLines) {
  auto graph = ImportRelay(R"(fn (%x: Tensor[(4), float32]) {
  %0 = tanh(%x);
  %1 = sqrt(%x);
  %2 = nn.relu(%0);
  %3 = exp(%1);
  %9 = exp(%0);
  add(%2, %3)
})",
                           "order");
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_THAT(NamesOfOperators(*graph), ElementsAre("%0", "%2", "%1", "%3", "%result"));
}

constexpr char kTwoCalls[] = R"(fn (%x: Tensor[(2, 3), int8]) -> Tensor[(2, 3), int8] {
  %2 = fn (%p0: Tensor[(2, 3), int8], Primitive=1) -> Tensor[(2, 3), int8] {
    %0 = nn.pad(%p0, 5f /* ty=float32 */, pad_width=[[1, 0], [0, 0]]);
    %1 = cast(%p0, dtype="int32");
    cast(%1, dtype="int8")
  };
  %3 = %2(%x);
  %2(%3)
})";

TEST(RelayImport, ReplacesEachCallByTheBody) {
  auto graph = ImportRelay(kTwoCalls, "calls");
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_THAT(NamesOfOperators(*graph), ElementsAre("%1", "%3", "%1#copy2", "%result"));
}

TEST(RelayImport, ConvertsTheValueToPadWith) {
  auto graph = ImportRelay(
      "fn (%x: Tensor[(2, 3), uint8]) { nn.pad(%x, 57f /* ty=float32 */, pad_width=[[1, 0], [0, "
      "0]]) /* ty=Tensor[(3, 3), uint8] */ }",
      "pad");
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  const Node& pad = graph->node(graph->outputs()[0]);
  EXPECT_EQ(pad.op.attributes.pad_value, 57);
  EXPECT_THAT(pad.inputs, ElementsAre(0));
  EXPECT_EQ(pad.type.dtype, kUInt8);
}

TEST(RelayImport, PoolsBlockedTensors) {
  auto graph = ImportRelay(
      "fn (%x: Tensor[(1, 4, 8, 8, 1, 16), int8]) { nn.max_pool2d(%x, pool_size=[2, 2], "
      "strides=[2, 2], padding=[0, 0, 0, 0]) /* ty=Tensor[(1, 4, 4, 4, 1, 16), int8] */ }",
      "pool");
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_EQ(graph->node(1).op.attributes.data_layout, "NCHW1n16c");
}

TEST(RelayImport, TakesFieldsOfTuples) {
  auto graph = ImportRelay(R"(fn (%x: Tensor[(1, 2), float32], %v: Tensor[(2), float32]) {
  %0 = nn.batch_norm(%x, %v, %v, %v, %v, epsilon=0.001f);
  %1 = %0.0;
  %2 = (%1, %x);
  concatenate(%2, axis=1) /* ty=Tensor[(1, 4), float32] */
})",
                           "tuples");
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_THAT(NamesOfOperators(*graph), ElementsAre("%0", "%result"));
  EXPECT_EQ(graph->node(FindNode(*graph, "%0")).op.attributes.epsilon, 0.001);
}

TEST(RelayImport, CallsTheFunctionThatAFragmentEndsWith) {
  auto graph = ImportRelay(R"(def @main(%x: Tensor[(2, 3), int16]) {
  %0 = nn.relu(%x);
  %2 = fn (%p0: Tensor[(2, 3), int16], %p1: int16, Primitive=1) -> Tensor[(2, 3), int16] {
    %1 = subtract(%p0, %p1);
    nn.relu(%1)
  };
)",
                           "cut");
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_THAT(NamesOfOperators(*graph), ElementsAre("%0", "%1", "%2(...)"));
  EXPECT_GE(FindNode(*graph, "%2.1"), 0);
}

struct NoImport {
  const char* name;
  const char* text;
  StatusCode code;
  const char* message;
};
void PrintTo(const NoImport& rejected, std::ostream* out) { *out << rejected.name; }
class RejectedImport : public testing::TestWithParam<NoImport> {};

TEST_P(RejectedImport, NamesPlaceAndExpectation) {
  auto graph = ImportRelay(GetParam().text, "rejected");
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.status().code(), GetParam().code);
  EXPECT_EQ(graph.status().message(), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Texts, RejectedImport,
    testing::Values(
        NoImport{"UnknownOperators",
                 "fn (%x: int8) {\n %0 = foo(%x);\n %1 = vision.nms(%0);\n foo(%1)\n}",
                 StatusCode::kUnsupported,
                 "unsupported operators: foo (2), vision.nms (1); the first at line 2, column 7"},
        NoImport{"StaleType",
                 "fn (%x: Tensor[(4), int8]) {\n  nn.relu(%x) /* ty=Tensor[(5), int8] */\n}",
                 StatusCode::kInvalidArgument,
                 "line 2, column 3: nn.relu has type Tensor[(4), int8], but the text declares "
                 "Tensor[(5), int8]"},
        NoImport{"StaleResult", "fn (%x: int8) -> int16 {\n  nn.relu(%x)\n}",
                 StatusCode::kInvalidArgument,
                 "line 2, column 3: the result has type int8, but the text declares int16"},
        NoImport{"StaleLiteral", "fn (%x: int8) {\n  add(%x, 1 /* ty=int8 */)\n}",
                 StatusCode::kInvalidArgument,
                 "line 2, column 11: literal 1 of type int32 has the comment ty=int8"},
        NoImport{
            "UntypedConstant", "fn (%x: int8) { add(%x, meta[relay.Constant][0]) }",
            StatusCode::kInvalidArgument,
            "line 1, column 25: constant: no type, expected one such as Tensor[(1, 64), int8]"},
        NoImport{"Attribute", "fn (%x: int8) { nn.relu(%x, speed=9) }", StatusCode::kUnsupported,
                 "line 1, column 17: nn.relu: attribute speed=9 is not supported"},
        NoImport{"Channels",
                 "fn (%x: Tensor[(1, 3, 8, 8), float32], %w: Tensor[(4, 3, 3, 3), float32]) {\n"
                 "  nn.conv2d(%x, %w, channels=8, kernel_size=[3, 3]) }",
                 StatusCode::kInvalidArgument,
                 "line 2, column 3: nn.conv2d: channels=8, expected 4"},
        NoImport{"PackedUnits",
                 "fn (%x: Tensor[(1, 2, 1, 4), int8], %w: Tensor[(3, 2, 4, 4), int8]) {\n"
                 "  nn.dense(%x, %w, units=3, out_dtype=\"int32\") }",
                 StatusCode::kInvalidArgument, "line 2, column 3: nn.dense: units=3, expected 12"},
        NoImport{"PadValue", "fn (%x: Tensor[(2), uint8]) { nn.pad(%x, 300f, pad_width=[[1, 1]]) }",
                 StatusCode::kInvalidArgument,
                 "line 1, column 31: nn.pad: padding value 300, expected a value of uint8"},
        // The negative number whose magnitude exceeds its type.
        NoImport{"LeastInteger",
                 "fn (%x: Tensor[(2), int8]) { concatenate((%x, %x), axis=-9223372036854775808) }",
                 StatusCode::kInvalidArgument,
                 "line 1, column 30: concatenate: axis=-9223372036854775808, expected an integer"},
        NoImport{"Arguments", "fn (%x: int8) { add(%x) }", StatusCode::kInvalidArgument,
                 "line 1, column 17: add with 1 arguments, expected 2"},
        NoImport{"CallOfAParameter", "fn (%f: int8) { %f(%f) }", StatusCode::kInvalidArgument,
                 "line 1, column 17: call of a value that is not a function defined in this text"},
        NoImport{"UnknownFunction", "def @main(%x: int8) {\n  @f(%x)\n}",
                 StatusCode::kInvalidArgument, "line 2, column 3: @f is not defined in this text"},
        NoImport{"FunctionTwice", "def @f(%x: int8) { %x }\ndef @f(%x: int8) { %x }",
                 StatusCode::kInvalidArgument, "line 2, column 1: @f is defined twice"},
        NoImport{"FunctionAsValue", "def @f(%x: int8) { @f }", StatusCode::kInvalidArgument,
                 "line 1, column 23: '}', expected '(' after @f"},
        NoImport{"Recursion", "def @main(%x: int8) {\n  @main(%x)\n}", StatusCode::kInvalidArgument,
                 "line 2, column 3: calls deeper than 64 levels"},
        NoImport{"CallOfWhatTheTextEndsIn",
                 "def @main(%x: int8) { @f(%x) }\ndef @f(%y: int8) { %0 = nn.relu(%y);",
                 StatusCode::kInvalidArgument, "line 1, column 23: the text ends inside @f"},
        NoImport{"NestedTuple", "fn (%x: int8) {\n  %0 = (%x, %x);\n  %1 = (%0, %x);\n  %1.1\n}",
                 StatusCode::kUnsupported, "line 3, column 8: a tuple inside a tuple"},
        NoImport{"ExcludesAllAxes",
                 "fn (%x: Tensor[(2, 3), float32]) { sum(%x, axis=[0, 1], exclude=True) }",
                 StatusCode::kInvalidArgument,
                 "line 1, column 36: sum: exclude=True leaves no axis to reduce"},
        NoImport{"BatchNormField",
                 "fn (%x: Tensor[(1, 2), float32], %v: Tensor[(2), float32]) {\n"
                 "  %0 = nn.batch_norm(%x, %v, %v, %v, %v);\n  %0.1\n}",
                 StatusCode::kUnsupported,
                 "line 3, column 3: only field 0 of nn.batch_norm is supported"},
        NoImport{"UnknownDimension", "fn (%x: Tensor[(?, 2), int8]) { %x }",
                 StatusCode::kInvalidArgument,
                 "line 1, column 5: parameter %x: type Tensor[(?, 2), int8], expected a tensor of "
                 "constant shape"}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST(RelayImport, RefusesBodiesThatGrowWithoutLimit) {
  std::string text = "fn (%x: int8) {\n %f0 = fn (%a: int8) { nn.relu(%a) };\n";
  for (int i = 1; i < 60; ++i) {
    const std::string f = "%f" + std::to_string(i - 1);
    text += " %f" + std::to_string(i) + " = fn (%a: int8) { %b = " + f + "(%a); " + f + "(%b) };\n";
  }
  auto graph = ImportRelay(text + " %f59(%x)\n}", "bomb");
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.status().message(), "line 21, column 40: more than 262144 values");
}

TEST(RelayImport, RefusesCallsThatGrowWithoutLimitAndMakeNoValues) {
  std::string text = "def @f0(%a: int8) { %a }\n";
  for (int i = 1; i < 60; ++i) {
    const std::string f = "@f" + std::to_string(i - 1);
    text += "def @f" + std::to_string(i) + "(%a: int8) { %b = " + f + "(%a); " + f + "(%b) }\n";
  }
  auto graph = ImportRelay(text + "def @main(%x: int8) { @f59(%x) }", "bomb");
  ASSERT_FALSE(graph.ok());
  EXPECT_THAT(graph.status().message(), testing::EndsWith("more than 1048576 calls"));
}

TEST(RelayImport, CallsFunctionsDefinedAboveAndBelow) {
  auto graph =
      ImportRelay(R"(def @twice(%a: Tensor[(3), int8]) -> (Tensor[(3), int8], Tensor[(3), int8]) {
  %0 = nn.relu(%a);
  (%0, %a)
}

def @main(%x: Tensor[(3), int8]) -> Tensor[(3), int8] {
  %1 = @twice(%x) /* ty=(Tensor[(3), int8], Tensor[(3), int8]) */;
  @sum(%1.0, %1.1)
}

def @sum(%b: Tensor[(3), int8], %c: Tensor[(3), int8]) -> Tensor[(3), int8] {
  add(%b, %c)
}
)",
                  "calls");
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_THAT(NamesOfOperators(*graph), ElementsAre("%0", "%result"));
  const Node& sum = graph->node(graph->outputs()[0]);
  EXPECT_EQ(graph->node(sum.inputs[0]).name, "%0");
  EXPECT_EQ(graph->node(sum.inputs[1]).name, "x");
}

}  // namespace
}  // namespace tilewright
