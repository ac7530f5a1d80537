// Convolutions as one matrix product, run by an interpreter, compared with the reference evaluator.
#include "src/tensor/compute/implicit_gemm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/tensor/layout.h"
#include "src/tensor/reference/reference.h"
#include "tests/support/interpreter.h"

namespace tilewright {
namespace {

struct GemmCase {
  const char* name;
  const char* workload;
  const char* epilogue;
  std::int64_t channel_block, row_tile;
  std::size_t stages;
};
void PrintTo(const GemmCase& c, std::ostream* os) { *os << c.name; }

class ImplicitGemmTest : public testing::TestWithParam<GemmCase> {};

/// Returns the tensor in another layout, in the shape of a buffer with the same elements.
Tensor Converted(const Tensor& tensor, const std::string& from, const std::string& to,
                 const Buffer& buffer) {
  Tensor moved = *TransformLayout(tensor, from, to);
  moved.Reshape(buffer->shape);
  return moved;
}

TEST_P(ImplicitGemmTest, EqualsTheReference) {
  const GemmCase& c = GetParam();
  const Workload w = *Workload::Parse(c.workload);
  const Epilogue epilogue = *Epilogue::Parse(c.epilogue);
  auto gemm = ImplicitGemmOf(w, c.channel_block);
  ASSERT_TRUE(gemm.ok()) << gemm.status().message();
  auto compute = DefineImplicitGemm(w, epilogue, *gemm, c.row_tile);
  ASSERT_TRUE(compute.ok()) << compute.status().message();
  EXPECT_EQ(compute->stages.size(), c.stages);
  EXPECT_EQ(compute->macs, w.macs());

  const Tensor data = RandomTensor(w.data, 1), weight = RandomTensor(w.weight, 2);
  std::vector<Tensor> inputs, operands;
  inputs.push_back(Converted(data, w.data_layout, gemm->layouts.data, compute->inputs[0]));
  inputs.push_back(Converted(weight, w.kernel_layout, gemm->layouts.weight, compute->inputs[1]));
  for (const EpilogueStep& step : epilogue.steps) {
    const std::uint64_t seed = 10 + operands.size();
    const std::vector<std::int64_t> channels = {gemm->columns};
    if (step.operand == OperandKind::kChannel) {
      operands.push_back(RandomTensor({channels, step.operand_dtype}, seed));
      inputs.push_back(operands.back().Clone());
    } else if (step.operand == OperandKind::kTensor) {
      operands.push_back(RandomTensor({w.OutputType()->shape, step.operand_dtype}, seed));
      inputs.push_back(Converted(operands.back(), *w.OutputLayout(), gemm->layouts.output,
                                 compute->inputs[inputs.size()]));
    }
  }
  std::vector<const Tensor*> input_pointers, operand_pointers;
  for (const Tensor& input : inputs) input_pointers.push_back(&input);
  for (const Tensor& operand : operands) operand_pointers.push_back(&operand);
  const auto expected = EvaluateAnchor(w, epilogue, data, weight, operand_pointers);
  ASSERT_TRUE(expected.ok()) << expected.status().message();
  const Tensor native = *TransformLayout(*expected, *w.OutputLayout(), gemm->layouts.output);
  Tensor result = Interpret(*compute, input_pointers);
  result.Reshape(native.shape());
  const Comparison comparison = Compare(result, native);
  EXPECT_TRUE(comparison.ok) << "element " << comparison.first_bad;
}

INSTANTIATE_TEST_SUITE_P(
    Convolutions, ImplicitGemmTest,
    testing::Values(
        GemmCase{"Padded",
                 "conv2d(int8[2,4,5,6]NCHW,int8[3,4,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->int32",
                 "add(channel:int32);add(tensor:int32);shift_right(4);cast(int8)", 4, 16, 3},
        GemmCase{"SidesAndStridesDiffer",
                 "conv2d(int8[1,5,7,9]NCHW,int8[2,5,3,2]OIHW,s2x1,p0x2x1x0,d1x3,g1)->int32", "", 4,
                 16, 3},
        GemmCase{"WholeBlocks",
                 "conv2d(float16[1,4,4,4]NCHW,float16[8,4,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32",
                 "", 4, 16, 2},
        GemmCase{"ThePixelsThemselves",
                 "conv2d(float32[2,3,4,4]NCHW,float32[8,3,1,1]OIHW,s1x1,p0x0x0x0,d1x1,g1)->float32",
                 "", 8, 16, 1},
        GemmCase{"ThePixelsAndMore",
                 "conv2d(float32[1,3,4,3]NCHW,float32[8,3,1,1]OIHW,s1x1,p0x0x0x0,d1x1,g1)->float32",
                 "relu", 1, 16, 3},
        GemmCase{"RoundedOnce",
                 "conv2d(float16[1,4,4,8]NHWC,float16[1,1,8,8]HWIO,s1x1,p0x0x0x0,d1x1,g1)->float16",
                 "", 8, 16, 2},
        GemmCase{"EveryOtherPixel",
                 "conv2d(int8[1,4,5,5]NCHW,int8[8,4,1,1]OIHW,s2x2,p0x0x0x0,d1x1,g1)->int32", "", 4,
                 3, 2}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST(ImplicitGemmFormTest, ChannelsAreRoundedUpInMemory) {
  const Workload w = *Workload::Parse(
      "conv2d(int8[2,20,5,5]NCHW,int8[8,20,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->int32");
  const ImplicitGemm exact = *ImplicitGemmOf(w, 4), rounded = *ImplicitGemmOf(w, 16);
  EXPECT_EQ(exact.layouts.data, "NHWC");
  EXPECT_EQ(exact.layouts.weight, "OHWI");
  EXPECT_EQ(rounded.layouts.data, "NHWC16c");
  EXPECT_EQ(rounded.layouts.weight, "OHWI16i");
  EXPECT_EQ(rounded.layouts.output, "NHWC");
  EXPECT_EQ(rounded.channels, 32);
  EXPECT_EQ(rounded.rows, 50);
}

TEST(ImplicitGemmFormTest, OnlyConvolutionsOfOneGroup) {
  for (const char* key :
       {"dense(int8[4,8]MK,int8[8,8]NK)->int32",
        "group_conv2d(int8[1,4,5,5]NCHW,int8[4,2,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g2)->int32",
        "conv2d_transpose(int8[1,4,5,5]NCHW,int8[4,4,3,3]IOHW,s1x1,p1x1x1x1,d1x1,g1,o0x0)->"
        "int32"}) {
    EXPECT_FALSE(ImplicitGemmOf(*Workload::Parse(key), 4).ok()) << key;
  }
}

}  // namespace
}  // namespace tilewright
