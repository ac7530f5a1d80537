// Spaces of auto rules: kernels are compared with the reference for the examples of the
// documentation and for random expressions. bench/expression_check does the same for thousands.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>

#include "src/base/files/file.h"
#include "src/base/random.h"
#include "src/target/cpu.h"
#include "src/target/device.h"
#include "src/templates/auto/contraction.h"
#include "src/templates/auto/joined_rows.h"
#include "src/templates/auto/rules.h"
#include "src/tensor/reference/expression.h"
#include "tests/support/built_in.h"
#include "tests/support/random_expression.h"
#include "tests/templates/kernel_runner.h"

namespace tilewright {
namespace {

/// Number of configs that ran; at least fifty of each rule.
struct AutoRun {
  int run = 0, refused = 0;
};

Workload WorkloadOfText(const std::string& text) {
  auto expression = ParseExpression(text);
  EXPECT_TRUE(expression.ok()) << expression.status().message();
  return expression.ok() ? Workload::FromExpression(*expression) : Workload();
}

void RunConfig(const Workload& w, const TemplateEntry& entry, const Target& target,
               const Config& config, std::uint64_t seed, AutoRun& count) {
  const std::string what = std::string(entry.key) + " " + config.ToString() + " of " + w.Key();
  const auto kernel = ApplyTemplate(entry, w, {}, target, config);
  if (!kernel.ok()) {
    ++count.refused;
    return;
  }
  const AnchorData data = MakeAnchorData(w, {}, seed);
  std::vector<const Tensor*> inputs = {&data.data};
  for (const Tensor& operand : data.operands) inputs.push_back(&operand);
  const auto expected = EvaluateExpression(w.expression, inputs);
  ASSERT_TRUE(expected.ok()) << expected.status().message();
  const auto result = RunKernel(w, {}, target, *kernel, data);
  if (!result.ok() && result.status().code() == StatusCode::kInvalidArgument) {
    ++count.refused;
    return;
  }
  ASSERT_TRUE(result.ok()) << what << ": " << result.status().message();
  ++count.run;
  const Comparison comparison = CompareBounded(*result, *expected);
  EXPECT_TRUE(comparison.ok) << what << ": element " << comparison.first_bad;
}

TEST(AutoRules, ComputeWhatRandomExpressionsSay) {
  Random random(7);
  std::map<std::string, AutoRun> counts;
  const Target target = *Target::Parse("llvm -num-threads=2");
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    const Workload w = WorkloadOfText(RandomExpressionText(seed));
    for (const TemplateEntry* entry : BuiltInTemplates().For(w, target)) {
      const auto space = entry->define_space(w, target);
      ASSERT_TRUE(space.ok()) << space.status().message();
      const auto index =
          static_cast<std::int64_t>(random.Below(static_cast<std::uint64_t>(space->size())));
      RunConfig(w, *entry, target, space->At(index), seed, counts[std::string(entry->key)]);
    }
  }
  EXPECT_GE(counts["auto.cpu/flat"].run, 20);
  EXPECT_GE(counts["auto.cpu/tiles"].run, 3);
}

TEST(AutoRules, ServeTheExamplesWithTheirDefaultConfigs) {
  const std::filesystem::path folder =
      std::filesystem::path(TILEWRIGHT_SOURCE_DIR) / "docs/examples/expressions";
  std::set<std::filesystem::path> files;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().extension() == ".tw") files.insert(file.path());
  }
  EXPECT_GE(files.size(), 20u);
  const Target target = *Target::Parse("llvm -mcpu=core-avx2");  // with conversions of float16
  if (!__builtin_cpu_supports("avx2")) GTEST_SKIP() << "needs AVX2";
  AutoRun count;
  for (const auto& file : files) {
    const auto text = ReadFile(file.string());
    ASSERT_TRUE(text.ok());
    const Workload w = WorkloadOfText(*text);
    if (w.expression.iterations() > 1e7) continue;  // would take too long
    const TemplateEntry* entry = BuiltInTemplates().For(w, target).front();
    const auto config = entry->default_config(w, target);
    ASSERT_TRUE(config.ok()) << config.status().message();
    RunConfig(w, *entry, target, *config, 5, count);
  }
  EXPECT_EQ(count.refused, 0);
}

