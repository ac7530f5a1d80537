// Loops whose number of steps is a compile-time constant.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "src/graph/onnx/proto.h"
#include "tests/graph/onnx/builder.h"

namespace tilewright {
namespace {

using onnx::TensorProto;
using testing::ElementsAre;
using testing::HasSubstr;

void AddContents(onnx::GraphProto& graph, const std::string& name, std::int32_t type,
                 std::int64_t number) {
  auto* tensor = graph.add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(type);
  if (type == TensorProto::INT64) {
    tensor->add_int64_data(number);
  } else {
    tensor->add_int32_data(static_cast<std::int32_t>(number));
  }
}

// s starts as x [2]. Each step computes s = s * c + i, where c is captured; `list` collects s
// before each step. If `last` is given, the body continues while i < `last`.
class LoopModel {
 public:
  LoopModel(std::int64_t opset, const std::string& trips, const std::string& condition,
            const std::string& output)
      : model(opset) {
    model.Input("x", {2}).Output(output).Initializer("c", MakeTensor(kFloat32, {}, {2}));
    model.Initializer("three", MakeTensor(kInt64, {}, {3}));
    model.Initializer("endless", MakeTensor(kInt64, {1}, {9223372036854775807.0}));
    model.Initializer("yes", MakeTensor(kBool, {}, {1}))
        .Initializer("no", MakeTensor(kBool, {}, {0}));
    model.Node("Loop", {trips, condition, "x"}, {"last", "list"});
    auto* attribute = model.proto().mutable_graph()->mutable_node(0)->add_attribute();
    attribute->set_name("body");
    attribute->set_type(onnx::AttributeProto::GRAPH);
    body = attribute->mutable_g();
    for (const char* name : {"i", "going", "s"}) body->add_input()->set_name(name);
    auto& cast = AddTo(*body, "Cast", {"i"}, "number");
    auto* to = cast.add_attribute();
    to->set_name("to");
    to->set_type(onnx::AttributeProto::INT);
    to->set_i(TensorProto::FLOAT);
    AddTo(*body, "Mul", {"s", "c"}, "p");
    AddTo(*body, "Add", {"p", "number"}, "t");
    for (const char* name : {"going_on", "t", "s"}) body->add_output()->set_name(name);
  }
  LoopModel& Forever() {
    AddTo(*body, "Identity", {"going"}, "going_on");
    return *this;
  }
  LoopModel& While(std::int64_t last) {
    AddContents(*body, "last_step", TensorProto::INT64, last);
    AddTo(*body, "Less", {"i", "last_step"}, "going_on");
    return *this;
  }
  std::string Message() const { return model.Import().status().message(); }
  std::vector<double> Run() const {
    const Tensor x = MakeTensor(kFloat32, {2}, {1, 10});
    return ValuesOf(EvaluateModel(model, {&x}));
  }

