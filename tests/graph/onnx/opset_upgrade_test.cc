// Spellings of opsets 1 to 6 that differ from opset 7.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/graph/onnx/builder.h"

namespace tilewright {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

struct OldForm {
  const char* name;
  std::int64_t opset;
  Ints shape;  ///< of x, which counts from -1 in steps of 1
  std::function<void(OnnxBuilder&)> make;
  Ints result;
  std::vector<double> values;
};

class OnnxOldSets : public testing::TestWithParam<OldForm> {};

TEST_P(OnnxOldSets, MeanWhatTheySay) {
  OnnxBuilder model(GetParam().opset);
  const Tensor x = MakeRange(kFloat32, GetParam().shape, -1);
  model.Input("x", GetParam().shape).Output("y");
  GetParam().make(model);
  const Tensor y = EvaluateModel(model, {&x});
  EXPECT_EQ(y.shape(), GetParam().result);
  EXPECT_THAT(ValuesOf(y), Pointwise(testing::DoubleNear(1e-5), GetParam().values));
}

const OldForm kForms[] = {
    {"AddAlongAnAxis",
     6,
     {1, 2, 2},
     [](OnnxBuilder& m) {
       m.Initializer("w", MakeTensor(kFloat32, {2}, {10, 20}));
       m.Node("Add", {"x", "w"}, {"y"}).Int("broadcast", 1).Int("axis", 1);
       m.IntList("consumed_inputs", {0, 0});
     },
     {1, 2, 2},
     {9, 10, 21, 22}},
    {"MulAlongTheLastAxes",
     1,
     {1, 2, 2},
     [](OnnxBuilder& m) {
       m.Initializer("w", MakeTensor(kFloat32, {2}, {10, 20}));
       m.Node("Mul", {"x", "w"}, {"y"}).Int("broadcast", 1);
     },
     {1, 2, 2},
     {-10, 0, 10, 40}},
    {"ReshapeByAttribute",
     4,
     {2, 3},
     [](OnnxBuilder& m) {
       m.Node("Reshape", {"x"}, {"y"}).IntList("shape", {0, -1, 1});
     },
     {2, 3, 1},
     {-1, 0, 1, 2, 3, 4}},
    {"CastByName",
     5,
     {3},
     [](OnnxBuilder& m) {
       m.Node("Cast", {"x"}, {"i"}).Text("to", "INT32");
       m.Node("Cast", {"i"}, {"y"}).Text("to", "float");
     },
     {3},
     {-1, 0, 1}},
    {"PadByPaddings",
     1,
     {2},
     [](OnnxBuilder& m) {
       m.Node("Pad", {"x"}, {"y"}).IntList("paddings", {1, 0}).Float("value", 7);
     },
     {3},
     {7, -1, 0}},
    {"ConcatAlongDimensionOne",
     3,
     {1, 2},
     [](OnnxBuilder& m) {
       m.Node("Concat", {"x", "x"}, {"y"});
     },
     {1, 4},
     {-1, 0, -1, 0}},
    {"TileAlongAnAxis",
     5,
     {1, 2},
     [](OnnxBuilder& m) {
       m.Initializer("n", MakeTensor(kFloat32, {}, {2}));
       m.Initializer("a", MakeTensor(kFloat32, {}, {1}));
       m.Node("Tile", {"x", "n", "a"}, {"y"});
     },
     {1, 4},
     {-1, 0, -1, 0}},
    {"UpsampleByHeightAndWidth",
     6,
     {1, 1, 1, 2},
     [](OnnxBuilder& m) {
       m.Node("Upsample", {"x"}, {"y"}).Float("height_scale", 2).Float("width_scale", 2);
     },
     {1, 1, 2, 4},
     {-1, -1, 0, 0, -1, -1, 0, 0}},
    {"SlopesPerChannel",
     6,
     {1, 2, 1, 2},
     [](OnnxBuilder& m) {
       m.Initializer("w", MakeTensor(kFloat32, {2}, {3, 5}));
       m.Node("Neg", {"x"}, {"n"}).Node("PRelu", {"n", "w"}, {"y"});
     },
     {1, 2, 1, 2},
     {1, 0, -5, -10}},
    {"GemmWithBroadcast",
     6,
     {1, 2},
     [](OnnxBuilder& m) {
       m.Initializer("w", MakeTensor(kFloat32, {2, 2}, {1, 2, 3, 4}));
       m.Initializer("b", MakeTensor(kFloat32, {2}, {10, 20}));
       m.Node("Gemm", {"x", "w", "b"}, {"y"}).Int("broadcast", 1);
     },
     {1, 2},
     {9, 18}},
    {"DropoutOfTest",
     6,
     {2},
     [](OnnxBuilder& m) { m.Node("Dropout", {"x"}, {"y"}).Int("is_test", 1); },
     {2},
     {-1, 0}},
    {"NormalizationOfElements",
     6,
     {1, 2},
     [](OnnxBuilder& m) {
       m.Initializer("one", MakeTensor(kFloat32, {2}, {1, 2}));
       m.Initializer("four", MakeTensor(kFloat32, {2}, {4, 4}));
       m.Node("BatchNormalization", {"x", "one", "one", "one", "four"}, {"y"});
       m.Int("is_test", 1).Int("spatial", 0).Float("epsilon", 0);
     },
     {1, 2},
     {0, 0}},
    {"NormalizationOfElementsInSetSeven",
     7,
     {1, 2},
     [](OnnxBuilder& m) {
       m.Initializer("one", MakeTensor(kFloat32, {2}, {1, 2}));
       m.Initializer("four", MakeTensor(kFloat32, {2}, {4, 4}));
       m.Node("BatchNormalization", {"x", "one", "one", "one", "four"}, {"y"});
       m.Int("spatial", 0).Float("epsilon", 0);
     },
     {1, 2},
     {0, 0}},
    {"SplitByAnInput",
     1,
     {3},
     [](OnnxBuilder& m) {
       m.Initializer("s", MakeTensor(kInt64, {2}, {1, 2}));
       m.Node("Split", {"x", "s"}, {"z", "y"}).Int("axis", 0);
     },
     {2},
     {0, 1}},
};

INSTANTIATE_TEST_SUITE_P(Forms, OnnxOldSets, testing::ValuesIn(kForms),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST(OnnxOldSetsRefused, WithTheirMessages) {
  OnnxBuilder training(6);
  training.Input("x", {2}).Output("y").Node("Dropout", {"x"}, {"y"});
  EXPECT_THAT(training.Import().status().message(), HasSubstr("attribute is_test is 0 (training)"));
  OnnxBuilder sizes(6);
  sizes.Input("x", {2, 3}).Input("w", {3}).Output("y").Node("Add", {"x", "w"}, {"y"});
  EXPECT_THAT(sizes.Import().status().message(),
              HasSubstr("operands are float32[2,3] and float32[3], expected one shape without "
                        "attribute broadcast"));
  OnnxBuilder cast(3);
  cast.Input("x", {2}).Output("y").Node("Cast", {"x"}, {"y"}).Text("to", "FLOUT");
  EXPECT_THAT(cast.Import().status().message(), HasSubstr("attribute to is 'FLOUT'"));
  OnnxBuilder tile(5);
  tile.Input("x", {2}).Output("y").Initializer("n", MakeTensor(kFloat32, {}, {1e30}));
  tile.Node("Tile", {"x", "n", "n"}, {"y"});
  EXPECT_THAT(tile.Import().status().message(), HasSubstr("expected 0 to 2^31"));
  OnnxBuilder zero(1);
  zero.Input("x", {2}).Output("y").Node("Relu", {"x"}, {"y"});
  zero.proto().mutable_opset_import(0)->set_version(0);
  EXPECT_EQ(zero.Import().status().message(), "operator set 0, expected 1 to 28");
}

}  // namespace
}  // namespace tilewright
