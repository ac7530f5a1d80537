// The program prints the output that the README shows.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "src/base/files/file.h"
#include "src/compiler/compile.h"
#include "src/compiler/plan/plan.h"
#include "src/graph/passes/pack.h"
#include "src/models/models.h"
#include "tests/support/built_in.h"

namespace tilewright {
namespace {

Graph BuiltInModel(const char* name, bool int8) {
  ModelOptions model;
  model.int8 = int8;
  const auto bytes = MakeModelOnnx(name, model);
  EXPECT_TRUE(bytes.ok()) << bytes.status().message();
  auto graph = ImportOnnx(*bytes, name);
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  return *std::move(graph);
}

/// Returns the README's line with a command and the output after it.
std::string ShownFor(const std::string& command) {
  const auto readme = ReadFile(TILEWRIGHT_SOURCE_DIR "/README.md");
  EXPECT_TRUE(readme.ok()) << readme.status().message();
  const std::size_t begin = readme->find("$ " + command + "  ");
  EXPECT_NE(begin, std::string::npos) << command;
  return readme->substr(begin, readme->find('\n', begin) - begin);
}

std::string Agree(std::ptrdiff_t count) {
  return fmt::format("{} operators agree with the reference", count);
}

TEST(Readme, CountsTheOperatorsOfTheCpusExample) {
  CompileOptions options;
  options.templates = &BuiltInTemplates();
  options.target = *Target::Parse("llvm -mcpu=core-avx2");
  options.device = ProbeHostCpu();
  const auto plan = MakeCheckedPlan(BuiltInModel("resnet18_v1", false), options);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_THAT(ShownFor("tilewright verify resnet18.onnx resnet18.so"),
              testing::HasSubstr(Agree(std::ssize(plan->steps))));
}

TEST(Readme, ShowsTheSpaceThatItsExampleHas) {
  const Workload workload = *Workload::Parse(
      "conv2d(float32[1,64,56,56]NCHW,float32[64,64,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32");
  const Target target = *Target::Parse("llvm -mcpu=znver4");
  const TemplateEntry& entry = *BuiltInTemplates().For(workload, target).front();
  const auto space = entry.define_space(workload, target);
  const auto chosen = entry.default_config(workload, target);
  ASSERT_TRUE(space.ok() && chosen.ok());
  const auto readme = ReadFile(TILEWRIGHT_SOURCE_DIR "/README.md");
  ASSERT_TRUE(readme.ok());
  EXPECT_THAT(*readme, testing::HasSubstr(fmt::format("{} v{}: {} configs, default {{\"index\":{},",
                                                      entry.key, entry.version, space->size(),
                                                      chosen->index)));
}

TEST(Readme, CountsTheOperatorsOfTheVtasExample) {
  CompileOptions options;
  options.templates = &BuiltInTemplates();
  options.target = *Target::Parse("vta -model=sim_1x16_i8w8a32_15_15_18_17");
  PackReport report;
  auto packed =
      PackForVta(BuiltInModel("squeezenet1_1", true), vta::Design::Default(), {}, &report);
  ASSERT_TRUE(packed.ok()) << packed.status().message();
  const auto plan = MakeCheckedPlan(*std::move(packed), options);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  const auto launched = std::ranges::count_if(
      plan->steps, [](const PlanStep& step) { return step.stream() != nullptr; });
  const auto outputs = std::ssize(plan->graph.outputs());
  EXPECT_THAT(ShownFor("tilewright verify s8.relay --target vta --vta-config sim"),
              testing::HasSubstr(Agree(launched + outputs)));
  EXPECT_THAT(ShownFor("tilewright pack s8.onnx --vta-config sim -o s8.relay"),
              testing::HasSubstr(fmt::format("{} convolutions and {} matrix products packed",
                                             report.convolutions, report.products)));
}

}  // namespace
}  // namespace tilewright
