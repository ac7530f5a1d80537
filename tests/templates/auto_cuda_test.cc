// Spaces of auto rules for GPUs: kernels run in the SIMT emulator, which also detects races, and
// are compared with the reference. bench/expression_check does the same for hundreds of random
// expressions.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "src/base/random.h"
#include "src/schedule/launch.h"
#include "src/schedule/lower/lower.h"
#include "src/templates/auto/rules.h"
#include "src/templates/limits.h"
#include "src/tensor/reference/expression.h"
#include "tests/support/built_in.h"
#include "tests/support/random_expression.h"
#include "tests/templates/kernel_runner.h"
#include "tests/templates/shared_bytes.h"

namespace tilewright {
namespace {

constexpr const char* kGridDense =
    "input A: float32[12, 40]\nconst W: float32[30, 40]\nconst b: float32[30]\n"
    "C[i: 12, j: 30] = sum(k: 40) A[i, k] * W[j, k]\n"
    "R[i: 12, j: 30] = max(C[i, j] + b[j], 0.0)";
constexpr const char* kGridConv =
    "input X: float32[4, 6, 9]\nconst W: float32[6, 4, 3, 3]\n"
    "P[c: 4, y: 8, x: 11] = select(y >= 1 and y < 7 and x >= 1 and x < 10, X[c, y - 1, x - 1], "
    "0.0)\n"
    "C[k: 6, y: 6, x: 9] = sum(c: 4, r: 3, s: 3) P[c, y + r, x + s] * W[k, c, r, s]";
constexpr const char* kGridBatch =
    "input A: float32[3, 7, 16]\ninput B: float32[3, 16, 10]\n"
    "E[b: 3, i: 7, k: 16] = exp(A[b, i, k])\n"
    "C[b: 3, i: 7, j: 10] = sum(k: 16) E[b, i, k] * B[b, k, j]";
constexpr const char* kGridBytes =
    "input A: int8[16, 32]\nconst B: int8[24, 32]\n"
    "C[i: 16, j: 24] = sum(k: 32) int32(A[i, k]) * int32(B[j, k])";
// In neither factor are the products contiguous: both are transposed on the way to shared memory.
constexpr const char* kGridTurned =
    "input A: float16[2, 32, 16]\ninput B: float16[2, 32, 24]\n"
    "C[b: 2, i: 16, j: 24] = sum(k: 32) float32(A[b, k, i]) * float32(B[b, k, j])\n"
    "R[b: 2, i: 16, j: 24] = max(C[b, i, j], 0.0)";
constexpr const char* kGridSoftmax =
    "input X: float32[6, 50]\n"
    "largest[i: 6] = max(j: 50) X[i, j]\n"
    "power[i: 6, j: 50] = exp(X[i, j] - largest[i])\n"
    "total[i: 6] = sum(j: 50) power[i, j]\n"
    "P[i: 6, j: 50] = power[i, j] / total[i]";
constexpr const char* kGridNorm =
    "input X: float32[2, 4, 36]\nconst g: float32[36]\n"
    "total[a: 2, i: 4] = sum(j: 36) X[a, i, j]\n"
    "mean[a: 2, i: 4] = total[a, i] / 36.0\n"
    "square[a: 2, i: 4] = sum(j: 36) (X[a, i, j] - mean[a, i]) * (X[a, i, j] - mean[a, i])\n"
    "N[a: 2, i: 4, j: 36] = (X[a, i, j] - mean[a, i]) / sqrt(square[a, i] / 36.0 + 0.001) * g[j]";
constexpr const char* kGridPool =
    "input X: float32[3, 8, 10]\nM[c: 3, y: 4, x: 5] = max(r: 2, s: 2) X[c, 2 * y + r, 2 * x + s]";
constexpr const char* kGridTotal = "input X: float32[30, 20]\nS[] = sum(i: 30, j: 20) X[i, j]";
constexpr const char* kGridShare =
    "input X: float32[30, 20]\nS[] = sum(i: 30, j: 20) X[i, j]\n"
    "R[i: 30, j: 20] = X[i, j] / (abs(S[]) + 1.0)";
constexpr const char* kGridFirst = "input X: float32[5, 64]\nF[i: 5] = argmax(j: 64) X[i, j]";

struct CudaRuns {
  int run = 0;
  std::set<std::string> refused;
};

class AutoCudaTest : public testing::Test {
 protected:
  static Workload Of(const std::string& text) {
    auto expression = ParseExpression(text);
    EXPECT_TRUE(expression.ok()) << expression.status().message();
    return expression.ok() ? Workload::FromExpression(*expression) : Workload();
  }

