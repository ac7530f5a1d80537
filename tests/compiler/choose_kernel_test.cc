// Selection of an operator's kernel.

#include "src/compiler/plan/choose_kernel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "records/package/catalog.h"
#include "src/templates/registry.h"
#include "tests/support/built_in.h"

namespace tilewright {
namespace {

using testing::HasSubstr;

/// Always returns this config of this template.
class OneChooser final : public records::ModelChooser {
 public:
  OneChooser(const TemplateEntry& entry, Config config)
      : entry_(entry), config_(std::move(config)) {}
  Result<std::optional<records::ModelChoice>> Choose(const Workload& workload,
                                                     const Target& target) const override {
    records::ModelChoice choice;
    choice.candidate = {{workload, target}, {}, std::string(entry_.key), entry_.version, config_};
    choice.explanation = "model of tests";
    return std::optional(choice);
  }

 private:
  const TemplateEntry& entry_;
  Config config_;
};

/// Returns the first config of the template whose output layout differs from that of `layouts`.
Config ConfigOfOtherLayout(const TemplateEntry& entry, const Workload& workload,
                           const Target& target, const KernelLayouts& layouts) {
  const ConfigSpace space = *entry.define_space(workload, target);
  for (std::int64_t i = 0; i < space.size(); ++i) {
    auto kernel = entry.apply(workload, Epilogue(), target, space.At(i));
    if (kernel.ok() && kernel->layouts.output != layouts.output) return space.At(i);
  }
  TW_CHECK(false, "every config has the same layout");
  return {};
}

TEST(ChooseKernel, AModelsChoiceIsTakenUnlessItNeedsMoreChangesOfLayout) {
  const Workload conv = *Workload::Parse(
      "conv2d(float32[1,24,14,14]NCHW,float32[24,24,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32");
  CompileOptions options;
  options.templates = &BuiltInTemplates();
  options.target = *Target::Parse("llvm -mcpu=core-avx2");
  options.accept = records::AnswerLevel::kDefault;
  const TemplateEntry& first = *BuiltInTemplates().For(conv, options.target).front();
  const Config config = *first.default_config(conv, options.target);
  const KernelLayouts layouts = first.apply(conv, Epilogue(), options.target, config)->layouts;
  const TemplateEntry& other = *BuiltInTemplates().Find("conv2d_NCHWc.x86");
  records::Catalog catalog;
  catalog.SetModel(std::make_unique<OneChooser>(
      other, ConfigOfOtherLayout(other, conv, options.target, layouts)));
  options.catalog = &catalog;
  const auto choose = [&](const LayoutSeconds& seconds) {
    auto choice = ChooseKernel(conv, Epilogue(), /*plain_weight=*/false, seconds, options);
    EXPECT_TRUE(choice.ok()) << choice.status().message();
    return std::move(choice->report);
  };

  const OperatorReport free = choose([](const KernelLayouts&) { return 0.0; });
  EXPECT_EQ(free.template_key, other.key);
  EXPECT_EQ(free.answer, records::AnswerLevel::kModel);
  EXPECT_FALSE(free.tuned);

  // The layout of the default config has no cost, all others do.
  const OperatorReport costly =
      choose([&](const KernelLayouts& one) { return one.output == layouts.output ? 0.0 : 1e-3; });
  EXPECT_EQ(costly.template_key, first.key);
  EXPECT_EQ(costly.answer, records::AnswerLevel::kMiss);
  EXPECT_THAT(costly.explanation, HasSubstr("changes of layout"));
}

// A prediction in one layout does not prevent other layouts.
TEST(ChooseKernel, AModelsChoiceIsOneOfTheLayoutsThatAreWeighed) {
  const Workload conv = *Workload::Parse(
      "conv2d(float32[1,24,14,14]NCHW,float32[24,24,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32");
  CompileOptions options;
  options.templates = &BuiltInTemplates();
  options.target = *Target::Parse("llvm -mcpu=core-avx2");
  const auto alone = KernelOptions(conv, Epilogue(), /*plain_weight=*/false, options);
  ASSERT_TRUE(alone.ok()) << alone.status().message();
  const KernelLayouts layouts = alone->front().layouts;
  const TemplateEntry& other = *BuiltInTemplates().Find("conv2d_NCHWc.x86");
  records::Catalog catalog;
  catalog.SetModel(std::make_unique<OneChooser>(
      other, ConfigOfOtherLayout(other, conv, options.target, layouts)));
  options.catalog = &catalog;
  const auto all = KernelOptions(conv, Epilogue(), /*plain_weight=*/false, options);
  ASSERT_TRUE(all.ok()) << all.status().message();
  EXPECT_EQ(all->front().entry, &other);
  ASSERT_GE(all->size(), alone->size());
  const auto standard = std::ranges::find_if(*all, [&](const KernelOption& option) {
    return option.layouts.data == layouts.data && option.layouts.output == layouts.output;
  });
  ASSERT_NE(standard, all->end());
  const auto report = [&](const KernelOption& option) {
    auto choice = ChooseKernel(
        conv, Epilogue(), /*plain_weight=*/false, [](const KernelLayouts&) { return 0.0; }, options,
        &option);
    EXPECT_TRUE(choice.ok()) << choice.status().message();
    return choice->report;
  };
  EXPECT_EQ(report(all->front()).answer, records::AnswerLevel::kModel);
  const OperatorReport chosen = report(*standard);
  EXPECT_EQ(chosen.answer, records::AnswerLevel::kMiss);
  EXPECT_EQ(chosen.template_key, standard->entry->key);
  EXPECT_THAT(chosen.explanation, HasSubstr("other layouts cost the network less"));
}

// 8-bit numbers are multiplied directly only if an instruction for that exists.
TEST(ChooseKernel, WidensProductsWhereThereIsNoFastDotProduct) {
  for (const char* key :
       {"conv2d(uint8[1,32,14,14]NCHW,int8[32,32,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->int32",
        "dense(uint8[4,64]MK,int8[32,64]NK)->int32"}) {
    const Workload workload = *Workload::Parse(key);
    for (const auto& [cpu, wide] :
         {std::pair("core-avx2", true), std::pair("skylake-avx512", true),
          std::pair("cascadelake", false), std::pair("alderlake", false)}) {
      CompileOptions options;
      options.templates = &BuiltInTemplates();
      options.target = *Target::Parse(std::string("llvm -mcpu=") + cpu);
      auto choice = ChooseKernel(
          workload, Epilogue(), /*plain_weight=*/false, [](const KernelLayouts&) { return 0.0; },
          options);
      ASSERT_TRUE(choice.ok()) << choice.status().message();
      EXPECT_EQ(choice->layouts.multiply_dtype == std::optional(kInt16), wide) << key << " " << cpu;
    }
  }
}

}  // namespace
}  // namespace tilewright
