// Small graphs as CUDA kernels in the SIMT emulator.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "src/base/files/file.h"
#include "src/base/hash.h"
#include "src/base/json.h"
#include "src/compiler/check/check_process.h"
#include "src/compiler/check/verify.h"
#include "src/compiler/compile.h"
#include "src/compiler/run/plan_run.h"
#include "src/graph/passes/passes.h"
#include "src/tensor/synthetic_data.h"
#include "tests/compiler/sample_networks.h"
#include "tests/records/shared_file.h"
#include "tests/support/built_in.h"

namespace tilewright {
namespace {

using testing::HasSubstr;

Result<Plan> PlanOf(const std::string& text, SeedRule rule = SeedRule::kMissing) {
  auto graph = ImportRelay(text, "small");
  TW_RETURN_IF_ERROR(graph);
  SeedConstants(*graph, rule);
  CompileOptions options;
  options.templates = &BuiltInTemplates();
  options.target = *Target::Parse("cuda -arch=sm_80");
  return MakeCheckedPlan(*std::move(graph), options);
}

std::vector<Tensor> InputsOf(const Graph& graph) {
  std::vector<Tensor> inputs;
  for (const int id : graph.inputs()) {
    const Node& node = graph.node(id);
    inputs.push_back(
        MakeSyntheticInput(node.name, node.type, SyntheticInputRule::kSeededQuantized));
  }
  return inputs;
}

class EmulatedNetwork : public testing::TestWithParam<Network> {};

TEST_P(EmulatedNetwork, GivesWhatTheReferenceGives) {
  auto plan = PlanOf(GetParam().text);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  auto executor = EmulateGpu(*plan);
  ASSERT_TRUE(executor.ok()) << executor.status().message();
  const std::vector<Tensor> inputs = InputsOf(plan->graph);
  const PlannedNetwork network(*plan, **executor);
  auto report = VerifyPlanned(*plan, network, nullptr, inputs, {});
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_TRUE(report->ok()) << report->Summary();
  EXPECT_FALSE(report->checks.empty());
  auto outputs = network.Run(inputs);
  ASSERT_TRUE(outputs.ok());
  EXPECT_EQ(outputs->size(), plan->graph.outputs().size());
}

INSTANTIATE_TEST_SUITE_P(Networks, EmulatedNetwork, testing::ValuesIn(kNetworks),
                         [](const auto& tested) { return std::string(tested.param.name); });

constexpr const char* kDense = R"(def @main(%data: Tensor[(4, 16), float32]) {
  nn.dense(%data, meta[relay.Constant][0] /* ty=Tensor[(32, 16), float32] */)
})";

/// An executor that adds one to the first element of another executor's result.
class OffByOne final : public StepExecutor {
 public:
  explicit OffByOne(StepExecutor& inner) : inner_(inner) {}
  Status Run(const PlanStep& step, std::span<void* const> arguments) override {
    TW_RETURN_IF_ERROR(inner_.Run(step, arguments));
    *static_cast<float*>(arguments.back()) += 1;
    return {};
  }

 private:
  StepExecutor& inner_;
};

TEST(GpuNetworkTest, AnOperatorThatDiffersIsNamed) {
  auto plan = PlanOf(kDense);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  auto executor = EmulateGpu(*plan);
  ASSERT_TRUE(executor.ok()) << executor.status().message();
  OffByOne wrong(**executor);
  auto report =
      VerifyPlanned(*plan, PlannedNetwork(*plan, wrong), nullptr, InputsOf(plan->graph), {});
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_FALSE(report->ok());
  EXPECT_THAT(report->Summary(), HasSubstr("operator 0 ("));
}

/// An executor that writes before its result.
class WritesInFront final : public StepExecutor {
 public:
  Status Run(const PlanStep&, std::span<void* const> arguments) override {
    static_cast<char*>(arguments.back())[-1] ^= 1;
    return {};
  }
};

TEST(GpuNetworkTest, WhatIsWrittenBesideTheWorkingMemoryIsFound) {
  auto plan = PlanOf(R"(def @main(%data: Tensor[(4, 16), float32]) {
  %0 = nn.softmax(%data);
  nn.softmax(%0, axis=0)
})");
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  // Only buffers in the arena have writable memory before them.
  std::erase_if(plan->steps, [&](const PlanStep& step) {
    const PlanBuffer& result = plan->buffers[static_cast<std::size_t>(step.buffers.back())];
    return result.space != BufferSpace::kArena || result.offset != 0;
  });
  ASSERT_FALSE(plan->steps.empty());
  WritesInFront executor;
  const Status status = PlannedNetwork(*plan, executor).Run(InputsOf(plan->graph)).status();
  EXPECT_EQ(status.code(), StatusCode::kCorrupt);
  EXPECT_THAT(status.message(), HasSubstr("working memory: "));
}

