// Winograd convolution of 8-bit integers is exact at the limits of the types: the largest results,
// intermediate sums that wrap around, and the maximum number of channels.

#include <gtest/gtest.h>

#include "src/base/random.h"
#include "src/target/cpu.h"
#include "src/tensor/compute/winograd_integer.h"
#include "src/tensor/reference/reference.h"
#include "tests/support/built_in.h"
#include "tests/templates/kernel_runner.h"

namespace tilewright {
namespace {

const TemplateEntry& WinogradInt8() { return *BuiltInTemplates().Find("conv2d_winograd_int8.cpu"); }

std::vector<std::string> IntegerTargets() {
  std::vector<std::string> targets = {"native"};
  const CpuFeatures features = *FeaturesOf(*Target::Parse("native"));
  if (features.avx2) targets.emplace_back("llvm -mcpu=core-avx2");
  if (features.avx512) targets.emplace_back("llvm -mcpu=skylake-avx512 -num-threads=2");
  return targets;
}

enum class Values { kLargest, kMin, kOpposite, kRandomEnds };

/// Fills a tensor with the smallest or the largest values of its type.
void FillBytes(Tensor& tensor, Values values, bool weight) {
  const double least = tensor.dtype() == kUInt8 ? 0 : -128;
  const double largest = tensor.dtype() == kUInt8 ? 255 : 127;
  Random random(9);
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    bool low = values == Values::kMin || (values == Values::kOpposite && weight);
    if (values == Values::kRandomEnds) low = random.Uniform() < 0.5;
    // Data of 0 gives no large results.
    if (tensor.dtype() == kUInt8 && values != Values::kRandomEnds) low = false;
    tensor.Set(i, low ? least : largest);
  }
}

void CheckEnds(const std::string& type, std::int64_t channels, Values values,
               const std::string& target_text) {
  const std::string c = std::to_string(channels);
  const Workload workload = *Workload::Parse("conv2d(" + type + "[1," + c + ",5,7]NCHW,int8[16," +
                                             c + ",3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->int32");
  const Target target = *Target::Parse(target_text);
  SCOPED_TRACE(workload.Key() + " on " + target_text);
  ASSERT_EQ(WinogradInt8().refuses(workload, target), "");
  AnchorData data = MakeAnchorData(workload, {}, 3);
  FillBytes(data.data, values, false);
  FillBytes(data.weight, values, true);
  const auto expected = EvaluateAnchor(workload, {}, data.data, data.weight, {});
  ASSERT_TRUE(expected.ok()) << expected.status().message();
  const auto space = WinogradInt8().define_space(workload, target);
  ASSERT_TRUE(space.ok()) << space.status().message();
  for (const std::int64_t index : {std::int64_t{0}, std::int64_t{1}}) {  // tiles of 4 x 4, of 2 x 2
    const auto kernel = WinogradInt8().apply(workload, {}, target, space->At(index));
    ASSERT_TRUE(kernel.ok()) << kernel.status().message();
    const auto result = RunKernel(workload, {}, target, *kernel, data);
    ASSERT_TRUE(result.ok()) << result.status().message();
    const Comparison comparison = Compare(*result, *expected);
    EXPECT_TRUE(comparison.ok) << "element " << comparison.first_bad << ", config " << index;
  }
}

TEST(WinogradInt8Test, IsExactAtTheEndsOfBytes) {
  for (const std::string& target : IntegerTargets()) {
    for (const char* type : {"uint8", "int8"}) {
      CheckEnds(type, 16, Values::kRandomEnds, target);
      CheckEnds(type, 32, Values::kOpposite, target);
    }
  }
}

TEST(WinogradInt8Test, IsExactUpToTheMostChannels) {
  const std::int64_t most = MaxIntegerWinogradChannels(kUInt8) / 16 * 16;
  ASSERT_EQ(most, 1824);
  for (const Values values : {Values::kLargest, Values::kOpposite}) {
    CheckEnds("uint8", most, values, "native");
  }
  CheckEnds("int8", MaxIntegerWinogradChannels(kInt8) / 16 * 16, Values::kMin, "native");
}

TEST(WinogradInt8Test, RefusesWhatIsNotExactOrNotItsOwn) {
  const auto refuses = [](const char* key) {
    return WinogradInt8().refuses(*Workload::Parse(key), *Target::Parse("llvm -mcpu=haswell"));
  };
  EXPECT_EQ(refuses("conv2d(uint8[1,1840,8,8]NCHW,int8[16,1840,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->"
                    "int32"),
            "1840 input channels, whose sums are exact up to 1827");
  EXPECT_EQ(refuses("conv2d(uint8[1,64,8,8]NCHW,int8[16,64,5,5]OIHW,s1x1,p2x2x2x2,d1x1,g1)->int32"),
            "only kernels of 3 x 3");
  EXPECT_EQ(refuses("conv2d(uint8[1,64,8,8]NCHW,int8[16,64,3,3]OIHW,s2x2,p1x1x1x1,d1x1,g1)->int32"),
            "only without strides and dilation");
  EXPECT_EQ(refuses("conv2d(float32[1,64,8,8]NCHW,float32[16,64,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->"
                    "float32"),
            "only 8-bit data and int8 weights summed in int32");
}

TEST(WinogradInt8Test, GoesFirstWhereItTakesFewerCycles) {
  const auto first = [](const char* key, const char* target) {
    return BuiltInTemplates().For(*Workload::Parse(key), *Target::Parse(target)).front()->key;
  };
  const char* many =
      "conv2d(uint8[1,64,56,56]NCHW,int8[64,64,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->int32";
  EXPECT_EQ(first(many, "llvm -mcpu=haswell"), "conv2d_winograd_int8.cpu");
  EXPECT_EQ(first(many, "llvm -mcpu=cascadelake"), "conv2d_winograd_int8.cpu");
  const char* few =
      "conv2d(uint8[1,512,7,7]NCHW,int8[512,512,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->int32";
  EXPECT_EQ(first(few, "llvm -mcpu=cascadelake"), "conv2d_direct_int8.cpu")
      << "weights that are read for four tiles only";
}

}  // namespace
}  // namespace tilewright
