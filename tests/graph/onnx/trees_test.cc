// Decision trees and scalers of ai.onnx.ml, compared with tree walks written out in this file.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "src/graph/ir/evaluate.h"
#include "src/graph/onnx/proto.h"
#include "tests/graph/onnx/builder.h"

namespace tilewright {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

// x [rows, 2] and an operator of ai.onnx.ml that reads x and computes y (and z).
OnnxBuilder MlModel(const std::string& op, std::int64_t rows, DataType dtype = kFloat32) {
  OnnxBuilder model(17);
  auto* ml = model.proto().add_opset_import();
  ml->set_domain("ai.onnx.ml");
  ml->set_version(5);
  model.Input("x", {rows, 2}, OnnxTypeOf(dtype)).Output("y");
  const bool two = op == "TreeEnsembleClassifier";
  model.Node(op, {"x"}, two ? Strings{"y", "z"} : Strings{"y"}, "ai.onnx.ml");
  if (two) model.Output("z");
  return model;
}

void Texts(OnnxBuilder& model, const std::string& name, const Strings& values) {
  auto* attribute = model.proto().mutable_graph()->mutable_node(0)->add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::STRINGS);
  for (const std::string& value : values) attribute->add_strings(value);
}

// Two trees: x0 <= 1 ? (x1 < 2 ? leaf 3 : leaf 4) : leaf 2, and one leaf.
void AddTrees(OnnxBuilder& model, const Strings& modes = {"BRANCH_LEQ", "BRANCH_LT"},
              const Ints& missing = {}) {
  model.IntList("nodes_treeids", {0, 0, 0, 0, 0, 7}).IntList("nodes_nodeids", {0, 1, 2, 3, 4, 0});
  model.IntList("nodes_featureids", {0, 1, 0, 0, 0, 0});
  model.FloatList("nodes_values", {1, 2, 0, 0, 0, 0});
  Texts(model, "nodes_modes", {modes[0], modes[1], "LEAF", "LEAF", "LEAF", "LEAF"});
  model.IntList("nodes_truenodeids", {1, 3, 0, 0, 0, 0});
  model.IntList("nodes_falsenodeids", {2, 4, 0, 0, 0, 0});
  if (!missing.empty()) model.IntList("nodes_missing_value_tracks_true", missing);
}

void AddWeights(OnnxBuilder& model, const std::string& of, const Ints& ids,
                const std::vector<float>& weights) {
  model.IntList(of + "_treeids", {0, 0, 0, 7}).IntList(of + "_nodeids", {2, 3, 4, 0});
  model.IntList(of + "_ids", ids).FloatList(of + "_weights", weights);
}

std::vector<Tensor> EvaluatedTrees(const OnnxBuilder& model, const Tensor& x) {
  auto graph = model.Import();
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  if (!graph.ok()) return {};
  auto made = EvaluateGraph(*graph, std::span(&x, 1));
  EXPECT_TRUE(made.ok()) << made.status().message();
  return made.ok() ? *std::move(made) : std::vector<Tensor>();
}

Tensor Rows() { return MakeTensor(kFloat32, {4, 2}, {2, 0, 1, 1, 1, 2, -1, 1.5}); }

TEST(OnnxTrees, EveryComparisonAndWhatIsNoNumber) {
  struct ModeCase {
    const char* mode;
    std::vector<double> expected;  // for x1 = 1, 2, 3, NaN; 100 means yes
  };
  const ModeCase kModes[] = {
      {"BRANCH_LEQ", {100, 100, 200, 200}}, {"BRANCH_LT", {100, 200, 200, 200}},
      {"BRANCH_GTE", {200, 100, 100, 200}}, {"BRANCH_GT", {200, 200, 100, 200}},
      {"BRANCH_EQ", {200, 100, 200, 200}},  {"BRANCH_NEQ", {100, 200, 100, 100}},
  };
  const Tensor x = MakeTensor(kFloat32, {4, 2}, {0, 1, 0, 2, 0, 3, 0, kNoValue});
  for (const bool tracked : {false, true}) {
    for (const ModeCase& c : kModes) {
      OnnxBuilder model = MlModel("TreeEnsembleRegressor", 4);
      AddTrees(model, {"BRANCH_LEQ", c.mode}, {0, tracked ? 1 : 0, 0, 0, 0, 0});
      AddWeights(model, "target", {0, 0, 0, 0}, {300, 100, 200, 1});
      model.Int("n_targets", 1);
      std::vector<double> expected = c.expected;
      if (tracked) expected[3] = 100;
      for (double& value : expected) value += 1;
      EXPECT_EQ(ValuesOf(EvaluatedTrees(model, x)[0]), expected) << c.mode << tracked;
    }
  }
}

