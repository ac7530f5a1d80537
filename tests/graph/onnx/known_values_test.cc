// Values that follow from constants alone are compile-time constants during the import, also floats
// and booleans.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "src/graph/onnx/proto.h"
#include "tests/graph/onnx/builder.h"

namespace tilewright {
namespace {

using onnx::TensorProto;
using testing::ElementsAre;
using testing::HasSubstr;

// y = 2 * x if `condition`, else -x.
void AddChoice(OnnxBuilder& model, const std::string& condition) {
  model.Node("If", {condition}, {"y"}).Output("y");
  auto& graph = *model.proto().mutable_graph();
  auto& node = *graph.mutable_node(graph.node_size() - 1);
  for (const char* branch : {"then_branch", "else_branch"}) {
    auto* attribute = node.add_attribute();
    attribute->set_name(branch);
    attribute->set_type(onnx::AttributeProto::GRAPH);
    const bool first = attribute->name() == "then_branch";
    AddTo(*attribute->mutable_g(), first ? "Add" : "Neg", first ? Strings{"x", "x"} : Strings{"x"},
          "r");
    attribute->mutable_g()->add_output()->set_name("r");
  }
}

TEST(OnnxKnown, ConditionsOfFloats) {
  const Tensor x = MakeTensor(kFloat32, {1}, {3});
  for (const bool less : {true, false}) {
    OnnxBuilder model;
    model.Input("x", {1}).Initializer("a", MakeTensor(kFloat32, {3}, {1.5, 2, 0.25}));
    model.Initializer("b", MakeTensor(kFloat32, {3}, {1, 1, less ? 9.0 : 0.5}));
    model.Node("Mul", {"a", "b"}, {"p"}).Node("ReduceSum", {"p"}, {"s"}).Int("keepdims", 0);
    model.Initializer("limit", MakeTensor(kFloat32, {}, {5}));
    model.Node("Less", {"limit", "s"}, {"above"}).Node("Not", {"above"}, {"within"});
    AddChoice(model, "within");
    EXPECT_THAT(ValuesOf(EvaluateModel(model, {&x})), ElementsAre(less ? -3 : 6));
  }
}

TEST(OnnxKnown, ScalesAsExportersWriteThem) {
  OnnxBuilder model;
  model.Input("x", {1, 1, 2, 2}).Output("y");
  model.Initializer("size", MakeTensor(kFloat32, {2}, {6, 4}));
  model.Node("Shape", {"x"}, {"shape"});
  model.Initializer("from", MakeTensor(kInt64, {1}, {2}))
      .Initializer("to", MakeTensor(kInt64, {1}, {4}));
  model.Node("Slice", {"shape", "from", "to"}, {"hw"});
  model.Node("Cast", {"hw"}, {"real"}).Int("to", TensorProto::FLOAT);
  model.Node("Div", {"size", "real"}, {"ratio"});
  model.Initializer("ones", MakeTensor(kFloat32, {2}, {1, 1}));
  model.Node("Concat", {"ones", "ratio"}, {"scales"}).Int("axis", 0);
  model.Node("Resize", {"x", "", "scales"}, {"y"}).Text("mode", "nearest");
  auto graph = model.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_EQ(graph->node(graph->outputs()[0]).type.shape, (Ints{1, 1, 6, 4}));
}

// Every step halves a float until it is below 1.
TEST(OnnxKnown, ALoopWhoseConditionIsOfFloats) {
  OnnxBuilder model;
  model.Input("x", {1}).Output("y").Initializer("start", MakeTensor(kFloat32, {}, {20}));
  model.Initializer("yes", MakeTensor(kBool, {}, {1}));
  model.Node("Loop", {"", "yes", "start", "x"}, {"rest", "y"});
  auto* attribute = model.proto().mutable_graph()->mutable_node(0)->add_attribute();
  attribute->set_name("body");
  attribute->set_type(onnx::AttributeProto::GRAPH);
  auto& body = *attribute->mutable_g();
  for (const char* name : {"i", "going", "f", "s"}) body.add_input()->set_name(name);
  const auto number = [&](const char* name, float value) {
    auto* tensor = body.add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(TensorProto::FLOAT);
    tensor->add_float_data(value);
  };
  number("half", 0.5F);
  number("one", 1);
  AddTo(body, "Mul", {"f", "half"}, "g");
  AddTo(body, "Less", {"one", "g"}, "going_on");
  AddTo(body, "Add", {"s", "s"}, "t");
  for (const char* name : {"going_on", "g", "t"}) body.add_output()->set_name(name);
  const Tensor x = MakeTensor(kFloat32, {1}, {1});
  EXPECT_THAT(ValuesOf(EvaluateModel(model, {&x})), ElementsAre(32));  // 10, 5, 2.5, 1.25, 0.625
}

TEST(OnnxKnown, WhatFollowsFromInputsIsNot) {
  OnnxBuilder model;
  model.Input("x", {1}).Input("z", {1}).Initializer("a", MakeTensor(kFloat32, {1}, {2}));
  model.Node("Less", {"z", "a"}, {"c"});
  AddChoice(model, "c");
  EXPECT_THAT(model.Import().status().message(), HasSubstr("--value z=NUMBER"));
}

TEST(OnnxKnown, ValuesThatAreLargeStayUnknown) {
  OnnxBuilder model;
  model.Input("x", {1}).Initializer("a", MakeTensor(kFloat32, {1}, {2}));
  model.Initializer("shape", MakeTensor(kInt64, {1}, {1 << 17}));
  model.Node("Expand", {"a", "shape"}, {"many"});
  model.Node("ReduceMax", {"many"}, {"m"}).Int("keepdims", 0);
  model.Node("Less", {"m", "a"}, {"c"});
  AddChoice(model, "c");
  EXPECT_THAT(model.Import().status().message(),
              HasSubstr("export the model so that it is constant"));
}

// A window may be much larger than the image that it covers.
TEST(OnnxKnown, PoolsOfLargeWindowsStayUnknown) {
  for (const auto& [size, known] :
       {std::pair<std::int64_t, bool>(64, true), std::pair<std::int64_t, bool>(32'768, false)}) {
    OnnxBuilder model;
    model.Input("x", {1}).Initializer("a", MakeTensor(kFloat32, {1, 1, 1, 1}, {2}));
    model.Node("MaxPool", {"a"}, {"p"}).IntList("kernel_shape", {size, size});
    model.IntList("pads", {size - 1, size - 1, 0, 0});
    model.Node("ReduceMax", {"p"}, {"m"}).Int("keepdims", 0);
    model.Initializer("limit", MakeTensor(kFloat32, {}, {1}));
    model.Node("Less", {"limit", "m"}, {"c"});
    AddChoice(model, "c");
    EXPECT_EQ(model.Import().ok(), known) << size;
  }
}

// Sizes of results follow from constants with more elements than shapes have.
TEST(OnnxKnown, MasksOfThousandsOfElements) {
  const auto mask = [](std::int64_t count) {
    Tensor contents(TensorType{{count}, kInt32});
    for (std::int64_t i = 0; i < count; i += 1000) contents.Set(i, 1);
    return contents;
  };
  OnnxBuilder places(18);
  places.Input("x", {1}).Initializer("c", mask(5000)).Node("NonZero", {"c"}, {"y"}).Output("y");
  const Tensor x = MakeTensor(kFloat32, {1}, {3});
  EXPECT_THAT(ValuesOf(EvaluateModel(places, {&x})), ElementsAre(0, 1000, 2000, 3000, 4000));
  OnnxBuilder kept(18);
  kept.Input("x", {5000}).Initializer("c", mask(5000)).Output("y");
  kept.Node("Cast", {"c"}, {"hits"}).Int("to", TensorProto::BOOL);
  kept.Node("Compress", {"x", "hits"}, {"y"});
  const Tensor numbers = MakeRange(kFloat32, {5000});
  EXPECT_THAT(ValuesOf(EvaluateModel(kept, {&numbers})), ElementsAre(0, 1000, 2000, 3000, 4000));
  OnnxBuilder unique(18);
  unique.Input("x", {1}).Initializer("c", mask(5000)).Output("y");
  unique.Node("Unique", {"c"}, {"", "", "", "y"});
  EXPECT_THAT(ValuesOf(EvaluateModel(unique, {&x})), ElementsAre(4995, 5));
  for (const char* op : {"NonZero", "Unique"}) {
    OnnxBuilder large(18);
    large.Input("x", {1}).Initializer("c", mask(70'000)).Node(op, {"c"}, {"y"}).Output("y");
    EXPECT_THAT(large.Import().status().message(),
                HasSubstr("it is constant and has 70000 elements, expected at most 65536"));
  }
}

// A list that is repeatedly added to itself is computed once for each operator.
TEST(OnnxKnown, ValuesOfManyPathsAreComputedOnce) {
  OnnxBuilder model;
  model.Input("x", {1}).Initializer("v0", MakeTensor(kFloat32, {2}, {1, 1}));
  for (int i = 0; i < 60; ++i) {
    const std::string from = "v" + std::to_string(i);
    model.Node("Add", {from, from}, {"v" + std::to_string(i + 1)});
  }
  model.Node("ReduceMax", {"v60"}, {"m"}).Int("keepdims", 0);
  model.Initializer("limit", MakeTensor(kFloat32, {}, {1e18}));
  model.Node("Less", {"limit", "m"}, {"c"});
  AddChoice(model, "c");
  const Tensor x = MakeTensor(kFloat32, {1}, {3});
  EXPECT_THAT(ValuesOf(EvaluateModel(model, {&x})), ElementsAre(6));
}

}  // namespace
}  // namespace tilewright
