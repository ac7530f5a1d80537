#include "src/tensor/tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "src/tensor/half.h"

namespace tilewright {
namespace {

TEST(TensorTest, StartsAtZeroAndAligned) {
  const Tensor tensor(TensorType{{3, 5}, kInt16});
  EXPECT_EQ(tensor.elements(), 15);
  EXPECT_EQ(tensor.bytes(), 30);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.data()) % 64, 0u);
  for (std::int64_t i = 0; i < 15; ++i) EXPECT_EQ(tensor.At(i), 0);
}

TEST(TensorTest, TypeHasText) {
  EXPECT_EQ((TensorType{{1, 3, 224, 224}, kFloat32}).ToString(), "float32[1,3,224,224]");
  EXPECT_EQ((TensorType{{}, kBool}).ToString(), "bool[]");
}

struct StoreCase {
  DataType dtype;
  double stored, read;
};
class StoreTest : public testing::TestWithParam<StoreCase> {};

TEST_P(StoreTest, RoundsAndSaturates) {
  Tensor tensor(TensorType{{2}, GetParam().dtype});
  tensor.Set(1, GetParam().stored);
  EXPECT_EQ(tensor.At(1), GetParam().read);
  EXPECT_EQ(tensor.At(0), 0);
}

INSTANTIATE_TEST_SUITE_P(
    Values, StoreTest,
    testing::Values(StoreCase{kInt8, 200, 127}, StoreCase{kInt8, -200, -128},
                    StoreCase{kInt8, 2.5, 2}, StoreCase{kUInt8, -1, 0}, StoreCase{kUInt8, 300, 255},
                    StoreCase{kInt16, -32769, -32768}, StoreCase{kUInt16, 65536, 65535},
                    StoreCase{kInt32, 1e10, 2147483647},
                    StoreCase{kUInt32, 4294967295.0, 4294967295.0},
                    StoreCase{kInt64, 1e30, 9223372036854775807.0}, StoreCase{kInt64, -5, -5},
                    StoreCase{kBool, 3, 1}, StoreCase{kFloat32, 0.1, 0.1f},
                    StoreCase{kFloat64, 0.1, 0.1}, StoreCase{kFloat16, 0.5, 0.5},
                    StoreCase{kInt32, std::numeric_limits<double>::quiet_NaN(), 0}));

TEST(TensorTest, CloneIsIndependent) {
  Tensor tensor(TensorType{{2}, kFloat32});
  tensor.Set(0, 1);
  Tensor copy = tensor.Clone();
  copy.Set(0, 2);
  EXPECT_EQ(tensor.At(0), 1);
  copy.Reshape({2, 1});
  EXPECT_EQ(copy.shape(), (std::vector<std::int64_t>{2, 1}));
  EXPECT_EQ(Tensor().Clone().elements(), 1);
}

TEST(HalfTest, EveryNumberSurvives) {
  for (int bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = HalfToFloat(half);
    if (std::isnan(value)) continue;
    EXPECT_EQ(FloatToHalf(value), half) << bits;
  }
}

TEST(HalfTest, RoundsToNearestEven) {
  EXPECT_EQ(HalfToFloat(FloatToHalf(2049)), 2048);
  EXPECT_EQ(HalfToFloat(FloatToHalf(2051)), 2052);
  EXPECT_EQ(HalfToFloat(FloatToHalf(65519)), 65504);
  EXPECT_TRUE(std::isinf(HalfToFloat(FloatToHalf(65520))));
  EXPECT_EQ(HalfToFloat(FloatToHalf(0x1p-25f)), 0);
  EXPECT_EQ(HalfToFloat(FloatToHalf(0x1.8p-25f)), 0x1p-24f);
  EXPECT_TRUE(std::isnan(HalfToFloat(FloatToHalf(NAN))));
}

}  // namespace
}  // namespace tilewright
