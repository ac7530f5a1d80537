#include "src/tensor/compute/winograd.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "src/base/random.h"
#include "src/tensor/compute/winograd_integer.h"

namespace tilewright {
namespace {

using testing::HasSubstr;

std::vector<double> Product(const WinogradMatrices::Matrix& matrix,
                            const std::vector<double>& vector) {
  std::vector<double> product;
  for (const std::vector<double>& row : matrix) {
    double sum = 0;
    for (std::size_t i = 0; i < row.size(); ++i) sum += row[i] * vector[i];
    product.push_back(sum);
  }
  return product;
}

TEST(WinogradTest, MatricesGiveTheSumsOfAWindow) {
  Random random(3);
  for (const auto& [m, r] : {std::pair{2, 3}, {4, 3}, {6, 3}, {2, 5}, {4, 5}, {2, 7}, {1, 2}}) {
    const WinogradMatrices matrices = MakeWinogradMatrices(m, r);
    std::vector<double> data, weight;
    for (int i = 0; i < m + r - 1; ++i) data.push_back(random.Uniform());
    for (int i = 0; i < r; ++i) weight.push_back(random.Uniform());
    std::vector<double> products = Product(matrices.data, data);
    const std::vector<double> factors = Product(matrices.weight, weight);
    for (std::size_t i = 0; i < products.size(); ++i) products[i] *= factors[i];
    const std::vector<double> sums = Product(matrices.output, products);
    for (int i = 0; i < m; ++i) {
      double expected = 0;
      for (int k = 0; k < r; ++k) {
        expected += data[static_cast<std::size_t>(i + k)] * weight[static_cast<std::size_t>(k)];
      }
      EXPECT_NEAR(sums[static_cast<std::size_t>(i)], expected, 1e-12) << m << ", " << r;
    }
  }
}

TEST(WinogradTest, WholeNumbersGiveTheSumsExactly) {
  Random random(4);
  for (const std::int64_t m : {2, 4}) {
    const IntegerWinograd whole = MakeIntegerWinograd(m, 3);
    std::vector<double> data, weight;
    for (std::int64_t i = 0; i < m + 2; ++i) data.push_back(std::floor(random.Uniform() * 256));
    for (int i = 0; i < 3; ++i) weight.push_back(std::floor(random.Uniform() * 256) - 128);
    std::vector<double> products = Product(whole.matrices.data, data);
    const std::vector<double> factors = Product(whole.matrices.weight, weight);
    for (std::size_t i = 0; i < products.size(); ++i) products[i] *= factors[i];
    const std::vector<double> sums = Product(whole.matrices.output, products);
    for (std::size_t i = 0; i < sums.size(); ++i) {
      double expected = 0;
      for (std::size_t k = 0; k < 3; ++k) expected += data[i + k] * weight[k];
      EXPECT_EQ(sums[i], expected * static_cast<double>(whole.scale)) << m;
    }
    const auto divided = static_cast<std::uint32_t>(whole.scale * whole.scale / 4);
    EXPECT_EQ(divided % 2, 1U);
    EXPECT_EQ(divided * static_cast<std::uint32_t>(whole.inverse()), 1U);
  }
}

TEST(WinogradTest, WholeNumbersStayWithinSixteenBits) {
  // For data from 0 to 255, the largest and the smallest sums have 255 where the signs are equal.
  const auto reach = [](const std::vector<double>& a, const std::vector<double>& b) {
    double above = 0, below = 0;
    for (const double x : a) {
      for (const double y : b) (x * y > 0 ? above : below) += std::abs(x * y);
    }
    return std::pair(above, below);
  };
  for (const std::int64_t m : {2, 4}) {
    const WinogradMatrices matrices = MakeIntegerWinograd(m, 3).matrices;
    for (std::size_t e = 0; e < matrices.data.size(); ++e) {
      for (std::size_t f = 0; f < matrices.data.size(); ++f) {
        const auto [above, below] = reach(matrices.data[e], matrices.data[f]);
        EXPECT_LE(above * 255, 32767) << m;
        EXPECT_LE(below * 255, 32767) << m;
        EXPECT_LE((above + below) * 128, 32767) << m;  // int8
        const auto [up, down] = reach(matrices.weight[e], matrices.weight[f]);
        EXPECT_LE((up + down) * 128, 32767) << m;
      }
    }
  }
}

TEST(WinogradTest, WholeWeightsArePairsOfChannels) {
  Random random(6);
  Tensor weight(TensorType{{19, 6, 3, 3}, kInt8}), real(TensorType{{19, 6, 3, 3}, kFloat32});
  for (std::int64_t i = 0; i < weight.elements(); ++i) {
    weight.Set(i, i % 7 == 0 ? -128 : std::floor(random.Uniform() * 256) - 128);
    real.Set(i, weight.At(i));
  }
  const Tensor packed = WinogradWeight(weight, {2, 8, true}), plain = WinogradWeight(real, {2, 0});
  ASSERT_EQ(packed.shape(), (std::vector<std::int64_t>{3, 4, 4, 3, 8, 2}));
  ASSERT_EQ(packed.dtype(), kInt16);
  // Real matrices differ in the signs of rows, equally for data and weights.
  for (std::int64_t position = 0; position < 16; ++position) {
    for (std::int64_t k = 0; k < 24; ++k) {
      for (std::int64_t c = 0; c < 6; ++c) {
        const double value =
            packed.At((((k / 8 * 16 + position) * 3 + c / 2) * 8 + k % 8) * 2 + c % 2);
        const double expected = k < 19 ? 4 * plain.At((position * 6 + c) * 19 + k) : 0;
        EXPECT_EQ(std::abs(value), std::abs(expected));
      }
    }
  }
}

TEST(WinogradTest, WholeNumbersEndWhereTheSumDoes) {
  const auto check = [](const char* data, int channels, int tile, const char* strides = "1x1",
                        const char* layout = "NCHW8c") {
    KernelLayouts layouts;
    layouts.data = layouts.output = layout;
    layouts.weight = "OIHW8i8o";
    layouts.multiply_dtype = kInt16;
    layouts.winograd_tile = tile;
    const std::string c = std::to_string(channels);
    return CheckWinograd(
               *Workload::Parse("conv2d(" + std::string(data) + "[1," + c + ",8,8]NCHW,int8[8," +
                                c + ",3,3]OIHW,s" + strides + ",p1x1x1x1,d1x1,g1)->int32"),
               layouts)
        .message();
  };
  EXPECT_EQ(check("uint8", 1824, 4), "");
  EXPECT_EQ(check("uint8", 1824, 2), "");
  EXPECT_THAT(check("uint8", 1832, 4),
              HasSubstr("1832 input channels, whose sums are exact up to"));
  EXPECT_EQ(check("int8", 3640, 4), "");
  EXPECT_THAT(check("int8", 3648, 4), HasSubstr("exact up to 3640"));
  EXPECT_THAT(check("uint8", 64, 6), HasSubstr("only tiles of 2 x 2 and 4 x 4"));
  EXPECT_THAT(check("uint8", 63, 4), HasSubstr("even number"));
  EXPECT_THAT(check("uint8", 64, 4, "2x2"), HasSubstr("no strides"));
  EXPECT_THAT(check("uint8", 6, 4, "1x1", "NCHW3c"), HasSubstr("only blocks of pairs"));
}

TEST(WinogradTest, WeightsAreTransformedInBothDirections) {
  Tensor weight(TensorType{{2, 1, 3, 3}, kFloat32});
  weight.Set(4, 1);      // the middle of the first kernel
  weight.Set(9 + 2, 8);  // the end of the first row of the second
  const Tensor transformed = WinogradWeight(weight, {2, 0});
  EXPECT_EQ(transformed.shape(), (std::vector<std::int64_t>{4, 4, 1, 2}));
  const WinogradMatrices::Matrix matrix = MakeWinogradMatrices(2, 3).weight;
  for (std::size_t e = 0; e < 4; ++e) {
    for (std::size_t f = 0; f < 4; ++f) {
      const auto place = static_cast<std::int64_t>((e * 4 + f) * 2);
      EXPECT_FLOAT_EQ(static_cast<float>(transformed.At(place)),
                      static_cast<float>(matrix[e][1] * matrix[f][1]));
      EXPECT_FLOAT_EQ(static_cast<float>(transformed.At(place + 1)),
                      static_cast<float>(8 * matrix[e][0] * matrix[f][2]));
    }
  }
}

TEST(WinogradTest, WeightsInBlocksAreTheSameNumbers) {
  Random random(5);
  Tensor weight(TensorType{{19, 12, 3, 3}, kFloat32});
  for (std::int64_t i = 0; i < weight.elements(); ++i) weight.Set(i, random.Uniform());
  const Tensor plain = WinogradWeight(weight, {4, 0}), blocked = WinogradWeight(weight, {4, 8});
  ASSERT_EQ(blocked.shape(), (std::vector<std::int64_t>{3, 6, 6, 12, 8}));
  for (std::int64_t position = 0; position < 36; ++position) {
    for (std::int64_t k = 0; k < 24; ++k) {
      for (std::int64_t c = 0; c < 12; ++c) {
        const double in_block = blocked.At(((k / 8 * 36 + position) * 12 + c) * 8 + k % 8);
        EXPECT_EQ(in_block, k < 19 ? plain.At((position * 12 + c) * 19 + k) : 0);
      }
    }
  }
}

TEST(WinogradTest, RefusesWhatTheTransformsCannotDo) {
  KernelLayouts layouts;
  layouts.winograd_tile = 4;
  const auto check = [&](const char* key) {
    return CheckWinograd(*Workload::Parse(key), layouts).message();
  };
  EXPECT_EQ(check("conv2d(float32[1,4,8,8]NCHW,float32[4,4,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->"
                  "float32"),
            "");
  for (const char* key :
       {"conv2d(float32[1,4,8,8]NCHW,float32[4,4,3,3]OIHW,s2x2,p1x1x1x1,d1x1,g1)->float32",
        "conv2d(float32[1,4,8,8]NCHW,float32[4,4,3,1]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32",
        "conv2d(float32[1,4,9,9]NCHW,float32[4,4,6,6]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32",
        "conv2d(int8[1,4,8,8]NCHW,int8[4,4,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->int32",
        "group_conv2d(float32[1,4,8,8]NCHW,float32[4,2,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g2)->float32",
        "dense(float32[1,64]MK,float32[40,64]NK)->float32"}) {
    EXPECT_THAT(check(key), testing::AnyOf(HasSubstr("Winograd tiles of 4"), HasSubstr("conv")))
        << key;
  }
}

}  // namespace
}  // namespace tilewright
