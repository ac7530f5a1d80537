#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/base/files/file.h"
#include "src/compiler/compile.h"
#include "src/compiler/plan/plan.h"
#include "src/compiler/run/run.h"
#include "src/graph/passes/passes.h"
#include "src/target/device.h"
#include "src/tensor/synthetic_data.h"
#include "tests/support/built_in.h"

namespace tilewright {

/// Two convolutions of one workload.
inline constexpr char kTwoConvs[] = R"(def @main(%data: Tensor[(1, 16, 8, 8), float32]) {
  %0 = nn.conv2d(%data, meta[relay.Constant][0] /* ty=Tensor[(16, 16, 3, 3), float32] */, padding=[1, 1, 1, 1]);
  %1 = nn.relu(%0);
  %2 = nn.conv2d(%1, meta[relay.Constant][1] /* ty=Tensor[(16, 16, 3, 3), float32] */, padding=[1, 1, 1, 1]);
  nn.relu(%2)
})";

/// Compiler of networks in Relay text for this CPU, with its own folder.
class Library : public testing::Test {
 protected:
  void SetUp() override {
    options_.templates = &BuiltInTemplates();
    options_.target = *Target::Parse("native");
    options_.device = ProbeHostCpu();
    options_.name = "small";
    auto folder = ScopedTempDir::Create("tilewright-library-test");
    ASSERT_TRUE(folder.ok());
    folder_.emplace(*std::move(folder));
  }
  static Graph Load(const char* text, bool seeded = true) {
    auto graph = ImportRelay(text, "net-1");
    EXPECT_TRUE(graph.ok()) << graph.status().message();
    if (seeded) SeedConstants(*graph, SeedRule::kMissing);
    return *std::move(graph);
  }
  static std::vector<Tensor> Inputs(const Graph& graph) {
    std::vector<Tensor> inputs;
    for (int id : graph.inputs()) {
      inputs.push_back(MakeSyntheticInput(graph.node(id).name, graph.node(id).type,
                                          SyntheticInputRule::kRandom));
    }
    return inputs;
  }
  std::string Path(const char* name) const { return folder_->path() + "/" + name; }

  CompileOptions options_;
  std::optional<ScopedTempDir> folder_;
};

}  // namespace tilewright
