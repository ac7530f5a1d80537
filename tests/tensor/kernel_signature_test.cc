#include "src/tensor/compute/kernel_signature.h"

#include <gtest/gtest.h>

#include "tests/support/interpreter.h"

namespace tilewright {
namespace {

constexpr const char* kSignedConv =
    "conv2d(int8[1,6,5,6]NCHW,int8[10,6,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->int32";
constexpr const char* kEpilogue =
    "add(channel:int32);cast(float32);div(channel:float32);sigmoid;mul(%2);add(tensor:float32)";

KernelLayouts ShiftedWorkload() {
  KernelLayouts layouts;
  layouts.data = "NCHW4c";
  layouts.weight = "OIHW1i16o4i";
  layouts.output = "NCHW16c";
  layouts.shift_data = true;
  return layouts;
}

KernelSignature Signature(const Workload& workload, const Epilogue& epilogue,
                          const KernelLayouts& layouts) {
  const auto compute = DefineAnchor(workload, epilogue, layouts);
  EXPECT_TRUE(compute.ok()) << compute.status().message();
  std::vector<Buffer> parameters = compute->inputs;
  parameters.push_back(compute->stages.back().output);
  auto signature = SignatureOf(workload, epilogue, layouts, parameters);
  EXPECT_TRUE(signature.ok()) << signature.status().message();
  return *signature;
}

TEST(KernelSignature, SaysWhatEachParameterIs) {
  using enum ParameterRole;
  const KernelSignature signature =
      Signature(*Workload::Parse(kSignedConv), *Epilogue::Parse(kEpilogue), ShiftedWorkload());
  const std::vector<KernelParameter> expected = {
      {kData, {{1, 2, 5, 6, 4}, kInt8}, "NCHW4c"},
      {kWeight, {{1, 2, 3, 3, 1, 16, 4}, kInt8}, "OIHW1i16o4i"},
      {kCompensation, {{16}, kInt32}, ""},
      {kChannel, {{16}, kInt32}, "", 0},
      {kChannel, {{16}, kFloat32}, "", 1, 1},
      {kTensor, {{1, 1, 5, 6, 16}, kFloat32}, "NCHW16c", 2},
      {kResult, {{1, 1, 5, 6, 16}, kFloat32}, "NCHW16c"}};
  EXPECT_EQ(signature.parameters, expected);
  EXPECT_EQ(signature.inputs().size(), 6U);
  EXPECT_EQ(signature.result().role, kResult);
  EXPECT_EQ(signature.bytes(), 240 + 1152 + 64 + 64 + 64 + 1920 + 1920);
}

TEST(KernelSignature, TakesNoOtherThanNarrowWeightsWhereTheWorkloadSaysSo) {
  const Workload workload = *Workload::Parse("dense(uint8[2,4]MK,int8[3,4]NK,w64)->int32");
  Tensor weight(workload.weight);
  weight.Set(5, 64);
  weight.Set(7, -64);
  EXPECT_TRUE(PackWeight(workload, {}, weight).ok());
  for (const double wide : {65, -65, 127, -128}) {
    weight.Set(7, wide);
    const auto packed = PackWeight(workload, {}, weight);
    ASSERT_FALSE(packed.ok()) << wide;
    EXPECT_EQ(packed.status().message(), "weight 7 is " + std::to_string(static_cast<int>(wide)) +
                                             ", the workload says within 64");
  }
}

TEST(KernelSignature, OwnLayoutsWhereTheFormHasNone) {
  const KernelSignature signature =
      Signature(*Workload::Parse("dense(float32[2,8]MK,float32[4,8]NK)->float32"), Epilogue(), {});
  ASSERT_EQ(signature.parameters.size(), 3U);
  EXPECT_EQ(signature.parameters[0].layout, "MK");
  EXPECT_EQ(signature.parameters[1].layout, "NK");
  EXPECT_EQ(signature.result().layout, "MN");
}

TEST(KernelSignature, RefusesAnotherNumberOfParameters) {
  const Workload dense = *Workload::Parse("dense(float32[2,8]MK,float32[4,8]NK)->float32");
  const std::vector<TensorType> two = {dense.data, dense.weight};
  EXPECT_EQ(SignatureOf(dense, Epilogue(), {}, two).status().message(),
            "kernel has 2 parameters, expected 3");
  EXPECT_EQ(SignatureOf(dense, *Epilogue::Parse("relu;add(%0);add(tensor:float32)"), {}, two)
                .status()
                .message(),
            "kernel has 2 parameters, expected 4");
}

TEST(ParameterTensor, ContinuesChannelsByWhatDoesNoHarm) {
  const Workload conv = *Workload::Parse(kSignedConv);
  const KernelSignature signature = Signature(conv, *Epilogue::Parse(kEpilogue), ShiftedWorkload());
  const Tensor bias = RandomTensor({{10}, kInt32}, 1), divisor = RandomTensor({{10}, kFloat32}, 2);
  const auto added = ParameterTensor(conv, signature, 3, bias);
  const auto divided = ParameterTensor(conv, signature, 4, divisor);
  ASSERT_TRUE(added.ok() && divided.ok());
  EXPECT_EQ(added->At(9), bias.At(9));
  EXPECT_EQ(added->At(10), 0);
  EXPECT_EQ(divided->At(9), divisor.At(9));
  EXPECT_EQ(divided->At(15), 1);
}

TEST(ParameterTensor, RefusesWhatDoesNotFit) {
  const Workload conv = *Workload::Parse(kSignedConv);
  const KernelSignature signature = Signature(conv, *Epilogue::Parse(kEpilogue), ShiftedWorkload());
  const Tensor many = RandomTensor({{17}, kInt32}, 1), real = RandomTensor({{10}, kFloat32}, 2);
  EXPECT_EQ(ParameterTensor(conv, signature, 3, many).status().message(),
            "int32[17] has more elements than int32[16]");
  EXPECT_EQ(ParameterTensor(conv, signature, 3, real).status().message(),
            "parameter 3 is int32[16], the workload gives float32[16]");
}

}  // namespace
}  // namespace tilewright