  OnnxBuilder model;
  onnx::GraphProto* body = nullptr;
};

TEST(OnnxLoop, IsItsBodyForEachTrip) {
  for (const std::int64_t opset : {11, 16}) {
    SCOPED_TRACE(opset);
    EXPECT_THAT(LoopModel(opset, "three", "", "last").Forever().Run(), ElementsAre(12, 84));
    EXPECT_THAT(LoopModel(opset, "three", "yes", "list").Forever().Run(),
                ElementsAre(1, 10, 2, 20, 5, 41));
  }
}

TEST(OnnxLoop, EndsWhereItsConditionSaysSo) {
  EXPECT_THAT(LoopModel(16, "", "yes", "last").While(2).Run(), ElementsAre(12, 84));
  EXPECT_THAT(LoopModel(16, "endless", "yes", "last").While(1).Run(), ElementsAre(5, 41));
  EXPECT_THAT(LoopModel(16, "three", "", "last").While(9).Run(), ElementsAre(12, 84));
  EXPECT_THAT(LoopModel(16, "three", "no", "last").While(9).Run(), ElementsAre(1, 10));
}

TEST(OnnxLoop, WithoutAStepMakesAListWithoutElements) {
  LoopModel loop(16, "three", "no", "shape");
  auto* type = loop.Forever().body->mutable_output(2)->mutable_type()->mutable_tensor_type();
  type->set_elem_type(TensorProto::FLOAT);
  type->mutable_shape()->add_dim()->set_dim_value(2);
  loop.model.Node("Shape", {"list"}, {"shape"});
  EXPECT_THAT(loop.Run(), ElementsAre(0, 2));
}

TEST(OnnxLoop, MayHoldAnIfAndStandInOne) {
  LoopModel loop(16, "three", "", "last");
  loop.Forever();
  auto& body = *loop.body;
  body.mutable_output(1)->set_name("chosen");
  AddContents(body, "one", TensorProto::INT64, 1);
  AddTo(body, "Equal", {"i", "one"}, "second");
  onnx::NodeProto& choice = AddTo(body, "If", {"second"}, "chosen");
  for (const char* name : {"then_branch", "else_branch"}) {
    auto* attribute = choice.add_attribute();
    attribute->set_name(name);
    attribute->set_type(onnx::AttributeProto::GRAPH);
    auto& branch = *attribute->mutable_g();
    AddTo(branch, name == std::string("then_branch") ? "Neg" : "Identity", {"t"}, "made");
    branch.add_output()->set_name("made");
  }
  EXPECT_THAT(loop.Run(), ElementsAre(-8, -80));
}

// The body has a constant of 2 x 512 ones, which it multiplies and sums; a small one stays a node
// of each step.
TEST(OnnxLoop, StepsShareTheLargeConstantsOfTheBody) {
  LoopModel loop(16, "three", "", "last");
  loop.Forever();
  auto& body = *loop.body;
  body.mutable_output(1)->set_name("u");
  const auto constant = [&](const std::string& name, const Ints& shape) {
    auto* attribute = AddTo(body, "Constant", {}, name).add_attribute();
    attribute->set_name("value");
    attribute->set_type(onnx::AttributeProto::TENSOR);
    auto& tensor = *attribute->mutable_t();
    tensor.set_data_type(TensorProto::FLOAT);
    for (const std::int64_t extent : shape) tensor.add_dims(extent);
    for (std::int64_t i = 0; i < shape[0] * shape[1]; ++i) tensor.add_float_data(1);
  };
  constant("weight", {2, 512});
  constant("mean", {512, 1});
  AddTo(body, "MatMul", {"t", "weight"}, "wide");  // [512]: the sum of t
  AddTo(body, "MatMul", {"wide", "mean"}, "sum");
  AddTo(body, "Add", {"t", "sum"}, "u");
  const auto graph = loop.model.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  const auto count = [&](const Ints& shape) {
    return std::ranges::count_if(graph->nodes(), [&](const Node& node) {
      return node.kind == NodeKind::kConstant && node.type.shape == shape;
    });
  };
  EXPECT_EQ(count({2, 512}), 1);
  EXPECT_EQ(count({512, 1}), 3);
  // t = 2 s + i, then u = t + 512 (t[0] + t[1])
  const auto values = loop.Run();
  double a = 1, b = 10;
  for (int i = 0; i < 3; ++i) {
    a = 2 * a + i, b = 2 * b + i;
    const double sum = 512 * (a + b);
    a += sum, b += sum;
  }
  ASSERT_EQ(values.size(), 2U);
  EXPECT_NEAR(values[0], a, 1e-5 * a);
  EXPECT_NEAR(values[1], b, 1e-5 * b);
}

TEST(OnnxLoop, ThatMayNeverEndIsRefused) {
  EXPECT_THAT(LoopModel(16, "", "", "last").Forever().Message(),
              HasSubstr("node 0 (Loop) making 'last': it does not end within 16384 steps: it has "
                        "no trip count, and its condition (last/16383/going_on) is still true"));
  EXPECT_THAT(LoopModel(16, "endless", "yes", "last").Forever().Message(),
              HasSubstr("16384 steps: it has 9223372036854775807, and"));
}

TEST(OnnxLoop, OfUnknownStepsIsRefused) {
  LoopModel trips(16, "n", "", "last");
  trips.Forever().model.Input("n", {}, TensorProto::INT64);
  EXPECT_THAT(trips.Message(),
              HasSubstr("input 0 (n) must be a list of integers that is constant at import"));
  EXPECT_THAT(trips.Message(), HasSubstr("--value n=NUMBER"));
  LoopModel condition(16, "three", "go", "last");
  condition.Forever().model.Input("go", {}, TensorProto::BOOL);
  EXPECT_THAT(condition.Message(), HasSubstr("its condition (go) before step 0 is computed at run "
                                             "time"));
  LoopModel computed(16, "three", "", "last");
  AddTo(*computed.body, "ReduceMax", {"s"}, "largest");
  AddTo(*computed.body, "Less", {"largest", "c"}, "compared");
  AddTo(*computed.body, "Squeeze", {"compared"}, "going_on");
  EXPECT_THAT(computed.Message(), HasSubstr("(last/0/going_on) before step 1 is computed"));
}

TEST(OnnxLoop, OfOtherFormsIsRefused) {
  EXPECT_THAT(LoopModel(16, "three", "no", "list").Forever().Message(),
              HasSubstr("value list is an output that"));
  LoopModel loop(16, "three", "", "last");
  loop.Forever().body->mutable_input()->RemoveLast();
  EXPECT_THAT(loop.Message(), HasSubstr("it has 3 inputs and 2 outputs, its body 2 and 3"));
  LoopModel number(16, "three", "c", "last");
  EXPECT_THAT(number.Forever().Message(),
              HasSubstr("its condition (c) is float32[], expected one bool"));
  LoopModel unknown(16, "three", "", "last");
  unknown.Forever().body->mutable_node(1)->set_op_type("Bernoulli");
  EXPECT_THAT(unknown.Message(), HasSubstr("operator is not supported: Bernoulli (1 node)"));
}

}  // namespace
}  // namespace tilewright