TEST(AutoTiles, FindsTheContraction) {
  const Workload conv = WorkloadOfText(
      "input X: float32[1, 8, 10, 10]\nconst W: float32[16, 8, 3, 3]\nconst b: float32[16]\n"
      "C[n: 1, k: 16, y: 8, x: 8] = sum(c: 8, r: 3, s: 3) X[n, c, y + r, x + s] * W[k, c, r, s]\n"
      "Y[n: 1, k: 16, y: 8, x: 8] = max(C[n, k, y, x] + b[k], 0.0)");
  const auto found = FindContraction(conv.expression);
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(found->extent(found->vector_axis), 8);
  EXPECT_EQ(found->rows.size(), 2u);
  const Workload sum = WorkloadOfText("input X: float32[8, 9]\nS[i: 8] = sum(j: 9) X[i, j]");
  EXPECT_FALSE(FindContraction(sum.expression).ok());
  // Operands that vectors would gather are transposed, or packed if they are constant.
  const Workload product = WorkloadOfText(
      "input A: float32[8, 40]\nconst B: float32[48, 40]\n"
      "C[i: 8, j: 48] = sum(k: 40) A[i, k] * B[j, k]");
  const auto dense = FindContraction(product.expression);
  ASSERT_TRUE(dense.ok());
  EXPECT_EQ(dense->operands[0].across + dense->operands[1].across, -1);
  const Target target = *Target::Parse("llvm");
  const TemplateEntry* tiles = BuiltInTemplates().Find("auto.cpu/tiles");
  const auto config = tiles->default_config(product, target);
  ASSERT_TRUE(config.ok());
  const auto kernel = tiles->apply(product, {}, target, *config);
  ASSERT_TRUE(kernel.ok()) << kernel.status().message();
  EXPECT_THAT(kernel->layouts.weight, testing::HasSubstr(":AB"));
}

/// Runs the default config of a rule and some random ones.
void RunSome(const std::string& text, const char* key, int configs, AutoRun& count) {
  const Target target = *Target::Parse("llvm -num-threads=2");
  const Workload w = WorkloadOfText(text);
  const TemplateEntry* entry = BuiltInTemplates().Find(key);
  ASSERT_EQ(entry->refuses(w, target), "");
  const auto space = entry->define_space(w, target);
  const auto first = entry->default_config(w, target);
  ASSERT_TRUE(space.ok() && first.ok());
  RunConfig(w, *entry, target, *first, 3, count);
  Random random(11);
  for (int i = 0; i < configs; ++i) {
    const auto size = static_cast<std::uint64_t>(space->size());
    RunConfig(w, *entry, target, space->At(static_cast<std::int64_t>(random.Below(size))), 3,
              count);
  }
}

TEST(AutoFlat, ReadsASingleNumber) {
  AutoRun count;
  RunSome(
      "input X: float32[30, 20]\nS[] = sum(i: 30, j: 20) X[i, j]\n"
      "R[i: 30, j: 20] = X[i, j] / (abs(S[]) + 1.0)",
      "auto.cpu/flat", 6, count);
  EXPECT_EQ(count.run, 7);
}

// A stage cannot be made in the loop of its sum if another one reads it before.
TEST(AutoFlat, SumsOfLongRowsThatOthersReadBefore) {
  const Workload w = WorkloadOfText(
      "input X: float32[2, 8192]\nT[i: 2, j: 8192] = tanh(X[i, j])\n"
      "E[i: 2, j: 8192] = exp(T[i, j])\nS[i: 2] = sum(j: 8192) E[i, j]\n"
      "M[i: 2] = sum(j: 8192) T[i, j]\n"
      "Y[i: 2, j: 8192] = E[i, j] / S[i] + M[i]");
  const Target target = *Target::Parse("llvm");
  const TemplateEntry* entry = BuiltInTemplates().Find("auto.cpu/flat");
  const auto config = entry->default_config(w, target);
  ASSERT_TRUE(config.ok()) << config.status().message();
  AutoRun count;
  RunConfig(w, *entry, target, *config, 3, count);
  EXPECT_EQ(count.run, 1);
}