TEST(OnnxTrees, Aggregates) {
  const std::pair<const char*, std::vector<double>> kAggregates[] = {
      {"SUM", {5, 15, 25, 15}},
      {"AVERAGE", {2.5, 7.5, 12.5, 7.5}},
      {"MIN", {-1, 5, 5, 5}},
      {"MAX", {6, 10, 20, 10}},
  };
  for (const auto& [name, expected] : kAggregates) {
    OnnxBuilder model = MlModel("TreeEnsembleRegressor", 4);
    AddTrees(model);
    const bool sums = name[0] == 'S' || name[0] == 'A';
    const float first = sums ? 0.F : name[1] == 'I' ? -1.F : 6.F;
    AddWeights(model, "target", {0, 0, 0, 0}, {first, 10, 20, 5});
    model.Int("n_targets", 1).Text("aggregate_function", name);
    EXPECT_EQ(ValuesOf(EvaluatedTrees(model, Rows())[0]), expected) << name;
  }
  OnnxBuilder several = MlModel("TreeEnsembleRegressor", 4);
  AddTrees(several);
  AddWeights(several, "target", {0, 2, 2, 1}, {1, 10, 20, 5});
  several.Int("n_targets", 3).FloatList("base_values", {100, 200, 300});
  EXPECT_THAT(ValuesOf(EvaluatedTrees(several, Rows())[0]),
              ElementsAre(101, 205, 300, 100, 205, 310, 100, 205, 320, 100, 205, 310));
  OnnxBuilder integers = MlModel("TreeEnsembleRegressor", 1, kInt64);
  AddTrees(integers);
  AddWeights(integers, "target", {0, 0, 0, 0}, {1, 10, 20, 5});
  EXPECT_THAT(ValuesOf(EvaluatedTrees(integers, MakeTensor(kInt64, {1, 2}, {1, 2}))[0]),
              ElementsAre(25));
}

TEST(OnnxTrees, ClassesByTheirScores) {
  OnnxBuilder three = MlModel("TreeEnsembleClassifier", 4);
  AddTrees(three);
  AddWeights(three, "class", {0, 1, 2, 1}, {0.5F, 0.5F, 0.75F, 0.25F});
  three.IntList("classlabels_int64s", {10, -20, 30});
  const auto made = EvaluatedTrees(three, Rows());
  EXPECT_EQ(made[0].dtype(), kInt64);
  EXPECT_THAT(ValuesOf(made[0]), ElementsAre(10, -20, 30, -20));
  EXPECT_THAT(ValuesOf(made[1]), ElementsAre(0.5, 0.25, 0, 0, 0.75, 0, 0, 0.25, 0.75, 0, 0.75, 0));
  // All weights belong to one of two classes: positive weights are its probability.
  OnnxBuilder positive = MlModel("TreeEnsembleClassifier", 4);
  AddTrees(positive);
  AddWeights(positive, "class", {1, 1, 1, 1}, {0.25F, 0.5F, 0, 0.25F});
  positive.IntList("classlabels_int64s", {3, 4});
  const auto halves = EvaluatedTrees(positive, Rows());
  ASSERT_EQ(halves.size(), 2);
  EXPECT_THAT(ValuesOf(halves[0]), ElementsAre(3, 4, 3, 4));
  EXPECT_THAT(ValuesOf(halves[1]), ElementsAre(0, 0.5, 0, 0.75, 0, 0.25, 0, 0.75));
  // Other weights are classified by their sign.
  OnnxBuilder mixed = MlModel("TreeEnsembleClassifier", 4);
  AddTrees(mixed);
  AddWeights(mixed, "class", {0, 0, 0, 0}, {-2, 1, -0.5F, 0.5F});
  mixed.IntList("classlabels_int64s", {3, 4}).Text("post_transform", "LOGISTIC");
  const auto sides = EvaluatedTrees(mixed, Rows());
  EXPECT_THAT(ValuesOf(sides[0]), ElementsAre(3, 4, 3, 4));
  EXPECT_NEAR(sides[1].At(1), 1 / (1 + std::exp(1.5)), 1e-6);
  EXPECT_NEAR(sides[1].At(0), 1 / (1 + std::exp(-1.5)), 1e-6);
  EXPECT_NEAR(sides[1].At(3), 1 / (1 + std::exp(-1.5)), 1e-6);
}

