// Inputs that determine only the shape of a result and are computed at run time, in files that
// declare the shape.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/graph/ir/evaluate.h"
#include "tests/graph/onnx/builder.h"

namespace tilewright {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct DeclaredCase {
  const char* name;
  const char* op;
  Ints data;
  int input;                  // index of the input that gives the shape
  Ints numbers;               // its contents
  std::vector<Ints> results;  // declared shapes
  std::vector<std::pair<const char*, std::int64_t>> attributes;
  bool scalar = false;
};
void PrintTo(const DeclaredCase& c, std::ostream* os) { *os << c.name; }

void DeclareOutput(OnnxBuilder& model, const std::string& name, const Ints& shape) {
  model.Output(name);
  auto* graph = model.proto().mutable_graph();
  auto* type = graph->mutable_output(graph->output_size() - 1)->mutable_type();
  auto* dims = type->mutable_tensor_type()->mutable_shape();
  for (std::int64_t extent : shape) dims->add_dim()->set_dim_value(extent);
}

// y0, y1, … = op(data, numbers). The numbers are in the file or an input of the network.
OnnxBuilder ModelOf(const DeclaredCase& c, bool known) {
  OnnxBuilder model(18);
  Strings inputs(static_cast<std::size_t>(c.input) + 1), outputs;
  if (c.input > 0) {
    model.Input("data", c.data);
    inputs[0] = "data";
  }
  inputs.back() = "numbers";
  if (std::string(c.op) == "OneHot") inputs.emplace_back("values");
  model.Initializer("values", MakeTensor(kFloat32, {2}, {-1, 1}));
  const Ints shape = c.scalar ? Ints() : Ints{std::ssize(c.numbers)};
  if (known) {
    const std::vector<double> numbers(c.numbers.begin(), c.numbers.end());
    model.Initializer("numbers", MakeTensor(kInt64, shape, numbers));
  } else {
    model.Input("numbers", shape, onnx::TensorProto::INT64);
  }
  for (std::size_t i = 0; i < c.results.size(); ++i) outputs.push_back("y" + std::to_string(i));
  model.Node(c.op, inputs, outputs);
  for (const auto& [name, value] : c.attributes) model.Int(name, value);
  for (std::size_t i = 0; i < c.results.size(); ++i) {
    DeclareOutput(model, outputs[i], c.results[i]);
  }
  return model;
}

std::vector<Tensor> Results(const DeclaredCase& c, const Graph& graph, bool known) {
  std::vector<Tensor> inputs;
  if (c.input > 0) inputs.push_back(MakeRange(kFloat32, c.data, -3.5, 1));
  if (!known) inputs.push_back(Tensor(graph.node(graph.inputs().back()).type));
  auto outputs = EvaluateGraph(graph, inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.status().message();
  return outputs.ok() ? *std::move(outputs) : std::vector<Tensor>();
}

class DeclaredShape : public testing::TestWithParam<DeclaredCase> {};

TEST_P(DeclaredShape, SaysWhatTheInputSays) {
  const DeclaredCase& c = GetParam();
  auto expected_graph = ModelOf(c, true).Import(), graph = ModelOf(c, false).Import();
  ASSERT_TRUE(expected_graph.ok()) << expected_graph.status().message();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_THAT(graph->notes, ElementsAre(HasSubstr("input 'numbers' of " + std::string(c.op) +
                                                  " is not read: the file declares the shape")));
  const auto expected = Results(c, *expected_graph, true), actual = Results(c, *graph, false);
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    EXPECT_EQ(actual[i].type(), expected[i].type());
    EXPECT_EQ(actual[i].shape(), c.results[i]);
    EXPECT_EQ(ValuesOf(actual[i]), ValuesOf(expected[i]));
  }
}

const DeclaredCase kDeclared[] = {
    {"Reshape", "Reshape", {2, 6}, 1, {3, -1}, {{3, 4}}, {}},
    {"Squeeze", "Squeeze", {1, 3, 1, 2}, 1, {0}, {{3, 1, 2}}, {}},
    {"Unsqueeze", "Unsqueeze", {3, 2}, 1, {0, 2}, {{1, 3, 1, 2}}, {}},
    {"Expand", "Expand", {3, 1}, 1, {2, 1, 4}, {{2, 3, 4}}, {}},
    {"Tile", "Tile", {2, 3}, 1, {2, 1}, {{4, 3}}, {}},
    {"ConstantOfShape", "ConstantOfShape", {}, 0, {2, 3}, {{2, 3}}, {}},
    {"TopK", "TopK", {3, 5}, 1, {2}, {{2, 5}, {2, 5}}, {{"axis", 0}}},
    {"Split", "Split", {2, 6}, 1, {1, 2, 3}, {{2, 1}, {2, 2}, {2, 3}}, {{"axis", -1}}},
    {"OneHot", "OneHot", {4}, 1, {7}, {{4, 7}}, {}, true},
    {"ResizeToSizes", "Resize", {1, 1, 2, 2}, 3, {1, 1, 4, 3}, {{1, 1, 4, 3}}, {}},
    {"CenterCropPad", "CenterCropPad", {4, 3}, 1, {2, 5}, {{2, 5}}, {}},
    {"ReduceSum", "ReduceSum", {3, 2, 4}, 1, {-2}, {{3, 4}}, {{"keepdims", 0}}},
    {"ReduceMaxKept", "ReduceMax", {3, 2, 2}, 1, {1}, {{3, 1, 2}}, {}},
    {"ReduceProdOfAll", "ReduceProd", {3, 2, 2}, 1, {0, 1, 2}, {{1, 1, 1}}, {}},
};

INSTANTIATE_TEST_SUITE_P(Operators, DeclaredShape, testing::ValuesIn(kDeclared),
                         [](const auto& tested) { return tested.param.name; });

class UndeclaredShape : public testing::TestWithParam<DeclaredCase> {};

TEST_P(UndeclaredShape, IsRefused) {
  const auto graph = ModelOf(GetParam(), false).Import();
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.status().code(), StatusCode::kUnsupported);
  EXPECT_THAT(graph.status().message(), HasSubstr("constant at import"));
}