// Columns must not be transposed in one arm of a condition and used outside of it.
TEST(AutoFlat, TurnsNoColumnsInsideOfAnArm) {
  const Workload w = WorkloadOfText(
      "input In0: float32[2, 5]\ninput Pic1: float32[5, 9, 21]\n"
      "T2[a5: 5, a6: 11, a7: 23] = select(a6 >= 1 and a6 <= 9 and a7 >= 1 and a7 <= 21, "
      "Pic1[a5, a6 - 1, a7 - 1], -100.0)\n"
      "T3[a0: 5, a3: 3, a4: 10] = max(a1: 4, a2: 3) T2[a0, 2 * a3 + 2 * a1, 2 * a4 + 2 * a2]\n"
      "T4[a8: 20, a9: 5, a10: 16] = tanh((In0[clamp(2 * a9 - 1, 0, 1), a8 / 4]) / "
      "(abs(2.25) + 1.5))\n"
      "T5[a12: 20, a13: 5, a14: 16] = min(a15: 16) ((float32(a12)) / (abs(Pic1[a14 / 4, a15 / 2, "
      "a12 + 1]) + 1.5)) / (abs(Pic1[1, clamp(2 * a15 - 1, 0, 8), clamp(2 * a15 - 1, 0, 20)]) + "
      "1.5)\n"
      "T6[a16: 20, a17: 8] = (((T2[clamp(2 * a17 - 1, 0, 4), a17 % 11, a16 + 0] + T3[a17 / 2, "
      "a17 / 3, a16 % 10]) + T4[a17 + 7, a17 / 2, a17]) + select(a17 >= 1 and a17 <= 20, "
      "T5[a17 - 1, a17 / 2, a16 / 2], 0.5))");
  const Target target = *Target::Parse("llvm -mcpu=x86-64");
  const TemplateEntry* entry = BuiltInTemplates().Find("auto.cpu/flat");
  const auto space = entry->define_space(w, target);
  ASSERT_TRUE(space.ok());
  AutoRun count;
  RunConfig(w, *entry, target, space->At(2364), 3, count);
  EXPECT_EQ(count.run, 1);
}

// Rolling up code must not copy elements that only an unselected arm would read, from before the
// buffer.
TEST(AutoFixed, CopiesNothingThatOnlyAnArmReads) {
  const Workload w = WorkloadOfText(
      "input P: float32[2, 12, 17]\ninput Q: float32[8, 13]\n"
      "T1[a: 8, b: 17] = sum(c: 12, d: 2) Q[a, c + d] * P[d, c, b]\n"
      "T2[a: 8, b: 17] = max(c: 1) (select(a >= 1 and a <= 8, T1[a - 1, b], 0.5) - Q[a, b % 13])\n"
      "T3[a: 8, b: 17] = (exp(clamp(select(a >= 1 and a <= 2, P[a - 1, a, a + 1], 0.5), -4.0, "
      "2.0)) + select(b >= 1 and b <= 8, T2[b - 1, a], 0.5))");
  const TemplateEntry* entry = BuiltInTemplates().Find("auto.cpu/fixed");
  for (const char* cpu : {"x86-64", "core-avx2"}) {
    const Target target = *Target::Parse(std::string("llvm -mcpu=") + cpu);
    if (FeaturesOf(target)->avx2 && !__builtin_cpu_supports("avx2")) continue;
    const auto config = entry->default_config(w, target);
    ASSERT_TRUE(config.ok());
    AutoRun count;
    RunConfig(w, *entry, target, *config, 3, count);
    EXPECT_EQ(count.run, 1);
  }
}

// If values are computed once for the maximum and again for its position, they can be rounded in
// two ways (a product is contracted with a sum in only one of them). Then no position is found for
// one row in 1617.
TEST(AutoRules, FindThePositionOfValuesThatAreRounded) {
  const Workload w = WorkloadOfText(
      "input Small: float32[1, 4]\nconst C: float32[3]\nconst D: float32[3, 20, 7]\n"
      "input P: float32[33, 23]\ninput Q: float32[12, 2]\n"
      "S[a: 33, b: 12, c: 2] = sum(d: 12) P[a, b + d] * Q[d, c]\n"
      "M[a: 33, b: 12, c: 2] = D[b / 4, b, c] * C[b % 3]\n"
      "N[a: 33, b: 12, c: 2] = select(c >= 1 and c <= 1, Small[c - 1, c], 0.5) * 1.75\n"
      "R[a: 7, b: 33, c: 7] = argmax(d: 7, e: 2) (((max(Q[d, e] * C[a % 3], P[a, clamp(2 * c - 1, "
      "0, 22)]) + S[c, d, e]) + select(b >= 1 and b <= 33, M[b - 1, a + 5, e], 0.5)) + N[c, d, "
      "e])");
  for (const char* cpu : {"x86-64", "core-avx2"}) {
    const Target target = *Target::Parse(std::string("llvm -mcpu=") + cpu);
    if (FeaturesOf(target)->avx2 && !__builtin_cpu_supports("avx2")) continue;
    AutoRun count;
    for (const char* key : {"auto.cpu/fixed", "auto.cpu/flat"}) {
      const TemplateEntry* entry = BuiltInTemplates().Find(key);
      RunConfig(w, *entry, target, *entry->default_config(w, target), 106000561, count);
    }
    EXPECT_EQ(count.run, 2);
  }
}