onnx::TensorProto* TensorOfNode(OnnxBuilder& model, const std::string& name) {
  auto* attribute = model.proto().mutable_graph()->mutable_node(0)->add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::TENSOR);
  return attribute->mutable_t();
}

void AddTensor(OnnxBuilder& model, const std::string& name, const std::vector<double>& values,
               DataType dtype = kFloat32) {
  onnx::TensorProto* proto = TensorOfNode(model, name);
  const Tensor tensor = MakeTensor(dtype, {static_cast<std::int64_t>(values.size())}, values);
  proto->set_data_type(OnnxTypeOf(dtype));
  proto->add_dims(tensor.elements());
  proto->set_raw_data(tensor.data(), static_cast<std::size_t>(tensor.bytes()));
}

// x0 in {1, 3, 5} ? (x1 >= 2 ? leaf 0 : leaf 1) : leaf 2
OnnxBuilder IndexedTrees() {
  OnnxBuilder model = MlModel("TreeEnsemble", 4);
  model.Int("n_targets", 2).IntList("tree_roots", {0}).IntList("nodes_featureids", {0, 1});
  AddTensor(model, "nodes_splits", {0, 2});
  AddTensor(model, "nodes_modes", {6, 2}, kUInt8);
  AddTensor(model, "membership_values", {1, 3, 5, kNoValue});
  AddTensor(model, "leaf_weights", {7, 8, 9});
  model.IntList("leaf_targetids", {0, 1, 1});
  return model;
}

TEST(OnnxTrees, NodesByTheirPlaces) {
  OnnxBuilder model = IndexedTrees();
  model.IntList("nodes_truenodeids", {1, 0}).IntList("nodes_trueleafs", {0, 1});
  model.IntList("nodes_falsenodeids", {2, 1}).IntList("nodes_falseleafs", {1, 1});
  const Tensor x = MakeTensor(kFloat32, {4, 2}, {1, 2, 5, 1, 2, 9, kNoValue, 0});
  EXPECT_THAT(ValuesOf(EvaluatedTrees(model, x)[0]), ElementsAre(7, 0, 0, 8, 0, 9, 0, 9));
}

