#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/base/files/file.h"
#include "src/compiler/compile.h"
#include "src/compiler/run/run.h"
#include "src/graph/ir/evaluate.h"
#include "src/graph/ir/graph.h"
#include "src/graph/passes/passes.h"
#include "src/tensor/synthetic_data.h"
#include "tests/support/built_in.h"

namespace tilewright {

inline constexpr const char* kSmallGpuNetwork = R"(def @main(%data: Tensor[(4, 16), float32]) {
  %0 = nn.dense(%data, meta[relay.Constant][0] /* ty=Tensor[(32, 16), float32] */);
  %1 = nn.relu(%0);
  %2 = nn.softmax(%1);
  (%1, %2, %data)
})";

/// A model compiled for a GPU, by default for sm_80, the architecture of the fake device.
class GpuLibraryFixture {
 protected:
  GpuLibraryFixture() {
    auto folder = ScopedTempDir::Create("tilewright-gpu-test");
    TW_CHECK(folder.ok());
    folder_.emplace(*std::move(folder));
  }
  void Make(const std::string& text, const std::string& target = "cuda -arch=sm_80") {
    text_ = text;
    options_.templates = &BuiltInTemplates();
    options_.target = *Target::Parse(target);
    options_.name = "net";
    auto compiled = Compile(Load(), options_, path());
    ASSERT_TRUE(compiled.ok()) << compiled.status().message();
    header_ = compiled->header;
    operators_ = compiled->operators;
    auto plan = MakeCheckedPlan(Load(), options_);
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    plan_.emplace(*std::move(plan));
  }
  Graph Load() const {
    auto graph = ImportRelay(text_, "small");
    TW_CHECK(graph.ok(), graph.status().message());
    SeedConstants(*graph, SeedRule::kMissing);
    return *std::move(graph);
  }
  ModelLibrary Open(const char* driver) const {
    auto model = ModelLibrary::Open(path());
    TW_CHECK(model.ok(), model.status().message());
    const Status used = model->UseDevice(driver, 0);
    TW_CHECK(used.ok(), used.message());
    return *std::move(model);
  }
  std::vector<Tensor> Inputs() const {
    std::vector<Tensor> inputs;
    for (const int id : plan_->graph.inputs()) {
      const Node& node = plan_->graph.node(id);
      inputs.push_back(
          MakeSyntheticInput(node.name, node.type, SyntheticInputRule::kSeededQuantized));
    }
    return inputs;
  }
  std::vector<Tensor> Expected() const {
    auto expected = EvaluateGraph(Load(), Inputs());
    TW_CHECK(expected.ok(), expected.status().message());
    return *std::move(expected);
  }
  std::string path() const { return folder_->path() + "/net.so"; }

  std::string text_, header_;
  std::vector<OperatorReport> operators_;
  CompileOptions options_;
  std::optional<ScopedTempDir> folder_;
  std::optional<Plan> plan_;
};

inline void ExpectSame(const Result<std::vector<Tensor>>& outputs,
                       const std::vector<Tensor>& expected) {
  ASSERT_TRUE(outputs.ok()) << outputs.status().message();
  ASSERT_EQ(outputs->size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const Comparison comparison = Compare((*outputs)[i], expected[i]);
    EXPECT_TRUE(comparison.ok) << "output " << i << " element " << comparison.first_bad;
  }
}

}  // namespace tilewright