TEST(AutoRules, KeepWhatAPositionIsLookedForIn) {
  const Target target = *Target::Parse("llvm");
  const auto is_kept = [&](const std::string& value) {
    const Workload w =
        WorkloadOfText("input X: float32[64, 32]\nI[i: 64] = argmax(j: 32) " + value);
    const TemplateEntry* entry = BuiltInTemplates().Find("auto.cpu/fixed");
    auto kernel = ApplyTemplate(*entry, w, {}, target, *entry->default_config(w, target));
    EXPECT_TRUE(kernel.ok()) << kernel.status().message();
    const StageId values = kernel->schedule.Stage("t0.value");
    return kernel->schedule.stage(values).attach != Schedule::Attach::kInline;
  };
  EXPECT_TRUE(is_kept("X[i, j] * 0.3 + 1.0"));
  EXPECT_TRUE(is_kept("exp(X[i, j])"));
  // Data movement and selection give the same result however often they are computed.
  EXPECT_FALSE(is_kept("select(j >= 1, X[i, j - 1], 0.0)"));
  EXPECT_FALSE(is_kept("max(X[i, 31 - j], 0.0)"));
  EXPECT_TRUE(is_kept("int32(X[i, j] * 100.0)"));
  EXPECT_FALSE(is_kept("int32(X[i, j]) * 3"));
}

constexpr const char* kPadded =
    "P[c: 5, y: 9, x: 9] = select(y >= 1 and y < 8 and x >= 1 and x < 8, X[c, y - 1, x - 1], "
    "0.0)\n";

TEST(AutoTiles, TurnsTheResultWhereVectorsGoAlongAnotherAxis) {
  const std::string strided =
      std::string("input X: float32[5, 7, 7]\nconst W: float32[8, 5, 3, 3]\n") + kPadded +
      "C[k: 8, y: 4, x: 4] = sum(c: 5, r: 3, s: 3) P[c, 2 * y + r, 2 * x + s] * W[k, c, r, s]\n"
      "R[k: 8, y: 4, x: 4] = max(C[k, y, x], 0.0)";
  const auto found = FindContractions(WorkloadOfText(strided).expression);
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->size(), 2u);
  EXPECT_FALSE((*found)[0].transposed());
  EXPECT_TRUE((*found)[1].transposed());
  EXPECT_TRUE((*found)[0].operands[0].gathers || (*found)[0].operands[1].gathers);
  AutoRun count;
  RunSome(strided, "auto.cpu/tiles", 12, count);
  EXPECT_GE(count.run, 8);
}

TEST(AutoWindows, JoinsTheRowsOfPictures) {
  const std::string depthwise =
      std::string("input X: float32[5, 7, 7]\nconst W: float32[5, 3, 3]\n") + kPadded +
      "C[c: 5, y: 7, x: 7] = sum(r: 3, s: 3) P[c, y + r, x + s] * W[c, r, s]";
  const auto found = FindWindows(WorkloadOfText(depthwise).expression);
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(found->row, 9);
  EXPECT_EQ(found->elements, 6 * 9 + 7);
  const auto apart = FindWindows(WorkloadOfText(depthwise).expression, false);
  ASSERT_TRUE(apart.ok()) << apart.status().message();
  EXPECT_EQ(apart->op().axes.size(), 3u);
  EXPECT_EQ(apart->pictures.size(), 1u);
  AutoRun count;
  RunSome(depthwise, "auto.cpu/windows", 16, count);
  const std::string pooled = std::string("input X: float32[5, 7, 7]\n") + kPadded +
                             "M[c: 5, y: 7, x: 7] = max(r: 3, s: 3) P[c, y + r, x + s]\n"
                             "R[c: 5, y: 7, x: 7] = M[c, y, x] * 2.0";
  RunSome(pooled, "auto.cpu/windows", 4, count);
  EXPECT_GE(count.run, 14);  // the others inline the concatenated rows
  // Data that several results share, strides and positions in other operands are not supported.
  const auto refused = [](const char* text) {
    return !FindWindows(WorkloadOfText(text).expression).ok();
  };
  EXPECT_TRUE(
      refused("input X: float32[16, 18, 16]\ninput W: float32[3]\n"
              "C[y: 16, x: 16] = sum(r: 3) X[y, y + r, x] * W[r]"));
  EXPECT_TRUE(
      refused("input X: float32[5, 9, 9]\nconst W: float32[8, 5, 3, 3]\n"
              "C[k: 8, y: 7, x: 7] = sum(c: 5, r: 3, s: 3) X[c, y + r, x + s] * "
              "W[k, c, r, s]"));
  EXPECT_TRUE(
      refused("input X: float32[5, 9, 9]\nC[c: 5, y: 4, x: 4] = sum(r: 3, s: 3) "
              "X[c, 2 * y + r, 2 * x + s]"));
}

}  // namespace
}  // namespace tilewright
