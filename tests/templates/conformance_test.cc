// Every template on the sample workloads that it serves, with a few configs of each: results equal
// the reference, and a minimum number of configs ran. The test iterates over the registry, so it
// covers every registered template.

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <optional>

#include "src/base/random.h"
#include "src/codegen/codegen.h"
#include "src/schedule/lower/lower.h"
#include "src/target/cpu.h"
#include "src/target/device.h"
#include "src/target/library.h"
#include "src/templates/registry.h"
#include "src/tensor/reference/reference.h"
#include "tests/support/built_in.h"
#include "tests/templates/kernel_runner.h"
#include "tests/templates/samples.h"

namespace tilewright {
namespace {

/// Operands of a sample and the result of the reference.
struct Expected {
  Workload workload;
  Epilogue epilogue;
  AnchorData data;
  Tensor result;
};

Expected ExpectedOf(const Sample& sample) {
  auto workload = Workload::Parse(sample.workload);
  TW_CHECK(workload.ok(), workload.status().message());
  auto epilogue = Epilogue::Parse(sample.epilogue);
  TW_CHECK(epilogue.ok(), epilogue.status().message());
  AnchorData data = MakeAnchorData(*workload, *epilogue, 7);
  std::vector<const Tensor*> operands;
  for (const Tensor& operand : data.operands) operands.push_back(&operand);
  auto result = EvaluateAnchor(*workload, *epilogue, data.data, data.weight, operands);
  TW_CHECK(result.ok(), result.status().message());
  return {*std::move(workload), *std::move(epilogue), std::move(data), *std::move(result)};
}

/// Returns the targets of this machine, including older instruction sets; GPU kernels run in the
/// SIMT emulator.
std::vector<std::string> TargetsOf(const TemplateEntry& entry) {
  if (entry.device == "cuda") return {"cuda -arch=sm_75"};
  if (entry.key.ends_with(".mali")) return {"opencl -device=mali"};
  if (entry.key.ends_with(".image2d")) return {"opencl -device=adreno"};
  if (entry.key.ends_with(".intel_graphics")) return {"opencl -device=intel_graphics"};
  if (LibraryOfTemplate(entry.key) != nullptr) {
    return {"native -libs=dnnl", "native -libs=dnnl -num-threads=2"};
  }
  if (entry.key.ends_with(".arm_cpu")) {
    return {"native -device=arm_cpu", "native -device=arm_cpu -num-threads=2"};
  }
  std::vector<std::string> targets = {"native", "native -num-threads=2"};
  if (FeaturesOf(*Target::Parse("native"))->avx2) targets.push_back("llvm -mcpu=core-avx2");
  return targets;
}

/// Returns whether only a CPU with AVX-512 could run the samples that this template rejects.
bool NeedsAvx512(const TemplateEntry& entry) {
  if (entry.device != "llvm" || FeaturesOf(*Target::Parse("native"))->avx512) return false;
  const Target target = *Target::Parse("llvm -mcpu=znver4");
  return std::ranges::any_of(kSamples, [&](const Sample& sample) {
    return entry.refuses(*Workload::Parse(sample.workload), target).empty();
  });
}

/// Draws configs of one template and counts those that ran. Otherwise a template that rejects
/// everything would pass.
class TemplateConformanceTest : public testing::TestWithParam<std::string> {
 protected:
  const TemplateEntry& entry() const { return *BuiltInTemplates().Find(GetParam()); }

  void CheckSample(const Expected& expected, const Target& target) {
    auto space = entry().define_space(expected.workload, target);
    ASSERT_TRUE(space.ok()) << space.status().message();
    auto chosen = entry().default_config(expected.workload, target);
    ASSERT_TRUE(chosen.ok()) << chosen.status().message();
    auto located = space->Locate(*chosen);
    ASSERT_TRUE(located.ok()) << located.status().message();
    EXPECT_EQ(*located, *chosen);
    ++samples_;
    const int before = ran_;
    CheckConfig(expected, target, *chosen);
    EXPECT_EQ(ran_, before + 1) << "the default config is refused";
    Random random(Fnv1a64(entry().key));
    // Many configs of a GPU are not legal launches: more draws than runs.
    constexpr int kRandomConfigs = 2, kDraws = 6;
    for (int i = 0; i < kDraws && ran_ < before + 1 + kRandomConfigs; ++i) {
      const auto index =
          static_cast<std::int64_t>(random.Below(static_cast<std::uint64_t>(space->size())));
      CheckConfig(expected, target, space->At(index));
    }
  }

  int samples_ = 0, ran_ = 0;