// Several values give the declared shape, or no value gives it.
const DeclaredCase kUndeclared[] = {
    {"EitherPair", "ReduceSum", {3, 2, 2, 2}, 1, {1, 2}, {{3, 2}}, {{"keepdims", 0}}},
    {"NoAxis", "ReduceSum", {3, 2}, 1, {0}, {{3, 2}}, {}},
    {"DimensionsOfOne", "ReduceSum", {3, 1, 1}, 1, {1, 2}, {{3}}, {{"keepdims", 0}}},
    {"NoMultiple", "Tile", {2, 3}, 1, {2, 1}, {{5, 3}}, {}},
    {"NotSqueezed", "Squeeze", {1, 3}, 1, {0}, {{1, 3}}, {}},
    {"OtherElements", "Unsqueeze", {3, 2}, 1, {0}, {{1, 3, 3}}, {}},
};

INSTANTIATE_TEST_SUITE_P(Operators, UndeclaredShape, testing::ValuesIn(kUndeclared),
                         [](const auto& tested) { return tested.param.name; });

// One axis that is an input of the network. Among the axes that give the declared shape, the
// expected one is that of the case, counted from either end.
struct AxisCase {
  const char* op;
  Ints result;  // declared shape; empty: that of the data
  std::vector<std::int64_t> axes;
  std::vector<std::pair<const char*, std::int64_t>> attributes;
};

TEST(ComputedAxis, IsTheOneThatTheInputNames) {
  const Ints data = {2, 3, 3, 1};
  const AxisCase cases[] = {
      {"ReduceMax", {2, 3, 1}, {1, 2, -2, -3}, {{"keepdims", 0}}},
      {"ReduceL2", {2, 3, 1}, {1, -2}, {{"keepdims", 0}}},
      {"CumSum", {2, 3, 3, 1}, {0, 1, -2, 3}, {}},
      {"CumProd", {2, 3, 3, 1}, {2, -4}, {{"reverse", 1}}},
  };
  for (const AxisCase& c : cases) {
    const auto model_of = [&](bool known, std::int64_t axis) {
      OnnxBuilder model(26);
      const bool scalar = std::string(c.op).starts_with("Cum");
      const Ints shape = scalar ? Ints() : Ints{1};
      model.Input("data", data);
      if (known) {
        model.Initializer("axis", MakeTensor(kInt64, shape, {static_cast<double>(axis)}));
      } else {
        model.Input("axis", shape, onnx::TensorProto::INT64);
      }
      model.Node(c.op, {"data", "axis"}, {"y"});
      for (const auto& [name, value] : c.attributes) model.Int(name, value);
      DeclareOutput(model, "y", c.result);
      return model;
    };
    const Tensor x = MakeRange(kFloat32, data, -4, 0.5);
    for (const std::int64_t axis : c.axes) {
      SCOPED_TRACE(c.op + std::string(" ") + std::to_string(axis));
      const Tensor given =
          MakeTensor(kInt64, std::string(c.op).starts_with("Cum") ? Ints() : Ints{1},
                     {static_cast<double>(axis)});
      const Tensor expected = EvaluateModel(model_of(true, axis), {&x});
      const Tensor actual = EvaluateModel(model_of(false, axis), {&x, &given});
      EXPECT_EQ(actual.type(), expected.type());
      EXPECT_EQ(ValuesOf(actual), ValuesOf(expected));
    }
  }
}

TEST(ComputedDiagonal, CutsWhereTheInputSays) {
  const Ints data = {2, 3, 4};
  const Tensor x = MakeRange(kFloat32, data, 1);
  for (const std::int64_t upper : {0, 1}) {
    for (const double diagonal : {-5.0, -1.0, 0.0, 2.0}) {
      OnnxBuilder known(14), computed(14);
      known.Input("x", data).Initializer("k", MakeTensor(kInt64, {}, {diagonal})).Output("y");
      computed.Input("x", data).Input("k", {}, onnx::TensorProto::INT64).Output("y");
      for (OnnxBuilder* model : {&known, &computed}) {
        model->Node("Trilu", {"x", "k"}, {"y"}).Int("upper", upper);
      }
      const Tensor k = MakeTensor(kInt64, {}, {diagonal});
      EXPECT_EQ(ValuesOf(EvaluateModel(computed, {&x, &k})), ValuesOf(EvaluateModel(known, {&x})));
    }
  }
}

}  // namespace
}  // namespace tilewright