TEST(OnnxTrees, SaysWhatIsNoTree) {
  const auto refusal = [](OnnxBuilder model) {
    const auto graph = model.Import();
    EXPECT_FALSE(graph.ok());
    return graph.ok() ? std::string() : std::string(graph.status().message());
  };
  OnnxBuilder cycle = IndexedTrees();
  cycle.IntList("nodes_truenodeids", {1, 0}).IntList("nodes_trueleafs", {0, 0});
  cycle.IntList("nodes_falsenodeids", {2, 1}).IntList("nodes_falseleafs", {1, 1});
  EXPECT_THAT(refusal(cycle), HasSubstr("node 0 (TreeEnsemble) making 'y': two branches have the "
                                        "successor node 0, expected trees"));
  OnnxBuilder outside = IndexedTrees();
  outside.IntList("nodes_truenodeids", {1, 5}).IntList("nodes_trueleafs", {0, 1});
  outside.IntList("nodes_falsenodeids", {2, 1}).IntList("nodes_falseleafs", {1, 1});
  EXPECT_THAT(refusal(outside), HasSubstr("leaf 5 does not exist, expected less than 3"));
  OnnxBuilder short_list = IndexedTrees();
  EXPECT_THAT(refusal(short_list),
              HasSubstr("attribute nodes_truenodeids has 0 elements, expected 2"));
  const auto regressor = [&](const std::function<void(OnnxBuilder&)>& change) {
    OnnxBuilder model = MlModel("TreeEnsembleRegressor", 4);
    AddTrees(model);
    AddWeights(model, "target", {0, 0, 0, 0}, {1, 2, 3, 4});
    change(model);
    return refusal(model);
  };
  const auto set = [](OnnxBuilder& model, const std::string& name, std::int64_t value) {
    for (auto& attribute : *model.proto().mutable_graph()->mutable_node(0)->mutable_attribute()) {
      if (attribute.name() == name) attribute.set_ints(1, value);
    }
  };
  EXPECT_THAT(regressor([&](OnnxBuilder& m) { set(m, "nodes_truenodeids", 9); }),
              HasSubstr("tree 0 has no node 9, the successor of a branch"));
  EXPECT_THAT(regressor([&](OnnxBuilder& m) { set(m, "nodes_truenodeids", 0); }),
              HasSubstr("tree 0 has node 0, which is not reachable from its root: its branches are "
                        "a cycle"));
  EXPECT_THAT(regressor([&](OnnxBuilder& m) { set(m, "nodes_featureids", 2); }),
              HasSubstr("a tree reads feature 2, the data have 2"));
  EXPECT_THAT(regressor([&](OnnxBuilder& m) { set(m, "nodes_nodeids", 0); }),
              HasSubstr("node 0 of tree 0 is defined twice"));
  EXPECT_THAT(regressor([&](OnnxBuilder& m) { set(m, "target_ids", -1); }),
              HasSubstr("a weight for target -1, expected 0 to 0"));
  EXPECT_THAT(regressor([&](OnnxBuilder& m) { m.Int("n_targets", std::int64_t{1} << 30); }),
              HasSubstr("1073741824 targets, expected 1 to 65536"));
  EXPECT_THAT(regressor([&](OnnxBuilder& m) { m.Text("post_transform", "SQUARE"); }),
              HasSubstr("attribute post_transform is SQUARE"));
  OnnxBuilder texts = MlModel("TreeEnsembleClassifier", 4);
  AddTrees(texts);
  AddWeights(texts, "class", {0, 1, 2, 1}, {1, 2, 3, 4});
  Texts(texts, "classlabels_strings", {"a", "b", "c"});
  EXPECT_THAT(refusal(texts), HasSubstr("value y has string labels"));
  OnnxBuilder map = MlModel("Scaler", 4);
  map.FloatList("scale", {1}).FloatList("offset", {0}).Node("ZipMap", {"y"}, {"m"}, "ai.onnx.ml");
  EXPECT_THAT(refusal(map),
              HasSubstr("ai.onnx.ml.ZipMap (1 node); ZipMap returns maps of class names"));
}

TEST(OnnxTrees, Scaler) {
  OnnxBuilder each = MlModel("Scaler", 2);
  each.FloatList("offset", {1, 2}).FloatList("scale", {0.5F, 0.25F});
  EXPECT_THAT(ValuesOf(EvaluatedTrees(each, MakeTensor(kFloat32, {2, 2}, {1, 2, 3, 10}))[0]),
              ElementsAre(0, 0, 1, 2));
  OnnxBuilder all = MlModel("Scaler", 2, kInt32);
  all.FloatList("offset", {1}).FloatList("scale", {0.5F});
  EXPECT_THAT(ValuesOf(EvaluatedTrees(all, MakeTensor(kInt32, {2, 2}, {1, 2, 3, 10}))[0]),
              ElementsAre(0, 0.5, 1, 4.5));
  OnnxBuilder uneven = MlModel("Scaler", 2);
  uneven.FloatList("offset", {1, 2, 3}).FloatList("scale", {0.5F});
  EXPECT_THAT(uneven.Import().status().message(),
              HasSubstr("attribute offset has 3 numbers, expected 1 or 2"));
}

}  // namespace
}  // namespace tilewright
