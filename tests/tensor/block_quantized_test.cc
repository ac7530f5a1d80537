#include "src/tensor/block_quantized.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "src/tensor/reference/expression.h"
#include "src/tensor/workload.h"

namespace tilewright {
namespace {

using testing::HasSubstr;

BlockQuantizedMatmul Small(int bits, BlockZeroPoints zeros, bool integer_data) {
  return {.m = 3,
          .n = 21,
          .k = 64,
          .bits = bits,
          .block = 16,
          .zero_points = zeros,
          .integer_data = integer_data};
}

std::vector<BlockQuantizedMatmul> AllForms() {
  std::vector<BlockQuantizedMatmul> forms;
  for (const int bits : {2, 4, 8}) {
    for (const auto zeros :
         {BlockZeroPoints::kMiddle, BlockZeroPoints::kIntegers, BlockZeroPoints::kFloats}) {
      forms.push_back(Small(bits, zeros, false));
      forms.push_back(Small(bits, zeros, true));
    }
  }
  return forms;
}

TEST(BlockQuantizedTest, EveryFormIsFoundInItsWorkload) {
  for (const BlockQuantizedMatmul& form : AllForms()) {
    const auto expression = ExpressionOf(form);
    ASSERT_TRUE(expression.ok()) << expression.status().message();
    std::vector<int> order;
    const Workload workload = Workload::FromExpression(*expression, &order);
    const auto found = FindBlockQuantized(workload.expression);
    ASSERT_TRUE(found) << workload.Key();
    EXPECT_EQ(found->matmul, form) << workload.Key();
    for (std::size_t i = 0; i < order.size(); ++i) {
      EXPECT_EQ(static_cast<int>(found->inputs[i]), order[i]) << workload.Key();
    }
    const auto parsed = Workload::Parse(workload.Key());
    ASSERT_TRUE(parsed.ok()) << parsed.status().message();
    EXPECT_TRUE(FindBlockQuantized(parsed->expression));
  }
}

// Where parts of a byte, bytes and lanes of a block are as many, hashes decide their order.
TEST(BlockQuantizedTest, KeysAreReadBackAtAllSizes) {
  for (BlockQuantizedMatmul form : AllForms()) {
    for (const std::int64_t block : {16, 32, 64, 128}) {
      for (const std::int64_t m : {1, 16, 17}) {
        form.m = m, form.n = 48, form.k = 512, form.block = block;
        const Workload workload = Workload::FromExpression(*ExpressionOf(form));
        EXPECT_TRUE(FindBlockQuantized(workload.expression)) << workload.Key();
        const auto parsed = Workload::Parse(workload.Key());
        ASSERT_TRUE(parsed.ok()) << parsed.status().message();
        EXPECT_EQ(parsed->Key(), workload.Key());
      }
    }
  }
}

TEST(BlockQuantizedTest, OtherExpressionsAreNot) {
  const auto plain = ParseExpression(
      "input X: float32[3, 64]\nconst W: float32[8, 64]\n"
      "Y[m: 3, n: 8] = sum(k: 64) X[m, k] * W[n, k]\n");
  ASSERT_TRUE(plain.ok());
  EXPECT_FALSE(FindBlockQuantized(Canonical(*plain).expression));
  // One operand differs: the middle is 7 instead of 8.
  auto text = PrintExpression(*ExpressionOf(Small(4, BlockZeroPoints::kMiddle, false)));
  const auto at = text.find("8.0 * total");
  ASSERT_NE(at, std::string::npos) << text;
  text[at] = '7';
  EXPECT_FALSE(FindBlockQuantized(Canonical(*ParseExpression(text)).expression));
}

TEST(BlockQuantizedTest, SizesAreChecked) {
  BlockQuantizedMatmul form = Small(4, BlockZeroPoints::kMiddle, false);
  form.bits = 3;
  EXPECT_THAT(ExpressionOf(form).status().message(), HasSubstr("3 bits, expected 2, 4 or 8"));
  form = Small(4, BlockZeroPoints::kMiddle, false);
  form.block = 24;
  EXPECT_THAT(ExpressionOf(form).status().message(), HasSubstr("blocks of 24"));
  form.block = 32;
  form.k = 48;
  EXPECT_THAT(ExpressionOf(form).status().message(), HasSubstr("multiple of the block 32"));
}

/// Returns sums in double of data times (weight - zero) * scale; all numbers are small, so that
/// quantizing data whose largest magnitude is 127 in each block changes nothing.
TEST(BlockQuantizedTest, TheReferenceComputesTheProduct) {
  for (const BlockQuantizedMatmul& form : AllForms()) {
    const auto blocks = form.blocks();
    Tensor data(TensorType{{form.m, form.k}, kFloat32});
    for (std::int64_t i = 0; i < data.elements(); ++i) {
      data.Set(i, i % form.block == 0 ? 127 : static_cast<double>(i * 37 % 201) - 100);
    }
    std::vector<std::uint8_t> integers;
    for (std::int64_t i = 0; i < form.n * form.k; ++i) {
      integers.push_back(static_cast<std::uint8_t>(i * 13 % 251 & ((1 << form.bits) - 1)));
    }
    Tensor scales(TensorType{{form.n, blocks}, kFloat32});
    const bool floats = form.zero_points == BlockZeroPoints::kFloats;
    Tensor zeros(TensorType{{form.n, blocks}, floats ? kFloat32 : kUInt8});
    for (std::int64_t i = 0; i < scales.elements(); ++i) {
      scales.Set(i, static_cast<double>(1 + i % 4) / 8);
      zeros.Set(i, static_cast<double>(i % 3) + (floats ? 0.5 : 0));
    }
    std::vector<Tensor> inputs;
    inputs.push_back(data.Clone());
    inputs.push_back(PackBlockQuantized(form, integers));
    inputs.push_back(PackBlockValues(form, scales));
    const bool middle = form.zero_points == BlockZeroPoints::kMiddle;
    if (!middle) inputs.push_back(PackBlockValues(form, zeros));
    std::vector<const Tensor*> operands;
    for (const Tensor& input : inputs) operands.push_back(&input);
    const auto result = EvaluateExpression(*ExpressionOf(form), operands);
    ASSERT_TRUE(result.ok()) << result.status().message();
    for (std::int64_t m = 0; m < form.m; ++m) {
      for (std::int64_t n = 0; n < form.n; ++n) {
        double sum = 0;
        for (std::int64_t k = 0; k < form.k; ++k) {
          const std::int64_t block = n * blocks + k / form.block;
          const double zero = middle ? static_cast<double>(form.middle()) : zeros.At(block);
          sum += data.At(m * form.k + k) * scales.At(block) *
                 (integers[static_cast<std::size_t>(n * form.k + k)] - zero);
        }
        EXPECT_NEAR(result->value.At(m * form.n + n), sum, 0.5) << m << " " << n;
      }
    }
  }
}

}  // namespace
}  // namespace tilewright