 private:
  void CheckConfig(const Expected& expected, const Target& target, const Config& config) {
    SCOPED_TRACE(config.ToString());
    auto kernel = entry().apply(expected.workload, expected.epilogue, target, config);
    if (!kernel.ok()) {
      EXPECT_EQ(kernel.status().code(), StatusCode::kInvalidArgument) << kernel.status().message();
      return;
    }
    auto result = RunKernel(expected.workload, expected.epilogue, target, *kernel, expected.data);
    // A violation of launch limits is detected by lowering.
    if (DeviceTraitsOf(target).launches_grids &&
        result.status().code() == StatusCode::kInvalidArgument) {
      return;
    }
    ASSERT_TRUE(result.ok()) << result.status().message();
    const Comparison comparison = Compare(*result, expected.result);
    EXPECT_TRUE(comparison.ok) << "element " << comparison.first_bad << ", error "
                               << comparison.max_abs_error << ", RMS " << comparison.reference_rms;
    ++ran_;
  }
};

TEST_P(TemplateConformanceTest, EqualsTheReference) {
  if (LibraryOfTemplate(entry().key) != nullptr && !LibraryVersion(*FindLibrary("dnnl")).ok()) {
    GTEST_SKIP() << "needs libdnnl";
  }
  for (const Sample& sample : kSamples) {
    std::optional<Expected> expected;
    for (const std::string& text : TargetsOf(entry())) {
      const Target target = *Target::Parse(text);
      if (!entry().refuses(*Workload::Parse(sample.workload), target).empty()) continue;
      SCOPED_TRACE(std::string(entry().key) + ", " + sample.name + ", " + text);
      if (!expected) expected = ExpectedOf(sample);
      CheckSample(*expected, target);
    }
  }
  if (samples_ == 0 && NeedsAvx512(entry())) GTEST_SKIP() << "this CPU has no AVX-512";
  EXPECT_GT(samples_, 0) << "no sample is for " << entry().key;
  // The default config of each sample, and a random one for two of three samples. Samples without
  // knobs repeat the default config.
  EXPECT_GE(ran_, samples_ + samples_ * 2 / 3) << "too much was refused";
}

/// Templates that run here: tests/vta and tests/measure run streams of a VTA; libraries of GPUs
/// need a GPU; tile_products_test.cc runs those that need AMX.
std::vector<std::string> Runnable() {
  std::vector<std::string> keys;
  for (const TemplateEntry& entry : BuiltInTemplates().all()) {
    const bool of_gpu = entry.device == "cuda";
    const bool of_amx = entry.key.ends_with("_amx.cpu");
    if (entry.apply == nullptr || of_amx || (of_gpu && LibraryOfTemplate(entry.key) != nullptr))
      continue;
    keys.emplace_back(entry.key);
  }
  return keys;
}

INSTANTIATE_TEST_SUITE_P(Templates, TemplateConformanceTest, testing::ValuesIn(Runnable()),
                         [](const auto& tested) {
                           std::string name = tested.param;
                           std::ranges::replace_if(
                               name, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
                           return name;
                         });

TEST(TemplateRegistryTest, EveryAnchorOfTheSamplesHasATemplateOnEveryCpu) {
  for (const Sample& sample : kSamples) {
    for (const char* target : {"native", "native -num-threads=2", "llvm -mcpu=core-avx2"}) {
      EXPECT_FALSE(
          BuiltInTemplates().For(*Workload::Parse(sample.workload), *Target::Parse(target)).empty())
          << sample.name << " on " << target;
    }
  }
}

TEST(TemplateHalfTest, ACpuWithoutConversionsIsToldSo) {
  const Workload workload = *Workload::Parse("dense(float16[4,8]MK,float16[8,8]NK)->float32");
  const Target old = *Target::Parse("llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64");
  const TemplateEntry* entry = BuiltInTemplates().For(workload, old).front();
  auto kernel = entry->apply(workload, {}, old, *entry->default_config(workload, old));
  ASSERT_TRUE(kernel.ok()) << kernel.status().message();
  auto program = Lower(kernel->schedule, "kernel");
  ASSERT_TRUE(program.ok()) << program.status().message();
  auto object = Generate({*program}, old, Emit::kObject);
  EXPECT_EQ(object.status().code(), StatusCode::kUnsupported);
  EXPECT_NE(object.status().message().find("+f16c"), std::string::npos);
}

TEST(TemplateRegistryTest, KeysAreFoundAndUnknownOnesAreNot) {
  for (const TemplateEntry& entry : BuiltInTemplates().all())
    EXPECT_EQ(BuiltInTemplates().Find(entry.key), &entry);
  EXPECT_EQ(BuiltInTemplates().Find("conv2d"), nullptr);
  EXPECT_EQ(BuiltInTemplates().Find(""), nullptr);
}

}  // namespace
}  // namespace tilewright
