// An import reports all diagnostics of a file together, by node and with advice, including sizes
// that --dim has to give.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "src/graph/ir/evaluate.h"
#include "src/graph/onnx/import_diagnostics.h"
#include "src/graph/onnx/node.h"
#include "src/graph/onnx/proto.h"
#include "tests/graph/onnx/builder.h"

namespace tilewright {
namespace {

using onnx::TensorProto;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

void AddOutput(OnnxBuilder& model, const std::string& name, const Strings& dims) {
  auto* output = model.proto().mutable_graph()->add_output();
  output->set_name(name);
  auto* type = output->mutable_type()->mutable_tensor_type();
  type->set_elem_type(TensorProto::INT64);
  for (const std::string& dim : dims) {
    auto* size = type->mutable_shape()->add_dim();
    if (dim[0] >= '0' && dim[0] <= '9') {
      size->set_dim_value(std::stoll(dim));
    } else {
      size->set_dim_param(dim);
    }
  }
}

Result<Graph> ImportWith(const OnnxBuilder& model, const BindingTexts& texts) {
  LoadOptions options;
  options.bindings = std::move(ParseBindings(texts)->front());
  return ImportOnnx(model.Bytes(), "test", options);
}

TEST(OnnxRefusals, OfEveryKindComeAtOnce) {
  OnnxBuilder model;
  model.Input("x", {2, 3}).Input("z", {1, -1}).Input("s", {2}, TensorProto::INT64).Output("y");
  model.Node("Wobble", {"x"}, {"a"});
  model.Node("Reshape", {"x", "s"}, {"b"});
  model.Node("Relu", {"b"}, {"c"});  // is not checked
  model.Node("Flatten", {"x"}, {"d"}).Int("axis", 7);
  model.Node("Flatten", {"x"}, {"e"}).Int("axis", 7);
  model.Node("Neg", {"x"}, {"y"}).Node("ZipMap", {"a"}, {"f"}, "ai.onnx.ml");
  const Status status = model.Import().status();
  EXPECT_EQ(status.message(),
            "4 refusals: (1) 2 operators are not supported: Wobble (1 node), ai.onnx.ml.ZipMap (1 "
            "node); ZipMap returns maps of class names, which are not tensors: convert the "
            "classifier without it (skl2onnx: options={'zipmap': False}), so that its "
            "probabilities are one tensor; (2) graph input 'z': dimension 1 ('n'): no fixed size; "
            "give the sizes that the network is to run with: --dim n=SIZE; (3) node 1 (Reshape) "
            "making 'b': input 1 (s) must be a list of integers that is constant at import; it "
            "follows from input 's' (int64[2]): if that is the same in every run, give it: --value "
            "s=NUMBER; (4) node 3 (Flatten) making 'd', node 4 (Flatten) making 'e': axis 7 is "
            "outside of 2 dimensions");
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
}

TEST(OnnxRefusals, OfALoopAreToldOnce) {
  OnnxBuilder model;
  model.Input("x", {2}).Output("y").Initializer("n", MakeTensor(kInt64, {}, {1000}));
  model.Node("Loop", {"n", "", "x"}, {"y"});
  auto* attribute = model.proto().mutable_graph()->mutable_node(0)->add_attribute();
  attribute->set_name("body");
  attribute->set_type(onnx::AttributeProto::GRAPH);
  auto& body = *attribute->mutable_g();
  for (const char* name : {"i", "going", "s"}) body.add_input()->set_name(name);
  AddTo(body, "Identity", {"going"}, "go");
  AddTo(body, "Flatten", {"s"}, "t").set_name("odd");
  auto* axis = body.mutable_node(1)->add_attribute();
  axis->set_name("axis");
  axis->set_type(onnx::AttributeProto::INT);
  axis->set_i(9);
  for (const char* name : {"go", "t"}) body.add_output()->set_name(name);
  EXPECT_EQ(model.Import().status().message(),
            "node 0 (Loop) making 'y': node 1 'odd' (Flatten): axis 9 is outside of 1 dimensions");
}

TEST(OnnxRefusals, ManyOpenInputsMakeAShortList) {
  OnnxBuilder model;
  model.Input("x", {1}).Output("y").Node("Neg", {"x"}, {"y"});
  for (int i = 0; i < 62; ++i) {
    model.Input("past_key_values." + std::to_string(i) + ".value", {1, 8, -1, 64});
  }
  const std::string message = model.Import().status().message();
  EXPECT_LT(message.size(), 600u) << message;
  EXPECT_THAT(message, HasSubstr("past_key_values.0.value': dimension 2 ('n')"));
  EXPECT_THAT(message, HasSubstr("and 58 more inputs: no fixed size"));
  EXPECT_THAT(message, HasSubstr("--dim n=SIZE"));
}

TEST(OnnxRefusals, OfVeryManyTheFirstAreTold) {
  ImportDiagnostics diagnostics;
  for (int i = 0; i < 1000; ++i) {
    diagnostics.Add("node " + std::to_string(i), Unsupported("reason " + std::to_string(i)));
  }
  const std::string message = diagnostics.ToStatus().message();
  EXPECT_THAT(message, HasSubstr("1000 refusals: (1) node 0: reason 0; (2)"));
  EXPECT_THAT(message, HasSubstr("; and 976 more"));
  EXPECT_THAT(message, Not(HasSubstr("reason 24")));
  EXPECT_EQ(diagnostics.ToStatus().code(), StatusCode::kUnsupported);
  EXPECT_TRUE(ImportDiagnostics().ToStatus().ok());
}

// Reading stops after a thousand diagnostics.
TEST(OnnxRefusals, OfAThousandNodesEndReading) {
  OnnxBuilder model;
  model.Input("x", {2, 3}).Output("y");
  for (int i = 0; i < 1'200; ++i) {
    model.Node("Flatten", {"x"}, {"v" + std::to_string(i)}).Int("axis", 10 + i);
  }
  model.Node("Neg", {"x"}, {"y"});
  const std::string message = model.Import().status().message();
  EXPECT_THAT(message, HasSubstr("1000 refusals: (1) node 0 (Flatten) making 'v0': axis 10 is"));
  EXPECT_THAT(message, HasSubstr("; and 976 more"));
}

TEST(OnnxRefusals, PlacesAreCutBetweenCharacters) {
  std::string name = "a";
  for (int i = 0; i < 300; ++i) name += "\u00e9";  // two bytes each
  EXPECT_EQ(ShortPlace("node 1"), "node 1");
  const std::string cut = ShortPlace(name);
  EXPECT_LE(cut.size(), 330u);
  EXPECT_THAT(cut, HasSubstr(" … "));
  EXPECT_EQ(std::ranges::count(cut, '\xc3'), std::ranges::count(cut, '\xa9'));
}

TEST(OnnxRefusals, OutputsReadAsNothingAreThere) {
  OnnxImport import;
  import.omitted_outputs.emplace("labels", "has string labels");
  EXPECT_TRUE(import.Knows("labels"));
  EXPECT_FALSE(import.Knows("scores"));
}

TEST(OnnxRefusals, ProductsThatOnnxDoesNotHave) {
  for (const char* op : {"MatMul", "Gemm"}) {
    OnnxBuilder model;
    model.Input("x", {2, 3}, TensorProto::INT8).Output("y");
    model.Initializer("w", MakeRange(kInt8, {3, 2})).Node(op, {"x", "w"}, {"y"});
    EXPECT_THAT(model.Import().status().message(), HasSubstr("are MatMulInteger"));
  }
}

// Messages of later passes also name the node of the file: intermediate values carry its origin.
TEST(OnnxRefusals, ValuesKnowTheirNode) {
  OnnxBuilder model;
  model.Input("x", {2, 4}).Output("y").Node("Softsign", {"x"}, {"a"}).Node("Neg", {"a"}, {"y"});
  model.proto().mutable_graph()->mutable_node(0)->set_name("sign");
  auto graph = model.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  std::vector<std::string> origins;
  for (int id = 0; id < graph->size(); ++id) {
    if (graph->node(id).kind != NodeKind::kOperator) continue;
    if (origins.empty() || origins.back() != graph->DescribeOrigin(id)) {
      origins.push_back(graph->DescribeOrigin(id));
    }
  }
  EXPECT_THAT(origins, ElementsAre("node 0 'sign' (Softsign)", "node 1 (Neg) making 'y'"));
  EXPECT_EQ(graph->OriginOrName(graph->outputs()[0]), "node 1 (Neg) making 'y'");
  EXPECT_EQ(graph->OriginOrName(graph->inputs()[0]), "x");
  EXPECT_EQ(graph->DescribeOrigin(graph->inputs()[0]), "value x");
}

// Messages name nodes of the file, not the nodes that an opset upgrade replaces them with.
TEST(OnnxRefusals, NameTheNodeOfTheFileAlone) {
  OnnxBuilder model(6);
  model.Input("x", {2, 3}).Output("y").Initializer("b", MakeRange(kFloat32, {4}));
  model.Node("Add", {"x", "b"}, {"y"}).Int("broadcast", 1).Int("axis", 0);
  EXPECT_EQ(model.Import().status().message(),
            "node 0 (Add) making 'y': shapes [2,3] and [4,1] do not broadcast; it is computed as "
            "add of float32[2,3] and float32[4,1]");
}

TEST(OnnxBounds, NamesThatOnlyResultsHaveMayBeBound) {
  OnnxBuilder model;
  model.Input("x", {2, 3}).Node("NonZero", {"x"}, {"y"});
  AddOutput(model, "y", {"2", "hits"});
  EXPECT_THAT(ImportWith(model, {}).status().message(),
              HasSubstr("or an upper bound of this number (--dim hits=SIZE)"));
  const auto graph = ImportWith(model, {{}, {"hits=4"}, {}});
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_EQ(graph->node(graph->outputs()[0]).type, (TensorType{{2, 4}, kInt64}));
}

std::vector<double> EvaluateBounded(const OnnxBuilder& model, const std::string& dim,
                                    const std::vector<const Tensor*>& inputs) {
  auto graph = ImportWith(model, {{}, {dim}, {}});
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  if (!graph.ok()) return {};
  std::vector<Tensor> copies;
  for (const Tensor* input : inputs) copies.push_back(input->Clone());
  auto outputs = EvaluateGraph(*graph, copies);
  EXPECT_TRUE(outputs.ok()) << outputs.status().message();
  return outputs.ok() ? ValuesOf(outputs->front()) : std::vector<double>();
}

TEST(OnnxBounds, NonZeroFindsWhatThereIsAndFillsUp) {
  OnnxBuilder model;
  model.Input("x", {2, 3}).Node("NonZero", {"x"}, {"y"});
  AddOutput(model, "y", {"2", "hits"});
  const Tensor x = MakeTensor(kFloat32, {2, 3}, {0, 5, std::nan(""), -1, 0, 2});
  EXPECT_THAT(EvaluateBounded(model, "hits=6", {&x}),
              ElementsAre(0, 0, 1, 1, -1, -1, 1, 2, 0, 2, -1, -1));
  EXPECT_THAT(EvaluateBounded(model, "hits=2", {&x}), ElementsAre(0, 0, 1, 2));
}

TEST(OnnxBounds, RangeHasAsManyElementsAsAreSaid) {
  OnnxBuilder model;
  model.Input("n", {}, TensorProto::INT64).Node("Range", {"zero", "n", "two"}, {"y"});
  model.Initializer("zero", MakeTensor(kInt64, {}, {0}));
  model.Initializer("two", MakeTensor(kInt64, {}, {2}));
  AddOutput(model, "y", {"length"});
  const Tensor n = MakeTensor(kInt64, {}, {8});
  EXPECT_THAT(EvaluateBounded(model, "length=4", {&n}), ElementsAre(0, 2, 4, 6));
}

}  // namespace
}  // namespace tilewright
