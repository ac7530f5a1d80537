// Invalid models, each with its exact message.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "src/base/files/file.h"
#include "tests/graph/onnx/builder.h"

namespace tilewright {
namespace {

struct BadModel {
  const char* name;
  std::function<void(OnnxBuilder&)> make;
  StatusCode code;
  const char* message;
};

// x float32[1,2,4,4] -> … -> y
OnnxBuilder Start(std::int64_t opset = 13) {
  OnnxBuilder model(opset);
  model.Input("x", {1, 2, 4, 4}).Output("y");
  return model;
}

class OnnxRejects : public testing::TestWithParam<BadModel> {};

TEST_P(OnnxRejects, WithItsMessage) {
  OnnxBuilder model = Start();
  GetParam().make(model);
  auto graph = model.Import();
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.status().message(), GetParam().message);
  EXPECT_EQ(graph.status().code(), GetParam().code);
}

constexpr StatusCode kBad = StatusCode::kInvalidArgument;
constexpr StatusCode kNot = StatusCode::kUnsupported;

const BadModel kModels[] = {
    {"NoNodes", [](OnnxBuilder&) {}, kBad,
     "the file is not an ONNX model: it has no graph with nodes"},
    {"UnknownOperators",
     [](OnnxBuilder& m) {
       m.Node("Wobble", {"x"}, {"a"}).Node("Relu", {"a"}, {"b"}).Node("Wobble", {"b"}, {"c"});
       m.Node("Relu", {"c"}, {"y"}, "com.example");
     },
     kNot, "2 operators are not supported: Wobble (2 nodes), com.example.Relu (1 node)"},
    {"UnknownOperatorSet",
     [](OnnxBuilder& m) {
       m.Node("Relu", {"x"}, {"y"}).proto().mutable_opset_import(0)->set_version(99);
     },
     kNot, "operator set 99, expected 1 to 28"},
    {"NoOperatorSet",
     [](OnnxBuilder& m) { m.Node("Relu", {"x"}, {"y"}).proto().clear_opset_import(); }, kBad,
     "no operator set is imported (opset_import), expected one"},
    {"MissingInput",
     [](OnnxBuilder& m) {
       m.Node("Conv", {"x", "w"}, {"y"});
     },
     kBad,
     "node 0 (Conv) making 'y': input 'w' is computed by no node and is neither an initializer nor "
     "an input of the graph"},
    {"ZeroByteInAName",
     [](OnnxBuilder& m) {
       m.Node("Relu", {"x"}, {std::string("y\0z", 3)}).Output(std::string("y\0z", 3));
     },
     kBad, "the name of value 'y...' has a zero byte; expected a C string"},
    {"TooFewInputs", [](OnnxBuilder& m) { m.Node("Add", {"x"}, {"y"}); }, kBad,
     "node 0 (Add) making 'y': input 1 is missing"},
    {"Cycle",
     [](OnnxBuilder& m) {
       m.Node("Add", {"x", "b"}, {"a"}).Node("Relu", {"a"}, {"b"});
     },
     kBad, "node 0 (Add) making 'a': its input depends on its own output (a cycle)"},
    {"MadeTwice", [](OnnxBuilder& m) { m.Node("Relu", {"x"}, {"y"}).Node("Relu", {"x"}, {"y"}); },
     kBad, "node 1 (Relu) making 'y': value 'y' is defined twice"},
    {"OverwritesInput", [](OnnxBuilder& m) { m.Node("Relu", {"x"}, {"x"}); }, kBad,
     "node 0 (Relu) making 'x': value 'x' is defined twice"},
    {"NoOutputName", [](OnnxBuilder& m) { m.Node("Relu", {"x"}, {""}); }, kBad,
     "2 refusals: (1) node 0 (Relu): has no output; (2) graph output 'y' is computed by no node"},
    {"OutputOfNothing", [](OnnxBuilder& m) { m.Node("Relu", {"x"}, {"z"}); }, kBad,
     "graph output 'y' is computed by no node"},
    {"TrainingOutput",
     [](OnnxBuilder& m) {
       m.Node("Relu", {"x"}, {"a", "i"});
       m.Node("Cast", {"i"}, {"y"}).Int("to", onnx::TensorProto::FLOAT);
     },
     kBad,
     "node 1 (Cast) making 'y': value i is an output that its operator has only for training, or "
     "that is not supported; export the model without it"},
    {"OutputOfGraphThatIsNotMade",
     [](OnnxBuilder& m) {
       m.Node("Relu", {"x"}, {"a", "y"});
     },
     kBad,
     "graph output 'y': value y is an output that its operator has only for training, or that is "
     "not supported; export the model without it"},
    {"DropoutInTraining",
     [](OnnxBuilder& m) {
       m.Initializer("r", MakeTensor(kFloat32, {}, {0.5}));
       m.Initializer("t", MakeTensor(kBool, {}, {1})).Node("Dropout", {"x", "r", "t"}, {"y"});
     },
     kNot,
     "node 0 (Dropout) making 'y': expected inference (training_mode, input 2, constant false); "
     "export the model for inference"},
    {"InitializerTooShort",
     [](OnnxBuilder& m) {
       m.Initializer("w", MakeRange(kFloat32, {4})).Node("Add", {"x", "w"}, {"y"});
       m.proto().mutable_graph()->mutable_initializer(0)->set_raw_data("abc");
     },
     kBad, "node 0 (Add) making 'y': tensor w: has 3 bytes, its shape needs 16"},
    {"InitializerHuge",
     [](OnnxBuilder& m) {
       m.Initializer("w", MakeRange(kFloat32, {4})).Node("Add", {"x", "w"}, {"y"});
       auto* w = m.proto().mutable_graph()->mutable_initializer(0);
       for (int i = 0; i < 3; ++i) w->add_dims(std::int64_t{1} << 30);
     },
     kBad, "node 0 (Add) making 'y': tensor w: a tensor has more than 2^40 elements"},
    {"InitializerNegative",
     [](OnnxBuilder& m) {
       m.Initializer("w", MakeRange(kFloat32, {4})).Node("Add", {"x", "w"}, {"y"});
       m.proto().mutable_graph()->mutable_initializer(0)->set_dims(0, -4);
     },
     kBad, "node 0 (Add) making 'y': tensor w: a dimension has size -4, expected 1 to 2147483648"},
    {"InitializerOfText",
     [](OnnxBuilder& m) {
       m.Initializer("w", MakeRange(kFloat32, {4})).Node("Add", {"x", "w"}, {"y"});
       m.proto().mutable_graph()->mutable_initializer(0)->set_data_type(onnx::TensorProto::STRING);
     },
     kNot,
     "node 0 (Add) making 'y': tensor w: element type 8 is not supported, expected a float, "
     "integer or bool type"},
    {"InitializerElsewhere",
     [](OnnxBuilder& m) {
       m.Initializer("w", MakeRange(kFloat32, {4})).Node("Add", {"x", "w"}, {"y"});
       m.proto().mutable_graph()->mutable_initializer(0)->set_data_location(
           onnx::TensorProto::EXTERNAL);
     },
     kNot,
     "node 0 (Add) making 'y': tensor w: its contents are in another file, and the model was read "
     "from memory; expected them in the model"},
    {"InitializerTwice",
     [](OnnxBuilder& m) {
       m.Initializer("w", MakeRange(kFloat32, {4})).Initializer("w", MakeRange(kFloat32, {4}));
       m.Node("Add", {"x", "w"}, {"y"});
     },
     kBad, "initializer 'w' is defined twice"},
    {"ShapesDoNotFit",
     [](OnnxBuilder& m) {
       m.Initializer("w", MakeRange(kFloat32, {3})).Node("Add", {"x", "w"}, {"y"});
     },
     kBad,
     "node 0 (Add) making 'y': shapes [1,2,4,4] and [3] do not broadcast; it is computed as "
     "add of float32[1,2,4,4] and float32[3]"},
    {"OneDimensionalConv",
     [](OnnxBuilder& m) {
       m.Initializer("w", MakeRange(kFloat32, {3, 2, 2})).Node("Conv", {"x", "w"}, {"y"});
     },
     kNot, "node 0 (Conv) making 'y': input 1 is float32[3,2,2], expected 4 dimensions"},
    {"PadsTooMany",
     [](OnnxBuilder& m) {
       m.Initializer("w", MakeRange(kFloat32, {3, 2, 2, 2})).Node("Conv", {"x", "w"}, {"y"});
       m.IntList("pads", {1, 1, 1});
     },
     kBad, "node 0 (Conv) making 'y': attribute pads has 3 numbers, expected 4"},
    {"AttributeOfOtherType",
     [](OnnxBuilder& m) { m.Node("Flatten", {"x"}, {"y"}).Float("axis", 1); }, kBad,
     "node 0 (Flatten) making 'y': attribute axis has type code 1, expected 2"},
    {"AttributeTooLarge",
     [](OnnxBuilder& m) {
       m.Node("Flatten", {"x"}, {"y"}).Int("axis", std::numeric_limits<std::int64_t>::max());
     },
     kBad,
     "node 0 (Flatten) making 'y': attribute axis is 9223372036854775807, expected at most 2^31"},
    {"AxisOutside", [](OnnxBuilder& m) { m.Node("Flatten", {"x"}, {"y"}).Int("axis", 5); }, kBad,
     "node 0 (Flatten) making 'y': axis 5 is outside of 4 dimensions"},
    {"ReshapeToComputedShape",
     [](OnnxBuilder& m) {
       m.Input("s", {2}, onnx::TensorProto::INT64).Node("Reshape", {"x", "s"}, {"y"});
     },
     kNot,
     "node 0 (Reshape) making 'y': input 1 (s) must be a list of integers that is constant at "
     "import; it follows from input 's' (int64[2]): if that is the same in every run, give it: "
     "--value s=NUMBER"},
    {"ReshapeToOtherSize",
     [](OnnxBuilder& m) {
       m.Initializer("s", MakeTensor(kInt64, {2}, {5, -1})).Node("Reshape", {"x", "s"}, {"y"});
     },
     kBad, "node 0 (Reshape) making 'y': the input float32[1,2,4,4] does not divide by 5"},
    {"ConstantOfShapeHuge",
     [](OnnxBuilder& m) {
       m.Initializer("s", MakeTensor(kInt64, {3}, {65536, 65536, 2}));
       m.Node("ConstantOfShape", {"s"}, {"y"});
     },
     kBad,
     "node 0 (ConstantOfShape) making 'y': float32[65536,65536,2] has more than 2^32 elements"},
    {"InputWithoutSize",
     [](OnnxBuilder& m) {
       m.Input("z", {1, -1}).Node("Add", {"x", "z"}, {"y"});
     },
     kNot,
     "graph input 'z': dimension 1 ('n'): no fixed size; give the sizes that the network is to run "
     "with: --dim n=SIZE"},
    {"InputsWithoutSizes",
     [](OnnxBuilder& m) {
       m.Input("z", {1, 2, -1, -1}).Input("w", {4, -1}).Node("Add", {"x", "z"}, {"y"});
     },
     kNot,
     "graph input 'z': dimension 2 ('n'), dimension 3 ('n'); graph input 'w': dimension 1 ('n'): "
     "no fixed size; give the sizes that the network is to run with: --dim n=SIZE"},
    {"SplitOfOtherSize",
     [](OnnxBuilder& m) {
       m.Initializer("s", MakeTensor(kInt64, {2}, {1, 2}));
       m.Node("Split", {"x", "s"}, {"y", "z"}).Int("axis", 2);
     },
     kBad, "node 0 (Split) making 'y': the parts have 3 elements, expected 4"},
    {"PadInAnUnknownWay",
     [](OnnxBuilder& m) {
       m.Initializer("p", MakeTensor(kInt64, {8}, {0, 0, 1, 1, 0, 0, 1, 1}));
       m.Node("Pad", {"x", "p"}, {"y"}).Text("mode", "symmetric");
     },
     kBad,
     "node 0 (Pad) making 'y': attribute mode is symmetric, expected constant, reflect, edge or "
     "wrap"},
    {"PadWithTooMuchOfItself",
     [](OnnxBuilder& m) {
       m.Initializer("p", MakeTensor(kInt64, {8}, {0, 0, 0, 0, 0, 0, 0, 1 << 22}));
       m.Node("Pad", {"x", "p"}, {"y"}).Text("mode", "edge");
     },
     kNot,
     "node 0 (Pad) making 'y': dimension 3 becomes 4194308 elements, expected at most 4194304"},
    {"TablesWithoutEnd",
     [](OnnxBuilder& m) {
       m.Initializer("p", MakeTensor(kInt64, {8}, {0, 0, 0, 0, 0, 0, 0, 4e6}));
       for (int i = 0; i < 20; ++i) {
         m.Node("Pad", {"x", "p"}, {"y" + std::to_string(i)}).Text("mode", "edge");
       }
     },
     kBad,
     "2 refusals: (1) node 16 (Pad) making 'y16', node 17 (Pad) making 'y17', node 18 (Pad) making "
     "'y18', node 19 (Pad) making 'y19': the file's operators so far need tables of more than "
     "268435456 bytes; (2) graph output 'y' is computed by no node"},
    {"TransposedConvDeeperThanAllowed",
     [](OnnxBuilder& m) {
       m.Input("v", {1, 2, 4, 4, 4}).Initializer("w", MakeRange(kFloat32, {2, 3, 65, 1, 1}));
       m.Node("ConvTranspose", {"v", "w"}, {"y"});
     },
     kNot,
     "node 0 (ConvTranspose) making 'y': a window of 65 along 4 elements of depth gives 68 of "
     "them; expected a window of at most 64 and at least one element"},
    {"TransposedOutputOfNothing",
     [](OnnxBuilder& m) {
       m.Initializer("w", MakeRange(kFloat32, {2, 1, 2, 2}));
       m.Node("ConvTranspose", {"x", "w"}, {"y"}).IntList("output_shape", {0, 4});
     },
     kBad, "node 0 (ConvTranspose) making 'y': attribute output_shape has 0, expected at least 1"},
    {"ProductOfBytes",
     [](OnnxBuilder& m) {
       m.Input("b", {2, 2}, onnx::TensorProto::INT8).Node("MatMul", {"b", "b"}, {"y"});
     },
     kBad,
     "node 0 (MatMul) making 'y': input 0 is int8[2,2], expected floats or integers of 32 "
     "or 64 bits; products of int8 and uint8 are MatMulInteger or QLinearMatMul"},
    {"ConvDeeperThanItsVolume",
     [](OnnxBuilder& m) {
       m.Input("v", {1, 2, 4, 4, 4}).Initializer("w", MakeRange(kFloat32, {3, 2, 5, 1, 1}));
       m.Node("Conv", {"v", "w"}, {"y"});
     },
     kNot,
     "node 0 (Conv) making 'y': the window does not fit in 4 elements of depth, or is deeper than "
     "64"},
    {"ResizeOfARegion",
     [](OnnxBuilder& m) {
       m.Node("Resize", {"x", "", "s"}, {"y"});
       m.Text("coordinate_transformation_mode", "tf_crop_and_resize");
       m.Initializer("s", MakeTensor(kFloat32, {4}, {1, 1, 2, 2}));
     },
     kNot,
     "node 0 (Resize) making 'y': coordinate_transformation_mode tf_crop_and_resize is not "
     "supported"},
    {"ResizeToNothing",
     [](OnnxBuilder& m) {
       m.Node("Resize", {"x", "", "s"}, {"y"});
       m.Initializer("s", MakeTensor(kFloat32, {4}, {1, 1, std::nan(""), 2}));
     },
     kBad, "node 0 (Resize) making 'y': scale nan of 4 elements gives none, or more than 4194304"},
    {"ResizeOfOtherRank",
     [](OnnxBuilder& m) {
       m.Node("Resize", {"x", "", "", "s"}, {"y"});
       m.Initializer("s", MakeTensor(kInt64, {2}, {8, 8}));
     },
     kBad, "node 0 (Resize) making 'y': has 2 scales or sizes, expected 4"},
    {"DepthToSpaceOfFewChannels",
     [](OnnxBuilder& m) { m.Node("DepthToSpace", {"x"}, {"y"}).Int("blocksize", 2); }, kBad,
     "node 0 (DepthToSpace) making 'y': 2 channels do not divide by blocksize 2 squared"},
    {"TileWithoutEnd",
     [](OnnxBuilder& m) {
       m.Initializer("r", MakeTensor(kInt64, {4}, {1, 1, 1, 1e18}));
       m.Node("Tile", {"x", "r"}, {"y"});
     },
     kBad,
     "node 0 (Tile) making 'y': repeats dimension 3 1000000000000000000 times, expected 0 to 2^31 "
     "elements"},
    {"RangeWithoutEnd",
     [](OnnxBuilder& m) {
       m.Initializer("a", MakeTensor(kInt64, {}, {0}))
           .Initializer("b", MakeTensor(kInt64, {}, {9}));
       m.Node("Range", {"a", "b", "a"}, {"y"});
     },
     kBad, "node 0 (Range) making 'y': has more than 4194304 elements"},
    {"WhereByNumbers",
     [](OnnxBuilder& m) {
       m.Node("Where", {"x", "x", "x"}, {"y"});
     },
     kBad,
     "node 0 (Where) making 'y': condition is float32[1,2,4,4], expected bool; it is computed as "
     "where of float32[1,2,4,4], float32[1,2,4,4] and float32[1,2,4,4]"},
    {"GroupsOfPartsOfChannels",
     [](OnnxBuilder& m) {
       m.Initializer("s", MakeRange(kFloat32, {2}));
       m.Node("GroupNormalization", {"x", "s", "s"}, {"y"}).Int("num_groups", 3);
     },
     kBad,
     "node 0 (GroupNormalization) making 'y': attribute num_groups is 3, expected a divisor of 2 "
     "channels"},
    {"GatherByFloats",
     [](OnnxBuilder& m) {
       m.Initializer("i", MakeTensor(kFloat32, {1}, {1})).Node("Gather", {"x", "i"}, {"y"});
     },
     kBad, "node 0 (Gather) making 'y': indices are float32[1], expected int32 or int64"},
    {"GatherOutside",
     [](OnnxBuilder& m) {
       m.Initializer("i", MakeTensor(kInt64, {1}, {2})).Node("Gather", {"x", "i"}, {"y"});
       m.Int("axis", 1);
     },
     kBad, "node 0 (Gather) making 'y': index 2 is outside of 2 elements"},
    {"PlacesOfALargePool",
     [](OnnxBuilder& m) {
       m.Input("v", {1, 1, std::int64_t{1} << 28, 5}).Node("MaxPool", {"v"}, {"p", "i"});
       m.IntList("kernel_shape", {2, 2}).Node("Relu", {"x"}, {"y"});
     },
     kNot, "node 0 (MaxPool) making 'p': the indices (output 1) need more than 67108864 numbers"},
    {"GatherFarOutside",
     [](OnnxBuilder& m) {
       Tensor index(TensorType{{1}, kInt64});
       index.As<std::int64_t>()[0] = std::numeric_limits<std::int64_t>::max();
       m.Initializer("i", index).Node("Gather", {"x", "i"}, {"y"});
     },
     kBad, "node 0 (Gather) making 'y': index 9223372036854775807 is outside of 1 elements"},
    {"ZeroPointOfFloat",
     [](OnnxBuilder& m) {
       m.Initializer("s", MakeTensor(kFloat32, {}, {1}));
       m.Initializer("z", MakeTensor(kFloat32, {}, {1e28}));
       m.Node("QuantizeLinear", {"x", "s", "z"}, {"y"});
     },
     kNot,
     "node 0 (QuantizeLinear) making 'y': zero point (input 2) must be integers of 8, 16 or 32 "
     "bits"},
    {"MoreZeroPointsThanScales",
     [](OnnxBuilder& m) {
       m.Initializer("q", MakeTensor(kInt8, {}, {1}))
           .Initializer("s", MakeTensor(kFloat32, {}, {1}));
       m.Initializer("z", MakeTensor(kInt8, {2}, {1, 2}));
       m.Node("DequantizeLinear", {"q", "s", "z"}, {"y"});
     },
     kBad,
     "node 0 (DequantizeLinear) making 'y': zero points int8[2] and scales float32[] differ in "
     "number"},
    {"FakeQuantization",
     [](OnnxBuilder& m) { m.Node("fake_quantize_per_tensor_affine", {"x"}, {"y"}, "aten"); }, kNot,
     "1 operator is not supported: aten.fake_quantize_per_tensor_affine (1 node); fake "
     "quantization is for training: export it as QuantizeLinear and DequantizeLinear (operator set "
     "13 or later for one scale per channel), or convert the model before exporting"},
    {"DynamicScales",
     [](OnnxBuilder& m) { m.Node("DynamicQuantizeAny", {"x"}, {"y"}, "com.microsoft"); }, kNot,
     "1 operator is not supported: com.microsoft.DynamicQuantizeAny (1 node); export it without "
     "ONNX Runtime's fusions, as DynamicQuantizeLinear and MatMulInteger, or quantize statically, "
     "with calibration data"},
    {"QOperatorThatIsNotRead",
     [](OnnxBuilder& m) { m.Node("QLinearReduceMean", {"x"}, {"y"}, "com.microsoft"); }, kNot,
     "1 operator is not supported: com.microsoft.QLinearReduceMean (1 node); quantize the model in "
     "the QDQ format (QuantFormat.QDQ) instead of QOperator"},
    {"InputWithoutType",
     [](OnnxBuilder& m) {
       m.Input("z", {2}, onnx::TensorProto::UNDEFINED).Node("Relu", {"x"}, {"y"});
     },
     kBad,
     "graph input 'z': it has no element type; infer the types when exporting (in Python: "
     "onnx.shape_inference.infer_shapes), or give the exporter an example input"},
    {"InitializerWithoutType",
     [](OnnxBuilder& m) {
       m.Initializer("w", MakeRange(kFloat32, {4})).Node("Add", {"x", "w"}, {"y"});
       m.proto().mutable_graph()->mutable_initializer(0)->set_data_type(0);
     },
     kBad,
     "node 0 (Add) making 'y': tensor w: has no element type; export the model again, with a type "
     "for it"},
    {"ScaleOfZero",
     [](OnnxBuilder& m) {
       m.Initializer("s", MakeTensor(kFloat32, {}, {0})).Node("QuantizeLinear", {"x", "s"}, {"y"});
     },
     kBad,
     "node 0 (QuantizeLinear) making 'y': scale (input 1) is 0.000000, expected a positive number"},
    {"ScaleNotANumber",
     [](OnnxBuilder& m) {
       m.Initializer("s", MakeTensor(kFloat32, {}, {std::nan("")}));
       m.Initializer("q", MakeTensor(kInt8, {2}, {1, 2}));
       m.Node("DequantizeLinear", {"q", "s"}, {"y"});
     },
     kBad,
     "node 0 (DequantizeLinear) making 'y': scale (input 1) is nan, expected a positive number"},
    {"ScalesOfOtherLength",
     [](OnnxBuilder& m) {
       m.Initializer("s", MakeTensor(kFloat32, {3}, {1, 2, 3}));
       m.Node("QuantizeLinear", {"x", "s"}, {"y"}).Int("axis", 1);
     },
     kBad,
     "node 0 (QuantizeLinear) making 'y': scales float32[3] do not fit dimension 1 of "
     "float32[1,2,4,4]"},
    {"ScalesPerBlock",
     [](OnnxBuilder& m) {
       m.Initializer("s", MakeRange(kFloat32, {2}, 1)).Node("QuantizeLinear", {"x", "s"}, {"y"});
       m.Int("block_size", 16);
     },
     kBad,
     "node 0 (QuantizeLinear) making 'y': scales float32[2] do not fit blocks of 16 along "
     "dimension 1 of float32[1,2,4,4]"},
    {"ZeroPointComputed",
     [](OnnxBuilder& m) {
       m.Input("z", {}, onnx::TensorProto::UINT8);
       m.Input("q", {2, 2}, onnx::TensorProto::UINT8);
       m.Initializer("s", MakeTensor(kFloat32, {}, {1}));
       m.Node("QLinearMatMul", {"q", "s", "z", "q", "s", "z", "s", "z"}, {"y"});
     },
     kNot,
     "node 0 (QLinearMatMul) making 'y': input 7 (z) has zero points that are computed at run time "
     "or differ between channels, expected one that is constant at import; it follows from input "
     "'z' (uint8[]): if that is the same in every run, give it: --value z=NUMBER"},
    {"TransposedStrideHuge",
     [](OnnxBuilder& m) {
       m.Initializer("w", MakeRange(kFloat32, {2, 1, 2, 2}));
       m.Node("ConvTranspose", {"x", "w"}, {"y"}).IntList("output_shape", {4, 4});
       m.IntList("strides", {std::int64_t{1} << 31, 1});
     },
     kBad,
     "node 0 (ConvTranspose) making 'y': strides or dilations out of range, expected 1 to 65535"},
    {"PadsBeyondEverySize",
     [](OnnxBuilder& m) {
       m.Initializer("w", MakeRange(kFloat32, {3, 2, 2, 2})).Node("Conv", {"x", "w"}, {"y"});
       const std::int64_t huge = std::int64_t{1} << 31;
       m.IntList("pads", {huge, huge, huge, huge});
     },
     kBad,
     "node 0 (Conv) making 'y': padding 2147483648, expected 0 to 16777216; it is computed as "
     "conv2d "
     "of float32[1,2,4,4] and float32[3,2,2,2]"},
    {"UnknownAttribute", [](OnnxBuilder& m) { m.Node("Relu", {"x"}, {"y"}).Float("alpha", 0.5F); },
     kNot,
     "node 0 (Relu) making 'y': attribute alpha is not defined for this operator in set 13; export "
     "the model for the operator set that has it, or remove it from the node if nothing depends on "
     "it"},
    {"AttributeThatBecameAnInput",
     [](OnnxBuilder& m) { m.Node("Squeeze", {"x"}, {"y"}).IntList("axes", {0}); }, kNot,
     "node 0 (Squeeze) making 'y': attribute axes is not defined for this operator in set 13; "
     "export the model for the operator set that has it, or remove it from the node if nothing "
     "depends on it"},
    {"AxesInputBeforeItsSet",
     [](OnnxBuilder& m) {
       m.Initializer("a", MakeTensor(kInt64, {1}, {0})).Node("ReduceMean", {"x", "a"}, {"y"});
     },
     kNot,
     "node 0 (ReduceMean) making 'y': input 1 (a) is not defined for this operator in set 13; "
     "export the model for the operator set that has it"},
    {"ResizeByBoth",
     [](OnnxBuilder& m) {
       m.Initializer("s", MakeTensor(kFloat32, {4}, {1, 1, 2, 2}));
       m.Initializer("n", MakeTensor(kInt64, {4}, {1, 2, 8, 8}));
       m.Node("Resize", {"x", "", "s", "n"}, {"y"});
     },
     kBad, "node 0 (Resize) making 'y': has scales and sizes, expected one of them"},
    {"AttributeTwice",
     [](OnnxBuilder& m) { m.Node("Flatten", {"x"}, {"y"}).Int("axis", 1).Int("axis", 2); }, kBad,
     "node 0 (Flatten) making 'y': attribute axis occurs twice"},
    {"KernelShapeOfAnotherWeight",
     [](OnnxBuilder& m) {
       m.Initializer("w", MakeRange(kFloat32, {2, 1, 2, 2}));
       m.Node("ConvTranspose", {"x", "w"}, {"y"}).IntList("kernel_shape", {2, 3});
     },
     kBad, "node 0 (ConvTranspose) making 'y': attribute kernel_shape is 2x3, the weight has 2x2"},
    {"MomentsOfAnotherType",
     [](OnnxBuilder& m) {
       m.Initializer("s", MakeRange(kFloat32, {4})).Node("LayerNormalization", {"x", "s"}, {"y"});
       m.Int("stash_type", 16);
     },
     kNot,
     "node 0 (LayerNormalization) making 'y': attribute stash_type is 16, expected 1 (float32)"},
    {"SplitIntoOtherNumber",
     [](OnnxBuilder& m) {
       m.Node("Split", {"x"}, {"y", "z"}).Int("axis", 2).Int("num_outputs", 3);
     },
     kBad, "node 0 (Split) making 'y': attribute num_outputs is 3, the node has 2 outputs"},
    {"QuantizedTypeSaidTwice",
     [](OnnxBuilder& m) {
       m.Initializer("s", MakeTensor(kFloat32, {}, {1}))
           .Initializer("z", MakeTensor(kInt8, {}, {1}));
       m.Node("QuantizeLinear", {"x", "s", "z"}, {"y"})
           .Int("output_dtype", onnx::TensorProto::UINT8);
     },
     kBad,
     "node 0 (QuantizeLinear) making 'y': attribute output_dtype names uint8, the zero point is "
     "int8"},
    {"ElementsOfOtherRank",
     [](OnnxBuilder& m) {
       m.Initializer("i", MakeTensor(kInt64, {1}, {0})).Node("GatherElements", {"x", "i"}, {"y"});
     },
     kBad,
     "node 0 (GatherElements) making 'y': indices are int64[1], expected the dimensions of "
     "float32[1,2,4,4] but for dimension 0"},
    {"ElementsOutside",
     [](OnnxBuilder& m) {
       m.Initializer("i", MakeTensor(kInt64, {1, 1, 1, 2}, {0, -5}));
       m.Node("GatherElements", {"x", "i"}, {"y"}).Int("axis", 3);
     },
     kBad, "node 0 (GatherElements) making 'y': index -5 is outside of 4 elements"},
    {"ElementsByFloats",
     [](OnnxBuilder& m) {
       m.Node("GatherElements", {"x", "x"}, {"y"});
     },
     kBad,
     "node 0 (GatherElements) making 'y': indices are float32[1,2,4,4], expected int32 or int64"},
    {"TuplesTooLong",
     [](OnnxBuilder& m) {
       m.Initializer("i", MakeTensor(kInt64, {5}, {0, 0, 0, 0, 0}));
       m.Node("GatherND", {"x", "i"}, {"y"});
     },
     kBad,
     "node 0 (GatherND) making 'y': indices int64[5] do not fit data float32[1,2,4,4] with 0 batch "
     "dimensions"},
    {"TuplesOfNothing",
     [](OnnxBuilder& m) {
       m.Initializer("i", Tensor(TensorType{{0, 1}, kInt64})).Node("GatherND", {"x", "i"}, {"y"});
     },
     kNot,
     "node 0 (GatherND) making 'y': input 1 (i) is int64[0,1], which is zero-size; this operator "
     "does not support zero-size inputs"},
    {"UpdatesOfOtherShape",
     [](OnnxBuilder& m) {
       m.Initializer("i", MakeTensor(kInt64, {1, 2}, {0, 1}));
       m.Node("ScatterND", {"x", "i", "x"}, {"y"});
     },
     kBad, "node 0 (ScatterND) making 'y': input 2 is float32[1,2,4,4], expected float32[1,4,4]"},
    {"ElementsCombinedInAnUnknownWay",
     [](OnnxBuilder& m) {
       m.Initializer("i", MakeTensor(kInt64, {1, 2}, {0, 1}));
       m.Node("ScatterND", {"x", "i", "x"}, {"y"}).Text("reduction", "mean");
     },
     kBad,
     "node 0 (ScatterND) making 'y': attribute reduction is mean, expected none, add, mul, max or "
     "min"},
    {"ElementsWrittenInPart",
     [](OnnxBuilder& m) {
       m.Initializer("i", MakeTensor(kInt64, {1, 2, 3, 3}, std::vector<double>(18, 0)));
       m.Input("u", {1, 2, 3, 3});
       m.Node("ScatterElements", {"x", "i", "u"}, {"y"}).Int("axis", 2);
     },
     kNot,
     "node 0 (ScatterElements) making 'y': indices int64[1,2,3,3] that leave out a part of data "
     "float32[1,2,4,4] along other dimensions than 2"},
    {"ElementsMultipliedAtComputedPlaces",
     [](OnnxBuilder& m) {
       m.Input("i", {1, 2, 4, 4}, onnx::TensorProto::INT64);
       m.Node("ScatterElements", {"x", "i", "x"}, {"y"}).Text("reduction", "mul");
     },
     kNot,
     "node 0 (ScatterElements) making 'y': input 1 (i) must be indices that are constant at "
     "import, for reduction mul; it follows from input 'i' (int64[1,2,4,4]): if that is the same "
     "in every run, give it: --value i=NUMBER"},
    {"ElementsAddedTooOften",
     [](OnnxBuilder& m) {
       m.Input("v", {4}).Input("u", {17}).Initializer("i", MakeRange(kInt64, {17, 1}, 2, 0));
       m.Node("ScatterND", {"v", "i", "u"}, {"y"}).Text("reduction", "add");
     },
     kNot, "node 0 (ScatterND) making 'y': more than 16 updates are combined at one position"},
    {"ElementsComparedTooOften",
     [](OnnxBuilder& m) {
       m.Input("v", {65536}).Input("u", {65536}).Input("i", {65536}, onnx::TensorProto::INT64);
       m.Node("ScatterElements", {"v", "i", "u"}, {"y"});
     },
     kNot,
     "node 0 (ScatterElements) making 'y': indices computed at run time need more than 67108864 "
     "comparisons; export the model with constant indices"},
    {"SampledInAnUnknownWay",
     [](OnnxBuilder& m) {
       m.Input("g", {1, 3, 3, 2}).Node("GridSample", {"x", "g"}, {"y"}).Text("mode", "area");
     },
     kBad,
     "node 0 (GridSample) making 'y': attribute mode is area, expected linear, nearest or cubic"},
    {"SampledByTriples",
     [](OnnxBuilder& m) {
       m.Input("g", {1, 3, 3, 3}).Node("GridSample", {"x", "g"}, {"y"});
     },
     kNot,
     "node 0 (GridSample) making 'y': data float32[1,2,4,4] and grid float32[1,3,3,3], expected "
     "images and a grid of pairs, or volumes (not cubic) and a grid of triples"},
    {"MoreThanAllFirst",
     [](OnnxBuilder& m) {
       m.Initializer("k", MakeTensor(kInt64, {1}, {5})).Node("TopK", {"x", "k"}, {"y", "z"});
     },
     kBad, "node 0 (TopK) making 'y': k is 5, expected 1 to 4"},
    {"FirstOfTooMany",
     [](OnnxBuilder& m) {
       m.Input("v", {1 << 20}).Initializer("k", MakeTensor(kInt64, {1}, {5}));
       m.Node("TopK", {"v", "k"}, {"y", "z"});
     },
     kNot,
     "node 0 (TopK) making 'y': the first 5 of float32[1048576] need more than 67108864 "
     "comparisons"},
    {"FirstOfAComputedNumber",
     [](OnnxBuilder& m) {
       m.Input("k", {1}, onnx::TensorProto::INT64).Node("TopK", {"x", "k"}, {"y", "z"});
     },
     kNot,
     "node 0 (TopK) making 'y': input 1 (k) must be a list of integers that is constant at import; "
     "it follows from input 'k' (int64[1]): if that is the same in every run, give it: --value "
     "k=NUMBER"},
    {"CycleThroughQuantization",
     [](OnnxBuilder& m) {
       m.Initializer("s", MakeTensor(kFloat32, {}, {1}));
       m.Node("QuantizeLinear", {"d", "s"}, {"q"}).Node("DequantizeLinear", {"q", "s"}, {"d"});
     },
     kBad, "node 0 (QuantizeLinear) making 'q': its input depends on its own output (a cycle)"},
};

INSTANTIATE_TEST_SUITE_P(Models, OnnxRejects, testing::ValuesIn(kModels),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST(OnnxRejectsBytes, EveryTruncationWithoutACrash) {
  OnnxBuilder model = Start();
  model.Initializer("w", MakeRange(kFloat32, {3, 2, 3, 3})).Node("Conv", {"x", "w"}, {"y"});
  const std::string bytes = model.Bytes();
  ASSERT_TRUE(ImportOnnx(bytes, "whole").ok());
  testing::internal::CaptureStderr();
  int refused = 0;
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    refused += ImportOnnx(std::string_view(bytes).substr(0, size), "cut").ok() ? 0 : 1;
  }
  EXPECT_EQ(refused, static_cast<int>(bytes.size()));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");  // protobuf prints nothing
}

TEST(LoadGraph, NamesTheFileAndWhatItExpected) {
  auto folder = ScopedTempDir::Create("load_graph");
  ASSERT_TRUE(folder.ok());
  const std::string path = folder->path() + "/model";
  const auto message = [&](std::string_view contents) {
    EXPECT_TRUE(WriteFile(path, contents).ok());
    return LoadGraph(path).status().message();
  };
  EXPECT_EQ(message(""), path +
                             ": expected an ONNX file or Relay text; this is an empty file.\n"
                             "  Check the program that wrote it, or download it again");
  EXPECT_EQ(
      message("hello"),
      path +
          ": line 1: this text is not a model; expected an ONNX file, or Relay text beginning "
          "with \"#[version\", \"def\", \"fn\" or \"type\"");
  EXPECT_EQ(message("\x08\x07\xff"),
            path +
                ": the file is not an ONNX model, or is truncated (3 bytes); download or export "
                "it again");
  EXPECT_EQ(LoadGraph(path + "x").status().code(), StatusCode::kNotFound);
}

TEST(LoadGraph, TellsRelayFromOnnx) {
  auto folder = ScopedTempDir::Create("load_graph");
  ASSERT_TRUE(folder.ok());
  const std::string path = folder->path() + "/net.v2.txt";
  ASSERT_TRUE(WriteFile(path,
                        "\n  fn (%x: Tensor[(4), float32]) {\n"
                        "  nn.relu(%x)\n}")
                  .ok());
  auto relay = LoadGraph(path);
  ASSERT_TRUE(relay.ok()) << relay.status().message();
  EXPECT_EQ(relay->name, "net.v2");
  OnnxBuilder model = Start();
  model.Node("Relu", {"x"}, {"y"});
  ASSERT_TRUE(WriteFile(path, model.Bytes()).ok());
  EXPECT_TRUE(LoadGraph(path).ok());
}

}  // namespace
}  // namespace tilewright