  static void Run(const Workload& w, const TemplateEntry& entry, const Target& target,
                  const Config& config, CudaRuns& runs) {
    const std::string what = std::string(entry.key) + " " + config.ToString() + " of " + w.Key();
    const auto kernel = ApplyTemplate(entry, w, {}, target, config);
    if (!kernel.ok()) {
      EXPECT_EQ(kernel.status().code(), StatusCode::kInvalidArgument) << what;
      runs.refused.insert(kernel.status().message());
      return;
    }
    const AnchorData data = MakeAnchorData(w, {}, 5);
    std::vector<const Tensor*> inputs = {&data.data};
    for (const Tensor& operand : data.operands) inputs.push_back(&operand);
    const auto expected = EvaluateExpression(w.expression, inputs);
    ASSERT_TRUE(expected.ok()) << expected.status().message();
    const auto result = RunKernel(w, {}, target, *kernel, data);
    if (!result.ok() && result.status().code() == StatusCode::kInvalidArgument) {
      runs.refused.insert(result.status().message());
      return;
    }
    ASSERT_TRUE(result.ok()) << what << ": " << result.status().message();
    ++runs.run;
    const Comparison comparison = CompareBounded(*result, *expected);
    EXPECT_TRUE(comparison.ok) << what << ": element " << comparison.first_bad;
  }

  /// Runs the default config, the first and the last one, and some random ones.
  static CudaRuns RunSome(const std::string& text, const char* key, int configs,
                          const char* arch = "cuda -arch=sm_80") {
    CudaRuns runs;
    const Target target = *Target::Parse(arch);
    const Workload w = Of(text);
    const TemplateEntry* entry = BuiltInTemplates().Find(key);
    EXPECT_EQ(entry->refuses(w, target), "");
    const auto space = entry->define_space(w, target);
    const auto first = entry->default_config(w, target);
    EXPECT_TRUE(space.ok() && first.ok());
    if (!space.ok() || !first.ok()) return runs;
    Run(w, *entry, target, *first, runs);
    EXPECT_EQ(runs.run, 1) << "the default config of " << w.Key();
    Run(w, *entry, target, space->At(0), runs);
    Run(w, *entry, target, space->At(space->size() - 1), runs);
    Random random(11);
    for (int i = 0; i < configs; ++i) {
      const auto size = static_cast<std::uint64_t>(space->size());
      Run(w, *entry, target, space->At(static_cast<std::int64_t>(random.Below(size))), runs);
    }
    return runs;
  }

  static Kernel KernelOf(const std::string& text, const char* key,
                         std::map<std::string, KnobValue> changes) {
    const Target target = *Target::Parse("cuda -arch=sm_80");
    const Workload w = Of(text);
    const TemplateEntry* entry = BuiltInTemplates().Find(key);
    Config config = *entry->default_config(w, target);
    for (auto& [name, value] : config.values) {
      if (changes.contains(name)) value = changes.at(name);
    }
    auto kernel = ApplyTemplate(*entry, w, {}, target, config);
    EXPECT_TRUE(kernel.ok()) << kernel.status().message();
    return *std::move(kernel);
  }

  static std::vector<Launch> LaunchesOf(const Kernel& kernel,
                                        const Target& target = *Target::Parse("cuda -arch=sm_80")) {
    const auto program = Lower(kernel.schedule, "kernel", LowerLimitsFor(target));
    EXPECT_TRUE(program.ok()) << program.status().message();
    return program.ok() ? PlanLaunches(*program).launches : std::vector<Launch>();
  }