// In a subprocess, as `run` and `verify` run the emulator.
TEST(GpuNetworkTest, AKernelThatCrashesOrDoesNotEndIsNamed) {
  class Faulty final : public StepExecutor {
   public:
    explicit Faulty(bool crashes) : crashes_(crashes) {}
    Status Run(const PlanStep&, std::span<void* const>) override {
      if (crashes_) ::raise(SIGSEGV);
      while (true) (void)::getpid();
    }

   private:
    bool crashes_;
  };
  auto plan = PlanOf("def @main(%x: Tensor[(4, 8), float32]) { nn.relu(%x) }");
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  for (const bool crashes : {true, false}) {
    const auto check = [&](CheckProgress& progress) -> Result<Json> {
      std::vector<OperatorReport> operators;
      for (const PlanStep& step : plan->steps) operators.push_back(step.report);
      progress.SetOperators(operators);
      Faulty faulty(crashes);
      VerifyOptions options;
      options.progress = &progress;
      TW_RETURN_IF_ERROR(VerifyPlanned(*plan, PlannedNetwork(*plan, faulty), nullptr,
                                       InputsOf(plan->graph), options));
      return Json();
    };
    const CheckProcessResult answer = RunCheckProcess(check, {}, 0.2);
    EXPECT_THAT(answer.status.message(),
                HasSubstr(crashes ? "(relu): its kernel" : "did not end in 0.2 s"));
    EXPECT_THAT(answer.status.message(), HasSubstr(crashes ? "SIGSEGV" : "(relu): its kernel"));
  }
}

TEST(GpuNetworkTest, OtherInputsAreRefused) {
  auto plan = PlanOf(kDense);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  auto executor = EmulateGpu(*plan);
  ASSERT_TRUE(executor.ok());
  EXPECT_THAT(PlannedNetwork(*plan, **executor).Run({}).status().message(),
              HasSubstr("0 inputs, expected 1"));
}

// The first operators of the fragment, with fixed-point requantization; bench/simt_networks runs
// all of them.
struct Beginning {
  const char *text, *numbers, *last;
  double scale;
};
void PrintTo(const Beginning& file, std::ostream* out) { *out << file.text; }
class EmulatedFragment : public testing::TestWithParam<Beginning> {};

TEST_P(EmulatedFragment, BeginsExactly) {
  const std::string path = SharedFile(std::string("relay/") + GetParam().text + ".relay");
  const std::string numbers = SharedFile(std::string("expected/") + GetParam().numbers + ".json");
  TW_NEEDS_SHARED(path);
  TW_NEEDS_SHARED(numbers);
  const std::string end = GetParam().last;
  auto graph = LoadGraph(path);
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  SeedConstants(*graph, SeedRule::kMissing);
  const Node& input = graph->node(graph->inputs()[0]);
  std::vector<Tensor> inputs;
  inputs.push_back(MakeQuantizedInput(input.name, input.type, GetParam().scale, 57));
  int last = 0;
  while (last < graph->size() && graph->node(last).name != end) ++last;
  ASSERT_LT(last, graph->size());
  graph->SetOutputs({last});
  CompileOptions options;
  options.templates = &BuiltInTemplates();
  options.target = *Target::Parse("cuda -arch=sm_80");
  auto plan = MakeCheckedPlan(*std::move(graph), options);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  auto executor = EmulateGpu(*plan);
  ASSERT_TRUE(executor.ok()) << executor.status().message();
  auto outputs = PlannedNetwork(*plan, **executor).Run(inputs);
  ASSERT_TRUE(outputs.ok()) << outputs.status().message();
  const Tensor& result = outputs->front();
  const std::span bytes(result.data(), static_cast<std::size_t>(result.bytes()));
  const Json expected = *ParseJson(*ReadFile(numbers));
  const auto row =
      std::ranges::find_if(expected["values"], [&](const Json& value) { return value[0] == end; });
  ASSERT_NE(row, expected["values"].end());
  EXPECT_EQ(HexOf(Crc32(bytes)).substr(8), (*row)[8].get<std::string>());
}
INSTANTIATE_TEST_SUITE_P(Own, EmulatedFragment,
                         testing::Values(Beginning{"own_fixed", "seeded_own_fixed", "%21", 0.05}));
INSTANTIATE_TEST_SUITE_P(Shared, EmulatedFragment,
                         testing::Values(Beginning{"efficientnet_fused_int16",
                                                   "seeded_efficientnet_fragment", "%1081",
                                                   0.0374636}));

}  // namespace
}  // namespace tilewright
