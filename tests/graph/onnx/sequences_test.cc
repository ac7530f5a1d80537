// Sequences and optional values; after the import only tensors remain.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "src/graph/ir/evaluate.h"
#include "src/graph/onnx/proto.h"
#include "src/graph/onnx/sequences.h"
#include "tests/graph/onnx/builder.h"

namespace tilewright {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Inputs x = [1,2,3] and z = [4,5,6,7]; output y.
OnnxBuilder Sequences(std::int64_t opset = 18) {
  OnnxBuilder model(opset);
  model.Input("x", {3}).Input("z", {4}).Output("y");
  return model;
}

std::vector<double> Made(const OnnxBuilder& model) {
  const Tensor x = MakeTensor(kFloat32, {3}, {1, 2, 3});
  const Tensor z = MakeTensor(kFloat32, {4}, {4, 5, 6, 7});
  return ValuesOf(EvaluateModel(model, {&x, &z}));
}

std::string Refusal(const OnnxBuilder& model) {
  const auto graph = model.Import();
  EXPECT_FALSE(graph.ok());
  return graph.ok() ? std::string() : std::string(graph.status().message());
}

OnnxBuilder& Number(OnnxBuilder& model, const std::string& name, double value) {
  return model.Initializer(name, MakeTensor(kInt64, {}, {value}));
}

TEST(OnnxSequences, ElementsByPlace) {
  for (const auto& [place, first] : {std::pair(0, 1), std::pair(1, 4), std::pair(-1, 4)}) {
    OnnxBuilder model = Sequences();
    Number(model, "i", place);
    model.Node("SequenceConstruct", {"x", "z"}, {"s"}).Node("SequenceAt", {"s", "i"}, {"y"});
    EXPECT_EQ(Made(model)[0], first);
  }
}

TEST(OnnxSequences, InsertedErasedAndCounted) {
  OnnxBuilder model = Sequences();
  Number(Number(Number(model, "front", -2), "i", 0), "last", -1);
  model.Node("SequenceEmpty", {}, {"none"}).Node("SequenceInsert", {"none", "x"}, {"one"});
  model.Node("SequenceInsert", {"one", "x"}, {"two"});
  model.Node("SequenceInsert", {"two", "z", "front"}, {"three"});  // z x x
  model.Node("SequenceErase", {"three", "last"}, {"fewer"});       // z x
  model.Node("SequenceErase", {"fewer"}, {"left"});                // z
  model.Node("SequenceAt", {"left", "i"}, {"z0"}).Node("SequenceLength", {"three"}, {"n"});
  model.Node("Cast", {"n"}, {"m"}).Int("to", onnx::TensorProto::FLOAT);
  model.Node("Add", {"z0", "m"}, {"y"});
  EXPECT_THAT(Made(model), ElementsAre(7, 8, 9, 10));
}

TEST(OnnxSequences, SplitAndJoined) {
  OnnxBuilder sized = Sequences();
  Number(sized, "size", 3);
  sized.Node("SplitToSequence", {"z", "size"}, {"s"});  // [4,5,6] [7]
  sized.Node("SequenceInsert", {"s", "x"}, {"t"});
  sized.Node("ConcatFromSequence", {"t"}, {"y"}).Int("axis", 0);
  EXPECT_THAT(Made(sized), ElementsAre(4, 5, 6, 7, 1, 2, 3));
  for (const std::int64_t opset :
       {12, 18}) {  // before opset 13, the sizes of a split were an attribute
    OnnxBuilder stacked = Sequences(opset);
    stacked.Node("SplitToSequence", {"z"}, {"s"}).Int("keepdims", 0);
    stacked.Node("ConcatFromSequence", {"s"}, {"t"}).Int("axis", -1).Int("new_axis", 1);
    stacked.Node("Neg", {"t"}, {"y"});
    EXPECT_THAT(Made(stacked), ElementsAre(-4, -5, -6, -7));
  }
  OnnxBuilder whole = Sequences();  // with parts as large as integers go
  Tensor most(TensorType{{}, kInt64});
  most.As<std::int64_t>()[0] = std::numeric_limits<std::int64_t>::max();
  whole.Initializer("size", most);
  whole.Node("SplitToSequence", {"z", "size"}, {"s"});
  whole.Node("ConcatFromSequence", {"s"}, {"y"}).Int("axis", 0);
  EXPECT_THAT(Made(whole), ElementsAre(4, 5, 6, 7));
  OnnxBuilder parts = Sequences();
  parts.Initializer("sizes", MakeTensor(kInt64, {2}, {1, 3}));
  Number(parts, "i", 1).Node("SplitToSequence", {"z", "sizes"}, {"s"});
  parts.Node("SequenceAt", {"s", "i"}, {"y"});
  EXPECT_THAT(Made(parts), ElementsAre(5, 6, 7));
}

TEST(OnnxSequences, ComputedPlaceOfElementsOfOneType) {
  OnnxBuilder model = Sequences();
  model.Input("i", {}, onnx::TensorProto::INT64);
  model.Node("Neg", {"x"}, {"n"}).Node("SequenceConstruct", {"x", "n"}, {"s"});
  model.Node("SequenceAt", {"s", "i"}, {"y"});
  const Tensor x = MakeTensor(kFloat32, {3}, {1, 2, 3}),
               z = MakeTensor(kFloat32, {4}, {4, 5, 6, 7});
  for (const auto& [place, sign] : {std::pair(0, 1), std::pair(1, -1), std::pair(-1, -1)}) {
    const Tensor i = MakeTensor(kInt64, {}, {static_cast<double>(place)});
    EXPECT_THAT(ValuesOf(EvaluateModel(model, {&x, &z, &i})),
                ElementsAre(sign * 1, sign * 2, sign * 3));
  }
  OnnxBuilder mixed = Sequences();
  mixed.Input("i", {}, onnx::TensorProto::INT64);
  mixed.Node("SequenceConstruct", {"x", "z"}, {"s"}).Node("SequenceAt", {"s", "i"}, {"y"});
  EXPECT_THAT(Refusal(mixed), HasSubstr("node 1 (SequenceAt) making 'y': the position (input 1) is "
                                        "computed at run time"));
}

// The body of a SequenceMap: out = (each + all) of inputs `each` and `all`.
void AddMap(OnnxBuilder& model, const Strings& inputs) {
  model.Node("SequenceMap", inputs, {"t"});
  auto* graph = model.proto().mutable_graph();
  auto* attribute = graph->mutable_node(graph->node_size() - 1)->add_attribute();
  attribute->set_name("body");
  attribute->set_type(onnx::AttributeProto::GRAPH);
  onnx::GraphProto& body = *attribute->mutable_g();
  body.add_input()->set_name("each");
  body.add_input()->set_name("all");
  body.add_output()->set_name("out");
  AddTo(body, "Add", {"each", "all"}, "out");
}

TEST(OnnxSequences, MappedOneByOne) {
  OnnxBuilder model = Sequences();
  model.Initializer("ten", MakeTensor(kFloat32, {}, {10}));
  model.Node("SequenceConstruct", {"x", "z"}, {"s"});
  AddMap(model, {"s", "ten"});
  model.Node("ConcatFromSequence", {"t"}, {"y"}).Int("axis", 0);
  EXPECT_THAT(Made(model), ElementsAre(11, 12, 13, 14, 15, 16, 17));
  OnnxBuilder both = Sequences();
  Number(both, "i", 1).Node("SequenceConstruct", {"x", "z"}, {"s"});
  AddMap(both, {"s", "s"});
  both.Node("SequenceAt", {"t", "i"}, {"y"});
  EXPECT_THAT(Made(both), ElementsAre(8, 10, 12, 14));
  OnnxBuilder uneven = Sequences();
  uneven.Node("SequenceConstruct", {"x", "z"}, {"s"}).Node("SequenceConstruct", {"x"}, {"r"});
  AddMap(uneven, {"s", "r"});
  uneven.Node("ConcatFromSequence", {"t"}, {"y"}).Int("axis", 0);
  EXPECT_THAT(Refusal(uneven), HasSubstr("input 1 has 1 elements, expected 2"));
}

TEST(OnnxSequences, OptionalValues) {
  OnnxBuilder present = Sequences();
  present.Node("Optional", {"x"}, {"o"}).Node("OptionalHasElement", {"o"}, {"h"});
  present.Node("OptionalGetElement", {"o"}, {"e"});
  present.Node("Cast", {"h"}, {"f"}).Int("to", onnx::TensorProto::FLOAT);
  present.Node("Add", {"e", "f"}, {"y"});
  EXPECT_THAT(Made(present), ElementsAre(2, 3, 4));
  OnnxBuilder missing = Sequences();
  missing.Node("Optional", {}, {"o"}).Node("OptionalHasElement", {"o"}, {"h"});
  missing.Node("Cast", {"h"}, {"f"}).Int("to", onnx::TensorProto::FLOAT);
  missing.Node("Add", {"x", "f"}, {"y"});
  EXPECT_THAT(Made(missing), ElementsAre(1, 2, 3));
  OnnxBuilder of_sequence = Sequences();
  Number(of_sequence, "i", 1).Node("SequenceConstruct", {"x", "z"}, {"s"});
  of_sequence.Node("Optional", {"s"}, {"o"}).Node("Identity", {"o"}, {"p"});
  of_sequence.Node("OptionalGetElement", {"p"}, {"t"}).Node("SequenceAt", {"t", "i"}, {"y"});
  EXPECT_THAT(Made(of_sequence), ElementsAre(4, 5, 6, 7));
  OnnxBuilder used_names = Sequences();
  used_names.Node("Optional", {}, {"o"}).Node("OptionalGetElement", {"o"}, {"y"});
  EXPECT_THAT(Refusal(used_names),
              HasSubstr("node 1 (OptionalGetElement) making 'y': the optional value o is empty"));
}

TEST(OnnxSequences, SaysWhatIsNoTensor) {
  OnnxBuilder added = Sequences();
  added.Node("SequenceConstruct", {"x", "z"}, {"s"}).Node("Add", {"x", "s"}, {"y"});
  EXPECT_THAT(Refusal(added),
              HasSubstr("node 1 (Add) making 'y': value s is a sequence of 2 tensors, expected a "
                        "tensor: SequenceAt or ConcatFromSequence returns one"));
  OnnxBuilder output = Sequences();
  output.Node("SequenceConstruct", {"x", "z"}, {"y"});
  EXPECT_THAT(Refusal(output), HasSubstr("graph output 'y': value y is a sequence"));
  OnnxBuilder tensor = Sequences();
  Number(tensor, "i", 0).Node("SequenceAt", {"x", "i"}, {"y"});
  EXPECT_THAT(Refusal(tensor), HasSubstr("input 0 (x) is float32[3], expected a sequence"));
  for (const double place : {2.0, -3.0}) {
    OnnxBuilder outside = Sequences();
    Number(outside, "i", place).Node("SequenceConstruct", {"x", "z"}, {"s"});
    outside.Node("SequenceAt", {"s", "i"}, {"y"});
    EXPECT_THAT(Refusal(outside), HasSubstr("expected one within 2 elements"));
  }
  OnnxBuilder in_front = Sequences();
  Number(Number(in_front, "i", -3), "j", 0).Node("SequenceConstruct", {"x", "z"}, {"s"});
  in_front.Node("SequenceInsert", {"s", "x", "i"}, {"t"}).Node("SequenceAt", {"t", "j"}, {"y"});
  EXPECT_THAT(Refusal(in_front), HasSubstr("expected at least -2"));
  OnnxBuilder empty = Sequences();
  Number(empty, "i", 0).Node("SequenceEmpty", {}, {"s"}).Node("SequenceAt", {"s", "i"}, {"y"});
  EXPECT_THAT(Refusal(empty), HasSubstr("the sequence is empty"));
  OnnxBuilder many = Sequences();
  many.Initializer("big", Tensor(TensorType{{20'000}, kUInt8}));
  many.Node("SplitToSequence", {"big"}, {"s"});
  many.Node("ConcatFromSequence", {"s"}, {"y"}).Int("axis", 0);
  EXPECT_THAT(Refusal(many), HasSubstr("20000 elements, expected at most 16384"));
}

// A sequence `s` of 100 times x, and a computed index i.
OnnxImport LongSequence() {
  OnnxImport import;
  import.opset = 18;
  import.values.emplace("x", import.graph.AddInput("x", {{3}, kFloat32}));
  import.values.emplace("i", import.graph.AddInput("i", {{}, kInt64}));
  import.sequences.emplace("s", Strings(100, "x"));
  return import;
}

std::string WhyNot(const onnx::NodeProto& node, std::int64_t most_nodes, OnnxImport& import) {
  const auto made = ExpandSequence(node, most_nodes, import);
  EXPECT_FALSE(made.ok());
  return made.ok() ? std::string() : std::string(made.status().message());
}

TEST(OnnxSequences, WhatStandsForTooManyNodesLeavesNothing) {
  onnx::GraphProto graph;
  const onnx::NodeProto at = AddTo(graph, "SequenceAt", {"s", "i"}, "y");
  OnnxImport import = LongSequence();
  EXPECT_THAT(WhyNot(at, 102, import), HasSubstr("it is replaced by 103 nodes, expected at most "
                                                 "102"));
  onnx::NodeProto join = AddTo(graph, "ConcatFromSequence", {"s"}, "y");
  for (const char* name : {"axis", "new_axis"}) {
    auto* attribute = join.add_attribute();
    attribute->set_name(name);
    attribute->set_type(onnx::AttributeProto::INT);
    attribute->set_i(name == std::string("axis") ? 0 : 1);
  }
  EXPECT_THAT(WhyNot(join, 100, import), HasSubstr("it is replaced by 101 nodes"));
  EXPECT_TRUE(import.made.empty());
  EXPECT_TRUE(import.used_names.empty());
  const auto made = ExpandSequence(graph.node(0), 103, import);
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ((*made)->size(), 103u);
}

TEST(OnnxSequences, MapsAreBounded) {
  onnx::GraphProto graph;
  onnx::NodeProto& map = AddTo(graph, "SequenceMap", {"s"}, "t");
  auto* attribute = map.add_attribute();
  attribute->set_name("body");
  attribute->set_type(onnx::AttributeProto::GRAPH);
  onnx::GraphProto& body = *attribute->mutable_g();
  body.add_output()->set_name("out");
  AddTo(body, "Neg", {"each"}, "out");
  OnnxImport import = LongSequence();
  EXPECT_THAT(WhyNot(map, 1000, import), HasSubstr("its body has 0 inputs and 1 outputs"));
  body.add_input()->set_name("each");
  EXPECT_THAT(WhyNot(map, 99, import), HasSubstr("it is replaced by 100 nodes"));
  import.sequence_elements = OnnxImport::kMaxSequenceElements - 199;
  EXPECT_THAT(WhyNot(map, 1000, import), HasSubstr("sequences so far have more than"));
  import.sequence_elements = 0;
  const auto made = ExpandSequence(map, 100, import);
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ((*made)->size(), 100u);
  EXPECT_EQ(import.sequences["t"].size(), 100u);
  EXPECT_EQ(import.sequence_elements, 100);
}

TEST(OnnxSequences, OperatorsOfTensorsAreNone) {
  onnx::GraphProto graph;
  EXPECT_TRUE(IsSequenceOperator(AddTo(graph, "SequenceLength", {"s"}, "n")));
  EXPECT_FALSE(IsSequenceOperator(AddTo(graph, "Identity", {"x"}, "y")));
  onnx::NodeProto& foreign = AddTo(graph, "SequenceLength", {"s"}, "n");
  foreign.set_domain("elsewhere");
  EXPECT_FALSE(IsSequenceOperator(foreign));
}

// Sets a sparse tensor of float32[2,4] with values 5 and 7.
void SetSparse(onnx::SparseTensorProto& sparse, const std::string& name, const Ints& places,
               const Ints& places_shape, const Ints& shape = {2, 4}) {
  onnx::TensorProto& values = *sparse.mutable_values();
  values.set_name(name);
  values.set_data_type(onnx::TensorProto::FLOAT);
  values.add_dims(2);
  values.add_float_data(5);
  values.add_float_data(7);
  onnx::TensorProto& indices = *sparse.mutable_indices();
  indices.set_data_type(onnx::TensorProto::INT64);
  for (std::int64_t extent : places_shape) indices.add_dims(extent);
  for (std::int64_t place : places) indices.add_int64_data(place);
  for (std::int64_t extent : shape) sparse.add_dims(extent);
}

TEST(OnnxSparse, ConstantsHaveTheirZeros) {
  const Tensor x = MakeTensor(kFloat32, {2, 4}, {1, 1, 1, 1, 1, 1, 1, 1});
  OnnxBuilder initializer(17);
  initializer.Input("x", {2, 4}).Output("y").Node("Add", {"x", "w"}, {"y"});
  SetSparse(*initializer.proto().mutable_graph()->add_sparse_initializer(), "w", {1, 6}, {2});
  EXPECT_THAT(ValuesOf(EvaluateModel(initializer, {&x})), ElementsAre(1, 6, 1, 1, 1, 1, 8, 1));
  OnnxBuilder constant(17);
  constant.Input("x", {2, 4})
      .Output("y")
      .Node("Constant", {}, {"w"})
      .Node("Add", {"x", "w"}, {"y"});
  auto* attribute = constant.proto().mutable_graph()->mutable_node(0)->add_attribute();
  attribute->set_name("sparse_value");
  attribute->set_type(onnx::AttributeProto::SPARSE_TENSOR);
  SetSparse(*attribute->mutable_sparse_tensor(), "", {0, 3, 1, 0}, {2, 2});
  EXPECT_THAT(ValuesOf(EvaluateModel(constant, {&x})), ElementsAre(1, 1, 1, 6, 8, 1, 1, 1));
}

TEST(OnnxSparse, PlacesAndSizesAreChecked) {
  const auto refusal = [](const Ints& places, const Ints& places_shape, const Ints& shape) {
    OnnxBuilder model(17);
    model.Input("x", {2, 4}).Output("y").Node("Add", {"x", "w"}, {"y"});
    SetSparse(*model.proto().mutable_graph()->add_sparse_initializer(), "w", places, places_shape,
              shape);
    return Refusal(model);
  };
  EXPECT_THAT(refusal({1, 8}, {2}, {2, 4}), HasSubstr("value 1 is at position 8"));
  EXPECT_THAT(refusal({-1, 3}, {2}, {2, 4}), HasSubstr("value 0 is at position -1"));
  EXPECT_THAT(refusal({3, 1}, {2}, {2, 4}), HasSubstr("in ascending order"));
  EXPECT_THAT(refusal({3, 3}, {2}, {2, 4}), HasSubstr("in ascending order"));
  EXPECT_THAT(refusal({0, 1, 2, 0}, {2, 2}, {2, 4}), HasSubstr("value 1 is at position -1"));
  EXPECT_THAT(refusal({1, 2, 3}, {3}, {2, 4}), HasSubstr("expected [N] and int64[N]"));
  EXPECT_THAT(refusal({1, 2}, {2}, {1 << 20, 1 << 15}), HasSubstr("expected at most 2^28 bytes"));
  EXPECT_THAT(refusal({1, 2}, {2}, {-2, 4}), HasSubstr("sparse tensor 'w'"));
}

}  // namespace
}  // namespace tilewright