  /// Lowers the default config. The shapes may be too large to run here.
  static std::vector<Launch> DefaultLaunches(const std::string& text, const char* key,
                                             const char* arch) {
    SCOPED_TRACE(std::string(key) + " for " + arch + " of " + text);
    const Target target = *Target::Parse(arch);
    const Workload w = Of(text);
    const TemplateEntry* entry = BuiltInTemplates().Find(key);
    EXPECT_EQ(entry->refuses(w, target), "");
    const auto config = entry->default_config(w, target);
    EXPECT_TRUE(config.ok()) << config.status().message();
    if (!config.ok()) return {};
    const auto kernel = ApplyTemplate(*entry, w, {}, target, *config);
    EXPECT_TRUE(kernel.ok()) << kernel.status().message();
    return kernel.ok() ? LaunchesOf(*kernel, target) : std::vector<Launch>();
  }
};

TEST_F(AutoCudaTest, TilesComputeContractions) {
  EXPECT_GE(RunSome(kGridDense, "auto.cuda/tiles", 16).run, 12);
  EXPECT_GE(RunSome(kGridConv, "auto.cuda/tiles", 16).run, 12);
  EXPECT_GE(RunSome(kGridBatch, "auto.cuda/tiles", 12).run, 8);
  EXPECT_GE(RunSome(kGridBatch, "auto.cuda/tiles", 8, "cuda -arch=sm_70").run, 6);
  EXPECT_GE(RunSome(kGridBytes, "auto.cuda/tiles", 8).run, 4);
}

TEST_F(AutoCudaTest, TilesCutTheLongestSummedAxes) {
  const char* text =
      "input X: float32[3, 4, 2, 5, 6, 4]\ninput W: float32[6, 5, 2, 4, 3, 8]\n"
      "C[i: 4, j: 8] = sum(a: 3, b: 4, c: 2, d: 5, e: 6) X[a, b, c, d, e, i] * W[e, d, c, b, a, j]";
  EXPECT_GE(RunSome(text, "auto.cuda/tiles", 4).run, 4);
  const auto space = BuiltInTemplates()
                         .Find("auto.cuda/tiles")
                         ->define_space(Of(text), *Target::Parse("cuda -arch=sm_80"));
  ASSERT_TRUE(space.ok());
  std::vector<std::string> cut;
  for (const Knob& knob : space->knobs()) {
    if (knob.name().starts_with("reduce_")) cut.push_back(knob.name());
  }
  EXPECT_EQ(cut.size(), 4u);
}

TEST_F(AutoCudaTest, MmaComputesProductsInAnyOrderOfDimensions) {
  EXPECT_GE(RunSome(kGridBytes, "auto.cuda/mma", 10).run, 4);
  EXPECT_GE(RunSome(kGridTurned, "auto.cuda/mma", 10).run, 3);
  const std::string conv =
      "input X: float16[16, 4, 8]\nconst W: float16[16, 16, 3, 3]\n"
      "P[c: 16, y: 6, x: 10] = float16(select(y >= 1 and y < 5 and x >= 1 and x < 9, "
      "float32(X[c, y - 1, x - 1]), 0.0))\n"
      "C[k: 16, y: 4, x: 8] = sum(c: 16, r: 3, s: 3) float32(P[c, y + r, x + s]) * "
      "float32(W[k, c, r, s])";
  EXPECT_GE(RunSome(conv, "auto.cuda/mma", 6, "cuda -arch=sm_75").run, 2);
  const TemplateEntry* entry = BuiltInTemplates().Find("auto.cuda/mma");
  const Target target = *Target::Parse("cuda -arch=sm_80");
  EXPECT_THAT(entry->refuses(Of(kGridDense), target), testing::HasSubstr("-tf32"));
  const Target tf32 = *Target::Parse("cuda -arch=sm_80 -tf32");
  EXPECT_THAT(entry->refuses(Of(kGridDense), tf32), testing::HasSubstr("12 x 30"));
  EXPECT_EQ(entry->refuses(Of("input A: float32[16, 8]\ninput B: float32[8, 8]\n"
                              "C[i: 16, j: 8] = sum(k: 8) A[i, k] * B[j, k]"),
                           tf32),
            "");
}

// A value that a cast wraps, truncates or rounds is not usable as a stored factor.
TEST_F(AutoCudaTest, MmaTakesFactorsThatAreConvertedWithoutALoss) {
  const TemplateEntry* entry = BuiltInTemplates().Find("auto.cuda/mma");
  const auto why = [&](const std::string& type, const std::string& product,
                       const char* arch = "cuda -arch=sm_80") {
    const std::string text = "input A: " + type + "[16, 32]\ninput B: " + type + "[8, 32]\n" +
                             "C[i: 16, j: 8] = sum(k: 32) " + product;
    return entry->refuses(Of(text), *Target::Parse(arch));
  };
  EXPECT_EQ(why("int8", "int32(A[i, k]) * int32(B[j, k])"), "");
  EXPECT_EQ(why("int8", "int32(int16(A[i, k])) * int32(B[j, k])"), "");
  const auto types = testing::HasSubstr("only products of int8");
  EXPECT_THAT(why("int8", "int32(uint8(A[i, k])) * int32(B[j, k])"), types);
  EXPECT_EQ(why("float16", "float32(A[i, k]) * float32(B[j, k])"), "");
  EXPECT_THAT(why("float16", "float32(int32(A[i, k])) * float32(B[j, k])"), types);
  EXPECT_EQ(why("float32", "A[i, k] * B[j, k]", "cuda -arch=sm_80 -tf32"), "");
  EXPECT_THAT(why("float32", "float32(float16(A[i, k])) * B[j, k]", "cuda -arch=sm_80 -tf32"),
              types);
}

TEST_F(AutoCudaTest, MmaSaysWhatDoesNotFit) {
  const TemplateEntry* entry = BuiltInTemplates().Find("auto.cuda/mma");
  const auto why = [&](const std::string& product, const char* length = "32",
                       const char* arch = "cuda -arch=sm_80") {
    const std::string text = std::string("input A: float16[16, 33]\ninput B: float16[8, 33]\n") +
                             "C[i: 16, j: 8] = sum(k: " + length + ") " + product;
    return entry->refuses(Of(text), *Target::Parse(arch));
  };
  const std::string plain = "float32(A[i, k]) * float32(B[j, k])";
  EXPECT_EQ(why(plain), "");
  EXPECT_THAT(why(plain, "33"), testing::HasSubstr("divides the length of an axis"));
  EXPECT_THAT(why(plain, "32", "cuda -arch=sm_61"), testing::HasSubstr("no tensor cores for"));
  EXPECT_THAT(why("float32(A[i, k + 1]) * float32(B[j, k])"),
              testing::HasSubstr("no reduced axis is an index of both factors"));
  EXPECT_THAT(why("float32(A[i, k]) * float32(B[j / 2, k])"), testing::HasSubstr("distance apart"));
  // Rows may be read at any positions.
  EXPECT_GE(RunSome("input A: float16[16, 32]\ninput B: float16[8, 32]\n"
                    "C[i: 16, j: 8] = sum(k: 32) float32(A[i / 2, k]) * float32(B[j, k])",
                    "auto.cuda/mma", 4)
                .run,
            2);
}

TEST_F(AutoCudaTest, DefaultsOfAwkwardShapesLower) {
  // A prime number of threads shares a sum: no other row has threads in the block.
  const char* sum = "input X: float32[64, 251]\nS[i: 64] = sum(j: 251) X[i, j]";
  for (const Launch& launch : DefaultLaunches(sum, "auto.cuda/flat", "cuda -arch=sm_61")) {
    EXPECT_EQ(launch.threads(), 251);
  }
  const char* largest =
      "input A: float32[64, 32]\ninput B: float32[251, 32]\n"
      "C[i: 64, j: 251] = sum(k: 32) A[i, k] * B[j, k]\nM[i: 64] = max(j: 251) C[i, j]";
  EXPECT_EQ(DefaultLaunches(largest, "auto.cuda/tiles", "cuda -arch=sm_61").size(), 2u);
  // Rows of an odd number of float16 do not start at multiples of the asynchronous copy size.
  const char* odd =
      "input A: float16[16, 129]\ninput B: float16[8, 129]\n"
      "C[i: 16, j: 8] = sum(k: 128) float32(A[i, k]) * float32(B[j, k])";
  EXPECT_EQ(DefaultLaunches(odd, "auto.cuda/mma", "cuda -arch=sm_80").size(), 1u);
  // For images of a prime size, only channels and batch are distributed to threads, in dimension z.
  const char* images =
      "input X: float32[16, 4, 259, 259]\nconst W: float32[16, 4, 3, 3]\n"
      "C[n: 16, k: 16, y: 257, x: 257] = sum(c: 4, r: 3, s: 3) X[n, c, y + r, x + s] * "
      "W[k, c, r, s]";
  EXPECT_EQ(DefaultLaunches(images, "auto.cuda/tiles", "cuda -arch=sm_75").size(), 1u);
  // More products than blocks along z.
  const char* products =
      "input A: float16[512, 224, 32, 16]\ninput B: float16[512, 224, 8, 16]\n"
      "C[n: 512, h: 224, i: 32, j: 8] = sum(k: 16) float32(A[n, h, i, k]) * float32(B[n, h, j, k])";
  for (const Launch& launch : DefaultLaunches(products, "auto.cuda/mma", "cuda -arch=sm_80")) {
    EXPECT_EQ(launch.grid[0] % (512 * 224), 0);
    EXPECT_EQ(launch.grid[2], 1);
  }
}

TEST_F(AutoCudaTest, AsManyRowsAreInABlockAsFitItsMemory) {
  const auto softmax = [](const std::string& size) {
    return "input X: float32[64, " + size + "]\n" + "largest[i: 64] = max(j: " + size +
           ") X[i, j]\n" + "power[i: 64, j: " + size + "] = exp(X[i, j] - largest[i])\n" +
           "total[i: 64] = sum(j: " + size + ") power[i, j]\n" + "P[i: 64, j: " + size +
           "] = power[i, j] / total[i]";
  };
  const auto rows = [&](const char* size, const char* arch) {
    const auto launches = DefaultLaunches(softmax(size), "auto.cuda/flat", arch);
    return launches.size() == 1 ? launches[0].block[1] : 0;
  };
  EXPECT_EQ(rows("2048", "cuda -arch=sm_80"), 8);
  EXPECT_EQ(rows("2048", "cuda -arch=sm_75"), 4);
  EXPECT_EQ(rows("2048", "cuda -arch=sm_61"), 4);
  EXPECT_EQ(rows("32000", "cuda -arch=sm_80"), 1);
  EXPECT_EQ(rows("32000", "cuda -arch=sm_75"), 0);  // launches of its stages
  EXPECT_EQ(rows("32000", "cuda -arch=sm_61"), 0);
}

TEST_F(AutoCudaTest, FlatComputesRowsSumsAndElements) {
  EXPECT_GE(RunSome(kGridSoftmax, "auto.cuda/flat", 12).run, 12);
  EXPECT_GE(RunSome(kGridNorm, "auto.cuda/flat", 12).run, 12);
  EXPECT_GE(RunSome(kGridPool, "auto.cuda/flat", 8).run, 8);
  EXPECT_GE(RunSome(kGridTotal, "auto.cuda/flat", 8).run, 8);
  EXPECT_EQ(RunSome(kGridTotal, "auto.cuda/fixed", 0).run, 3);  // it has one config
  EXPECT_GE(RunSome(kGridShare, "auto.cuda/flat", 6).run, 8);
  EXPECT_EQ(RunSome(kGridShare, "auto.cuda/fixed", 0).run, 3);
  // A scalar from few elements: none of its loops is bound to blocks or threads.
  const char* few = "input X: float32[30]\nS[] = sum(i: 30) X[i]";
  EXPECT_EQ(RunSome(few, "auto.cuda/fixed", 0).run, 3);
  EXPECT_GE(RunSome(few, "auto.cuda/flat", 4).run, 5);
  const char* scaled = "input X: float32[30]\nS[] = sum(i: 30) X[i]\nR[] = S[] * 2.0 + exp(S[])";
  EXPECT_EQ(RunSome(scaled, "auto.cuda/fixed", 0).run, 3);
  EXPECT_GE(RunSome(scaled, "auto.cuda/flat", 4).run, 5);
  EXPECT_GE(RunSome(kGridFirst, "auto.cuda/flat", 8).run, 8);
  EXPECT_GE(RunSome(kGridDense, "auto.cuda/flat", 8).run, 8);
}

TEST_F(AutoCudaTest, WholeRowsAreOneLaunch) {
  EXPECT_EQ(LaunchesOf(KernelOf(kGridSoftmax, "auto.cuda/flat", {})).size(), 1u);
  EXPECT_EQ(LaunchesOf(KernelOf(kGridNorm, "auto.cuda/flat", {})).size(), 1u);
  EXPECT_GT(
      LaunchesOf(KernelOf(kGridSoftmax, "auto.cuda/flat", {{"rows", KnobValue{false}}})).size(),
      1u);
}

TEST_F(AutoCudaTest, WhatDoesNotFitIsRefusedWithAReason) {
  const Workload w =
      Of("input A: float32[2048, 64]\ninput B: float32[2048, 64]\n"
         "C[i: 2048, j: 2048] = sum(k: 64) A[i, k] * B[j, k]");
  const Target target = *Target::Parse("cuda -arch=sm_80");
  const TemplateEntry* entry = BuiltInTemplates().Find("auto.cuda/tiles");
  Config config = *entry->default_config(w, target);
  const auto with = [&](const char* name, std::vector<std::int64_t> factors) {
    Config other = config;
    for (auto& [knob, value] : other.values) {
      if (knob == name) value = KnobValue{factors};
    }
    return ApplyTemplate(*entry, w, {}, target, other);
  };
  const auto threads = with("tile_1", {1, 1, 2048, 1});
  EXPECT_THAT(threads.status().message(), testing::HasSubstr("threads"));
  const auto shared = with("tile_1", {1, 256, 8, 1});
  ASSERT_TRUE(shared.ok());
  config.values = entry->default_config(w, target)->values;
  for (auto& [knob, value] : config.values) {
    if (knob == "reduce_0") value = KnobValue{std::vector<std::int64_t>{1, 64}};
    if (knob == "tile_1") value = KnobValue{std::vector<std::int64_t>{1, 256, 8, 1}};
  }
  const auto large = ApplyTemplate(*entry, w, {}, target, config);
  ASSERT_TRUE(large.ok());
  const auto lowered = Lower(large->schedule, "kernel", LowerLimitsFor(target));
  EXPECT_EQ(lowered.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(lowered.status().message(), testing::HasSubstr("shared"));
  EXPECT_THAT(entry->refuses(Of(kGridSoftmax), target), testing::HasSubstr("reduction"));
  EXPECT_NE(entry->refuses(w, *Target::Parse("llvm")), "");
}

TEST_F(AutoCudaTest, EveryConfigLowersOrIsRefused) {
  Random random(3);
  std::set<std::string> keys;
  for (const auto& [text, arch] :
       {std::pair(kGridDense, "sm_75"), std::pair(kGridConv, "sm_75"),
        std::pair(kGridBatch, "sm_75"), std::pair(kGridSoftmax, "sm_75"),
        std::pair(kGridNorm, "sm_75"), std::pair(kGridTotal, "sm_75"),
        std::pair(kGridTurned, "sm_80"), std::pair(kGridBytes, "sm_80")}) {
    const Target target = *Target::Parse(std::string("cuda -arch=") + arch);
    const Workload w = Of(text);
    for (const TemplateEntry* entry : BuiltInTemplates().For(w, target)) {
      keys.emplace(entry->key);
      const auto space = entry->define_space(w, target);
      ASSERT_TRUE(space.ok());
      int lowered = 0;
      for (int i = 0; i < 40; ++i) {
        const auto size = static_cast<std::uint64_t>(space->size());
        const auto kernel = ApplyTemplate(*entry, w, {}, target,
                                          space->At(static_cast<std::int64_t>(random.Below(size))));
        const auto program = kernel.ok() ? Lower(kernel->schedule, "kernel", LowerLimitsFor(target))
                                         : Result<Program>(kernel.status());
        lowered += program.ok() ? 1 : 0;
        if (program.ok()) {
          // The launches of a scalar are statements; there are more than stages.
          if (text != kGridTotal) ExpectSharedBytes(kernel->schedule, *program);
          continue;
        }
        EXPECT_EQ(program.status().code(), StatusCode::kInvalidArgument);
        EXPECT_NE(program.status().message(), "");
      }
      EXPECT_GT(lowered, 0) << entry->key << " of " << w.Key();
    }
  }
  EXPECT_EQ(keys, (std::set<std::string>{"auto.cuda/fixed", "auto.cuda/flat", "auto.cuda/mma",
                                         "auto.cuda/tiles"}));
}

TEST_F(AutoCudaTest, RandomExpressionsAreRight) {
  Random random(7);
  std::map<std::string, CudaRuns> runs;
  const Target target = *Target::Parse("cuda -arch=sm_80");
  for (std::uint64_t seed = 100; seed < 120; ++seed) {
    const Workload w = Of(seed < 114 ? RandomExpressionText(seed) : RandomProductText(seed));
    for (const TemplateEntry* entry : BuiltInTemplates().For(w, target)) {
      const auto space = entry->define_space(w, target);
      ASSERT_TRUE(space.ok()) << space.status().message();
      const auto index =
          static_cast<std::int64_t>(random.Below(static_cast<std::uint64_t>(space->size())));
      Run(w, *entry, target, space->At(index), runs[std::string(entry->key)]);
    }
  }
  EXPECT_GE(runs["auto.cuda/flat"].run, 12);
  EXPECT_GE(runs["auto.cuda/tiles"].run, 1);
  EXPECT_GE(runs["auto.cuda/mma"].run, 1);
}

}  // namespace
}  // namespace tilewright
