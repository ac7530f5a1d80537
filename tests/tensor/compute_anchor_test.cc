// The compute definitions, run by an interpreter, compared with the reference evaluator.
#include "src/tensor/compute/compute.h"

#include <gtest/gtest.h>

#include "src/tensor/layout.h"
#include "src/tensor/reference/reference.h"
#include "tests/support/interpreter.h"

namespace tilewright {
namespace {

struct AnchorCase {
  const char* name;
  const char* workload;
  const char* epilogue = "";
  KernelLayouts layouts = {};
};
void PrintTo(const AnchorCase& c, std::ostream* os) { *os << c.name; }

class AnchorTest : public testing::TestWithParam<AnchorCase> {};

std::string OutputLayoutOf(const Workload& w, const KernelLayouts& layouts) {
  return layouts.output.empty() ? *w.OutputLayout() : layouts.output;
}

/// Returns the sizes of a workload's result by primal dimension of its own output layout.
std::vector<std::int64_t> LogicalOutput(const Workload& w) {
  const Layout layout = *Layout::Parse(*w.OutputLayout());
  return layout.Unpack(w.OutputType()->shape);
}

/// Returns -128 times the sum of each output channel's weights, for the padded channels.
Tensor Compensation(const Workload& w, const Buffer& buffer, const Tensor& weight) {
  const bool convolution = w.op == OpKind::kConv2d;
  const Tensor plain = *TransformLayout(weight, w.kernel_layout, convolution ? "OIHW" : "NK");
  Tensor result(TensorType{buffer->shape, kInt32});
  const std::int64_t per_channel = plain.elements() / plain.shape()[0];
  for (std::int64_t k = 0; k < plain.shape()[0]; ++k) {
    double sum = 0;
    for (std::int64_t i = 0; i < per_channel; ++i) sum += plain.At(k * per_channel + i);
    result.Set(k, -128 * sum);
  }
  return result;
}

TEST_P(AnchorTest, DefinitionEqualsReference) {
  const AnchorCase& c = GetParam();
  auto workload = Workload::Parse(c.workload);
  ASSERT_TRUE(workload.ok()) << workload.status().message();
  auto epilogue = Epilogue::Parse(c.epilogue);
  ASSERT_TRUE(epilogue.ok()) << epilogue.status().message();
  auto compute = DefineAnchor(*workload, *epilogue, c.layouts);
  ASSERT_TRUE(compute.ok()) << compute.status().message();
  const Workload& w = *workload;

  const Tensor data = RandomTensor(w.data, 1), weight = RandomTensor(w.weight, 2);
  const std::string data_layout = c.layouts.data.empty() ? w.data_layout : c.layouts.data;
  const std::string weight_layout = c.layouts.weight.empty() ? w.kernel_layout : c.layouts.weight;
  const std::string own_output = *w.OutputLayout(), output = OutputLayoutOf(w, c.layouts);
  std::vector<Tensor> kernel_inputs;
  kernel_inputs.push_back(*TransformLayout(data, w.data_layout, data_layout));
  Tensor packed = *TransformLayout(weight, w.kernel_layout, weight_layout);
  if (c.layouts.multiply_dtype) {
    Operator cast{OpKind::kCast, {}};
    cast.attributes.dtype = c.layouts.multiply_dtype;
    const Tensor* pointer = &packed;
    packed = *Evaluate(cast, {&pointer, 1});
  }
  kernel_inputs.push_back(std::move(packed));
  if (c.layouts.shift_data) kernel_inputs.push_back(Compensation(w, compute->inputs[2], weight));

  // Operands have [K] elements for the reference and are padded for the kernel; tensors use either
  // layout.
  const std::vector<std::int64_t> logical = LogicalOutput(w);
  const bool convolution = w.op == OpKind::kConv2d || w.op == OpKind::kConv2dTranspose;
  const std::string own_primal = Layout::Parse(own_output)->primal();
  const std::int64_t channels = logical[own_primal.find(convolution ? 'C' : 'N')];
  std::vector<Tensor> operands;
  for (const EpilogueStep& step : epilogue->steps) {
    if (step.operand != OperandKind::kChannel && step.operand != OperandKind::kTensor) continue;
    const std::uint64_t seed = 100 + operands.size();
    if (step.operand == OperandKind::kTensor) {
      operands.push_back(RandomTensor({w.OutputType()->shape, step.operand_dtype}, seed));
      kernel_inputs.push_back(*TransformLayout(operands.back(), own_output, output));
      continue;
    }
    operands.push_back(RandomTensor({{channels}, step.operand_dtype}, seed, 5));
    const Buffer& buffer = compute->inputs[kernel_inputs.size()];
    Tensor padded(TensorType{buffer->shape, buffer->dtype});
    ASSERT_GE(padded.elements(), channels);
    std::copy_n(operands.back().data(), operands.back().bytes(), padded.data());
    kernel_inputs.push_back(std::move(padded));
  }
  std::vector<const Tensor*> operand_pointers, input_pointers;
  for (const Tensor& t : operands) operand_pointers.push_back(&t);
  for (const Tensor& t : kernel_inputs) input_pointers.push_back(&t);
  auto expected = EvaluateAnchor(w, *epilogue, data, weight, operand_pointers, 2);
  ASSERT_TRUE(expected.ok()) << expected.status().message();

  const Tensor raw = Interpret(*compute, input_pointers);
  // Converts the result back to the workload's layout, without the padding channels.
  const std::string primal = Layout::Parse(output)->primal();
  std::vector<std::int64_t> sizes;
  for (char d : primal) sizes.push_back(logical[own_primal.find(d)]);
  auto result = TransformLayout(raw, output, own_output, sizes);
  ASSERT_TRUE(result.ok()) << result.status().message();
  const Comparison comparison = Compare(*result, *expected);
  EXPECT_TRUE(comparison.ok) << "element " << comparison.first_bad << " of "
                             << result->type().ToString() << " and " << expected->type().ToString();
  EXPECT_EQ(compute->macs, w.macs());
}

KernelLayouts Form(const char* data, const char* weight, const char* output) {
  KernelLayouts layouts;
  layouts.data = data;
  layouts.weight = weight;
  layouts.output = output;
  return layouts;
}
KernelLayouts Shifted(KernelLayouts layouts) {
  layouts.shift_data = true;
  return layouts;
}
KernelLayouts As(DataType dtype, KernelLayouts layouts) {
  layouts.multiply_dtype = dtype;
  return layouts;
}

KernelLayouts Packed(SpatialPack pack, const char* weight) {
  KernelLayouts layouts;
  layouts.spatial_pack = pack;
  layouts.weight = weight;
  return layouts;
}

constexpr const char* kConv =
    "conv2d(float32[2,6,7,5]NCHW,float32[8,6,3,2]OIHW,s2x1,p1x0x2x1,d1x2,g1)->float32";
constexpr const char* kConvInt8 =
    "conv2d(int8[1,6,5,6]NCHW,int8[10,6,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->int32";
constexpr const char* kDepthwise =
    "depthwise_conv2d(float32[1,6,6,5]NCHW,float32[6,1,3,3]OIHW,s1x2,p1x1x1x1,d1x1,g6)->float32";

INSTANTIATE_TEST_SUITE_P(
    Convolutions, AnchorTest,
    testing::Values(
        AnchorCase{"Plain", kConv},
        AnchorCase{"PlainEpilogue", kConv, "add(channel:float32);relu;add(tensor:float32);relu"},
        AnchorCase{"Silu", kConv, "add(channel:float32);sigmoid;mul(%1)",
                   Form("NCHW4c", "OIHW4i16o", "NCHW16c")},
        AnchorCase{"GeluAndResidual", kConv,
                   "div(1.5);erf;add(1);mul(%0);mul(0.5);add(tensor:float32);sub(%5,first)"},
        AnchorCase{"Unpadded",
                   "conv2d(float32[1,4,4,4]NCHW,float32[4,4,1,1]OIHW,s1x1,p0x0x0x0,d1x1,g1)->"
                   "float32"},
        AnchorCase{"Nhwc",
                   "conv2d(float32[1,5,6,3]NHWC,float32[3,3,3,4]HWIO,s1x1,p1x1x1x1,d1x1,g1)->"
                   "float32",
                   "mul(channel:float32);add(tensor:float32);sigmoid"},
        AnchorCase{"Blocked", kConv, "add(channel:float32)", Form("NCHW2c", "OIHW2i4o", "NCHW4c")},
        AnchorCase{"BlockedRounding", kConv, "add(channel:float32);add(tensor:float32)",
                   Form("NCHW4c", "OIHW4i16o", "NCHW16c")},
        AnchorCase{"BlocksDiffer", kConv, "", Form("NCHW3c", "OIHW2i4o", "NCHW8c")},
        AnchorCase{"DataNarrowerThanWeight", kConv, "relu", Form("NCHW", "OIHW4i8o", "NCHW8c")},
        AnchorCase{"BlockedToNhwc", kConv, "", Form("NHWC", "OIHW2i8o", "NHWC")},
        AnchorCase{"Half",
                   "conv2d(float16[1,4,5,5]NCHW,float16[4,4,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->"
                   "float32",
                   "add(channel:float16);relu;cast(float16)"},
        AnchorCase{"HalfOnTheWay", "dense(float16[3,40]MK,float16[8,40]NK)->float16",
                   "mul(64);cast(float32);add(0.25);cast(float16);relu"},
        AnchorCase{"HalfRounded", "dense(float16[3,40]MK,float16[8,40]NK)->float16",
                   "add(channel:float16);relu"},
        // One product each: there are no sums whose order affects the rounding.
        AnchorCase{"HalfAndBack", "dense(float16[3,1]MK,float16[8,1]NK)->float32",
                   "cast(float16);cast(float32)"},
        AnchorCase{"HalfThenWide", "dense(float16[3,1]MK,float16[8,1]NK)->float16",
                   "cast(float32)"},
        AnchorCase{"HalfAgain", "dense(float16[3,1]MK,float16[8,1]NK)->float16",
                   "add(channel:float16);tanh;mul(%1);cast(float32);add(0.25);max(%4)"},
        AnchorCase{"SaturatedToHalf", "dense(float32[3,1]MK,float32[8,1]NK)->float32",
                   "saturate_cast(float16);add(0.125);saturate_cast(float32)"},
        AnchorCase{"Int8", kConvInt8,
                   "add(channel:int32);relu;add(256);shift_right(9);"
                   "clip(-127,127);cast(int8)"},
        AnchorCase{"PackedTaps", kConv, "add(channel:float32);relu", Packed({4, 2, 4}, "OIHW4o")},
        AnchorCase{"PackedWindows", kConvInt8, "", Packed({5, 5, 3}, "OIHW5o")},
        AnchorCase{"Int8Vnni", kConvInt8, "add(channel:int32);relu;shift_right(7);cast(int8)",
                   Shifted(Form("NCHW4c", "OIHW1i16o4i", "NCHW16c"))},
        AnchorCase{"Int8VnniGroups", kConvInt8, "",
                   Shifted(Form("NCHW8c", "OIHW2i8o4i", "NCHW8c"))},
        AnchorCase{"Int8Again", kConvInt8, "add(channel:int32);relu;mul(-2);add(%1);min(%0)",
                   Shifted(Form("NCHW4c", "OIHW1i16o4i", "NCHW16c"))},
        AnchorCase{"Int8AsInt16", kConvInt8, "add(tensor:int8);saturate_cast(int8)",
                   As(kInt16, Form("NCHW2c", "OIHW1i8o2i", "NCHW8c"))},
        AnchorCase{"UInt8Vnni",
                   "conv2d(uint8[1,4,4,4]NCHW,int8[16,4,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->int32",
                   "add(channel:int32);cast(float32);mul(channel:float32);round_even;"
                   "saturate_cast(uint8)",
                   Form("NCHW4c", "OIHW1i16o4i", "NCHW16c")},
        AnchorCase{"OperandsLessTheirZeroPoints", kConvInt8,
                   "cast(float32);add(tensor:uint8,less:128);sub(channel:int8,less:-3,first);"
                   "saturate_cast(int8)",
                   Shifted(Form("NCHW4c", "OIHW1i16o4i", "NCHW16c"))},
        AnchorCase{"Int16Blocked",
                   "conv2d(int16[1,1,6,6,3]NCHW3c,int16[2,1,3,3,3,8]OIHW3i8o,s2x2,p0x0x0x0,d1x1,g1)"
                   "->int32",
                   "add(channel:int32);cast(int64);mul(channel:int64);add(channel:int64);"
                   "shift_right(channel:int64);cast(int32);clip(0,255);cast(uint8)"},
        AnchorCase{"FixedPoint", kConvInt8, "fixed_point_multiply(1466124156,-3);clip(-128,127)"},
        AnchorCase{"Packed",
                   "conv2d(int8[1,2,5,5,1,16]NCHW1n16c,int8[3,2,3,3,16,16]OIHW16o16i,s2x2,p1x1x1x1,"
                   "d1x1,g1)->int32",
                   "add(channel:int32);relu;cast(int8)"}),
    testing::PrintToStringParamName());

INSTANTIATE_TEST_SUITE_P(
    Groups, AnchorTest,
    testing::Values(
        AnchorCase{"Depthwise", kDepthwise, "add(channel:float32);clip(0,6)"},
        AnchorCase{"DepthwisePacked", kDepthwise, "relu", Packed({3, 0, 0}, "OIHW3o")},
        AnchorCase{"DepthwiseBlocked", kDepthwise, "add(channel:float32)",
                   Form("NCHW2c", "OIHW1i2o", "NCHW2c")},
        AnchorCase{"DepthwiseRounding", kDepthwise, "add(channel:float32)",
                   Form("NCHW4c", "OIHW1i4o", "NCHW4c")},
        AnchorCase{"DepthwiseBlocksDiffer", kDepthwise, "", Form("NCHW2c", "OIHW1i8o", "NCHW8c")},
        AnchorCase{"DepthwiseTapsInBlocks", kDepthwise, "add(channel:float32)",
                   Form("NCHW4c", "OIHW4o4w", "NCHW4c")},
        AnchorCase{"DepthwiseTapsBeyondTheData",
                   "depthwise_conv2d(float32[1,4,3,5]NCHW,float32[4,1,3,5]OIHW,s1x1,p0x0x0x0,d1x1,"
                   "g4)->float32",
                   "", Form("NCHW4c", "OIHW4o4w", "NCHW4c")},
        AnchorCase{"TapsAndChannelsInBlocks",
                   "conv2d(float32[1,3,4,6]NCHW,float32[4,3,3,3]OIHW,s1x2,p1x0x0x1,d1x1,g1)->"
                   "float32",
                   "", Form("NCHW2c", "OIHW2i4o2w", "NCHW4c")},
        AnchorCase{"DepthwiseNhwc",
                   "depthwise_conv2d(float32[1,5,5,4]NHWC,float32[3,3,1,4]HWIO,s1x1,p1x1x1x1,d2x2,"
                   "g4)->float32"},
        AnchorCase{
            "DepthwiseOwnBlocks",
            "depthwise_conv2d(int16[1,2,5,5,4]NCHW4c,int16[2,1,3,3,1,4]OIHW1i4o,s1x1,p0x0x0x0"
            ",d1x1,g8)->int32",
            "add(channel:int32)"},
        AnchorCase{"Multiplier",
                   "group_conv2d(float32[1,3,5,5]NCHW,float32[6,1,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g3)->"
                   "float32"},
        AnchorCase{
            "Groups",
            "group_conv2d(float32[1,8,5,5]NCHW,float32[12,4,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g2)->"
            "float32",
            "add(channel:float32)"},
        AnchorCase{
            "GroupsBlocked",
            "group_conv2d(float32[1,8,5,5]NCHW,float32[12,4,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g2)->"
            "float32",
            "", Form("NCHW2c", "OIHW2i3o", "NCHW3c")},
        AnchorCase{
            "GroupsStraddle",
            "group_conv2d(float32[1,8,5,5]NCHW,float32[12,4,3,3]OIHW,s1x1,p0x0x0x0,d1x1,g2)->"
            "float32",
            "", Form("NCHW8c", "OIHW4i4o", "NCHW4c")}),
    testing::PrintToStringParamName());

INSTANTIATE_TEST_SUITE_P(
    Transposed, AnchorTest,
    testing::Values(
        AnchorCase{
            "Plain",
            "conv2d_transpose(float32[1,3,4,5]NCHW,float32[3,4,3,3]IOHW,s2x2,p1x1x1x1,d1x1,g1,"
            "o1x0)->float32",
            "add(channel:float32);tanh"},
        AnchorCase{
            "Packed",
            "conv2d_transpose(float32[1,3,4,5]NCHW,float32[3,4,3,3]IOHW,s2x2,p1x1x1x1,d1x1,g1,"
            "o1x0)->float32",
            "tanh", Packed({2, 4, 3}, "IOHW2o")},
        AnchorCase{
            "Groups",
            "conv2d_transpose(float32[1,4,3,3]NCHW,float32[4,3,3,2]IOHW,s1x3,p0x1x0x0,d2x1,g2,"
            "o0x0)->float32"},
        AnchorCase{
            "PadsBeyondKernel",
            "conv2d_transpose(int8[1,2,6,6]NCHW,int8[2,2,2,2]IOHW,s2x2,p2x2x2x2,d1x1,g1,o0x0)"
            "->int32"},
        AnchorCase{
            "OneRow",
            "conv2d_transpose(float32[1,2,1,3]NCHW,float32[2,3,4,4]IOHW,s2x2,p1x1x1x1,d1x1,g1,"
            "o0x0)->float32"},
        AnchorCase{
            "Blocked",
            "conv2d_transpose(float32[1,4,3,3]NCHW,float32[4,8,3,3]IOHW,s2x2,p1x1x1x1,d1x1,g1,"
            "o0x0)->float32",
            "", Form("NCHW4c", "OIHW4i8o", "NCHW8c")}),
    testing::PrintToStringParamName());

constexpr const char* kDense = "dense(float32[3,10]MK,float32[9,10]NK)->float32";
constexpr const char* kDenseInt8 = "dense(int8[3,10]MK,int8[9,10]NK)->int32";
INSTANTIATE_TEST_SUITE_P(
    Products, AnchorTest,
    testing::Values(
        AnchorCase{"Dense", kDense, "add(channel:float32);relu"},
        AnchorCase{"DenseScalarFirst", kDense, "sub(1.5,first);max(0.25)"},
        AnchorCase{"DensePacked", kDense, "add(channel:float32);add(tensor:float32)",
                   Form("", "NK4n", "")},
        AnchorCase{"DenseBlockedOutput", kDense, "add(channel:float32)",
                   Form("", "NK16n", "MN16n")},
        AnchorCase{"DenseVnni", kDenseInt8, "add(channel:int32)", Shifted(Form("", "NK16n4k", ""))},
        AnchorCase{"DenseInt16", kDenseInt8, "", As(kInt16, Form("", "NK8n2k", ""))},
        AnchorCase{"DenseTransposed", "dense(float32[4,3]KM,float32[4,5]KN)->float32"},
        AnchorCase{"DenseAccelerator",
                   "dense(int8[1,2,1,16]MK1m16k,int8[3,2,16,16]NK16n16k)->int32",
                   "add(channel:int32)"},
        AnchorCase{"BatchMatmul", "batch_matmul(float32[2,3,5]BMK,float32[2,4,5]BNK)->float32",
                   "mul(0.125)"},
        AnchorCase{"BatchMatmulPacked",
                   "batch_matmul(float32[2,3,5]BMK,float32[2,4,5]BNK)->float32", "",
                   Form("", "BNK4n", "")}),
    testing::PrintToStringParamName());

TEST(DefineAnchorTest, BodyIsAProductOfCastLoads) {
  const Workload w = *Workload::Parse(kConvInt8);
  const Compute compute = *DefineAnchor(w, {}, Shifted(Form("NCHW4c", "OIHW1i16o4i", "NCHW16c")));
  ASSERT_EQ(compute.stages.size(), 3u);
  EXPECT_EQ(compute.stages[0].name, "pad");
  EXPECT_EQ(compute.stages[2].name, "output");
  const ComputeOp& reduce = compute.stages[1];
  EXPECT_EQ(reduce.name, "reduce");
  EXPECT_EQ(ToString(reduce.body), ToString(MakeCast(kInt32, reduce.body->args[0]->args[0])) +
                                       " * " +
                                       ToString(MakeCast(kInt32, reduce.body->args[1]->args[0])));
  std::vector<std::string> names;
  for (const Axis& axis : reduce.reduce_axes) names.push_back(axis.var->name);
  EXPECT_EQ(names, (std::vector<std::string>{"ic", "kh", "kw", "ici", "icii"}));
  EXPECT_EQ(reduce.reduce_axes.back().extent, 4);
}

TEST(DefineAnchorTest, BlockedLoadsHavePlainIndices) {
  const Workload w = *Workload::Parse(
      "conv2d(float32[1,32,8,8]NCHW,float32[64,32,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32");
  const Compute compute = *DefineAnchor(w, {}, Form("NCHW16c", "OIHW16i32o", "NCHW32c"));
  ASSERT_EQ(compute.stages.size(), 2u);
  EXPECT_EQ(ToString(compute.stages[1].body),
            "pad[0, ic, oh + kh, ow + kw, ici] * weight[oc, ic, kh, kw, ici, oci]");
}

struct RefusedCase {
  const char* name;
  const char* workload;
  KernelLayouts layouts;
  const char* message;
};
void PrintTo(const RefusedCase& c, std::ostream* os) { *os << c.name; }
class RefusedTest : public testing::TestWithParam<RefusedCase> {};

TEST_P(RefusedTest, SaysWhy) {
  const RefusedCase& c = GetParam();
  const auto compute = DefineAnchor(*Workload::Parse(c.workload), {}, c.layouts);
  ASSERT_FALSE(compute.ok());
  EXPECT_EQ(compute.status().code(), StatusCode::kUnsupported);
  EXPECT_EQ(compute.status().message(), c.message);
}

INSTANTIATE_TEST_SUITE_P(
    Forms, RefusedTest,
    testing::Values(
        RefusedCase{"OtherDimensions", kConv, Form("NCDW", "", ""),
                    "data layout NCDW, expected the dimensions NCHW with blocks of channels"},
        RefusedCase{"BlockedRows", kConv, Form("NCHW4h", "", ""),
                    "data layout NCHW4h, expected the dimensions NCHW with blocks of channels"},
        RefusedCase{
            "ShiftedFloats", kDense, Shifted({}),
            "shifted data of dense(float32[3,10]MK,float32[9,10]NK)->float32, expected int8 "
            "data and constant int8 weights"},
        RefusedCase{"NarrowMultiply", kConvInt8, As(kUInt8, {}),
                    "multiplying int8 x int8 as uint8, expected a type that holds both"},
        RefusedCase{"TransposedTapsInBlocks",
                    "conv2d_transpose(float32[1,3,4,5]NCHW,float32[3,4,3,3]IOHW,s2x2,p1x1x1x1,d1x1,"
                    "g1,o0x0)->float32",
                    Form("", "IOHW4w", ""),
                    "weight layout IOHW4w of a transposed convolution, expected single columns"},
        RefusedCase{"StraddlingGroups",
                    "group_conv2d(float32[1,8,5,5]NCHW,float32[12,4,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g2)"
                    "->float32",
                    Form("", "OIHW8i4o", "NCHW4c"),
                    "2 groups of 4 to 6 channels with weight layout OIHW8i4o and output layout "
                    "NCHW4c, expected blocks that divide them"}),
    testing::PrintToStringParamName());

// An earlier value must have the type that the step works on, and an integer cannot be a divisor.
TEST(AnchorRejects, EarlierValuesThatDoNotFit) {
  const auto problems = [](const char* key, const char* text) {
    const Workload w = *Workload::Parse(key);
    const Epilogue epilogue = *Epilogue::Parse(text);
    const Tensor data = RandomTensor(w.data, 1), weight = RandomTensor(w.weight, 2);
    const auto compute = DefineAnchor(w, epilogue);
    const auto reference = EvaluateAnchor(w, epilogue, data, weight, {});
    EXPECT_EQ(compute.status().message(), reference.status().message());
    return compute.status().message();
  };
  EXPECT_EQ(problems(kConvInt8, "cast(float32);sigmoid;mul(%0)"),
            "epilogue: %0 is int32, expected float32 like the value before mul");
  EXPECT_EQ(problems(kConvInt8, "relu;div(%0)"), "epilogue: div of int32 by %0, expected a float");
  EXPECT_EQ(problems(kConv, "exp;div(%0)"), "");
}

}  // namespace
}  // namespace tilewright
