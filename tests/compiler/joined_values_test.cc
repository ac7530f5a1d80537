// Values that are concatenated repeatedly, as in dense blocks, where each layer reads all previous
// ones: they share memory.

#include <gtest/gtest.h>

#include <algorithm>

#include "src/base/files/file.h"
#include "src/base/random.h"
#include "src/compiler/compile.h"
#include "src/compiler/plan/plan.h"
#include "src/tensor/synthetic_data.h"
#include "tests/support/built_in.h"

namespace tilewright {
namespace {

class JoinedGraph {
 public:
  JoinedGraph(std::int64_t channels, std::int64_t size) {
    graph_.name = "joined";
    const int data = graph_.AddInput("data", {{1, 3, size, size}, kFloat32});
    values_.push_back(Convolution(data, channels, 1));
  }

  /// Layers that each read all previous ones and produce `growth` channels.
  Graph DenseBlock(int layers, std::int64_t growth) && {
    for (int i = 0; i < layers; ++i) {
      const int narrow = Convolution(Normalized(JoinAll()), 4 * growth, 1);
      values_.push_back(Convolution(Normalized(narrow), growth, 3));
    }
    const int last = Convolution(Normalized(JoinAll()), 32, 1);
    return std::move(*this).Finish({last});
  }

  /// Concatenates random values repeatedly, and parts of them.
  Graph AtRandom(std::uint64_t seed) && {
    Random random(seed);
    const auto pick = [&](std::size_t bound) {
      return static_cast<std::size_t>(random.Below(bound));
    };
    const auto any = [&] { return values_[pick(values_.size())]; };
    std::vector<std::vector<int>> joins = {{values_[0]}};
    for (std::size_t count = 6 + pick(10); count > 0; --count) {
      const std::size_t kind = pick(6);
      if (kind < 2) {
        values_.push_back(Convolution(any(), 16 * (1 + static_cast<std::int64_t>(pick(3))), 1));
      } else if (kind == 2 && ChannelsOf(values_.back()) > 16) {
        values_.push_back(Half(values_.back(), pick(2) == 0));
      } else {
        // Often the inputs of an earlier concatenation, and more.
        std::vector<int> inputs = {any()};
        if (pick(3) != 0) inputs = joins[pick(joins.size())];
        for (std::size_t more = 1 + pick(2); more > 0; --more) {
          inputs.insert(pick(4) == 0 ? inputs.begin() : inputs.end(), any());
        }
        std::int64_t channels = 0;
        for (int input : inputs) channels += ChannelsOf(input);
        if (channels > 1024) continue;
        joins.push_back(inputs);
        values_.push_back(Join(inputs));
        if (pick(2) == 0) values_.push_back(Convolution(Normalized(values_.back()), 16, 1));
      }
    }
    std::vector<int> outputs = {values_.back()};
    if (const int other = any(); other != outputs[0]) outputs.push_back(other);
    return std::move(*this).Finish(outputs);
  }

 private:
  Graph Finish(std::vector<int> outputs) && {
    graph_.SetOutputs(std::move(outputs));
    SeedConstants(graph_, SeedRule::kMissing);
    return std::move(graph_);
  }

  std::string Name() { return "v" + std::to_string(names_++); }
  const std::vector<std::int64_t>& ShapeOf(int id) const { return graph_.node(id).type.shape; }
  std::int64_t ChannelsOf(int id) const { return ShapeOf(id)[1]; }

  int Add(OpKind kind, std::vector<int> inputs, OpAttributes attributes = {}) {
    auto id = graph_.AddOperator(Name(), Operator{kind, std::move(attributes)}, std::move(inputs));
    EXPECT_TRUE(id.ok()) << id.status().message();
    return id.ok() ? *id : values_.back();
  }

  int Convolution(int data, std::int64_t channels, std::int64_t window) {
    OpAttributes attributes;
    attributes.data_layout = "NCHW";
    attributes.kernel_layout = "OIHW";
    attributes.padding.fill(window / 2);
    attributes.dtype = kFloat32;
    const TensorType type{{channels, ChannelsOf(data), window, window}, kFloat32};
    return Add(OpKind::kConv2d, {data, graph_.AddConstant(Name(), type)}, attributes);
  }

  int Normalized(int value) {
    const TensorType type{{ChannelsOf(value), 1, 1}, kFloat32};
    const int scaled = Add(OpKind::kMul, {value, graph_.AddConstant(Name(), type)});
    return Add(OpKind::kRelu, {Add(OpKind::kAdd, {scaled, graph_.AddConstant(Name(), type)})});
  }

  int Join(const std::vector<int>& inputs) {
    OpAttributes attributes;
    attributes.axis = 1;
    return Add(OpKind::kConcat, inputs, attributes);
  }

  int JoinAll() { return values_.size() == 1 ? values_[0] : Join(values_); }

  int Half(int value, bool first) {
    OpAttributes attributes;
    attributes.begin.assign(4, 0);
    attributes.end = ShapeOf(value);
    attributes.steps.assign(4, 1);
    const std::int64_t middle = ChannelsOf(value) / 32 * 16;
    (first ? attributes.end : attributes.begin)[1] = middle;
    return Add(OpKind::kSlice, {value}, attributes);
  }

  Graph graph_;
  int names_ = 0;
  std::vector<int> values_;
};

CompileOptions OptionsOn(const char* target) {
  CompileOptions options;
  options.templates = &BuiltInTemplates();
  options.name = "joined";
  options.target = *Target::Parse(target);
  return options;
}

TEST(JoinedValues, ALayerOfADenseBlockCopiesNothing) {
  for (const char* target : {"llvm -mcpu=skylake-avx512", "llvm -mcpu=core-avx2"}) {
    const auto plan = MakeCheckedPlan(JoinedGraph(64, 14).DenseBlock(12, 32), OptionsOn(target));
    ASSERT_TRUE(plan.ok()) << target << ": " << plan.status().message();
    for (const PlanStep& step : plan->steps) {
      EXPECT_FALSE(step.copies()) << target;
      EXPECT_EQ(step.report.op.find("concat"), std::string::npos) << target << step.report.op;
    }
  }
}

TEST(JoinedValues, ComputeWhatTheReferenceDoes) {
  auto folder = ScopedTempDir::Create("tilewright-joined-test");
  ASSERT_TRUE(folder.ok());
  CompileOptions options = OptionsOn("native");
  options.device = ProbeHostCpu();
  options.check = CheckLevel::kAll;
  const std::string path = folder->path() + "/model.so";
  const auto block = Compile(JoinedGraph(32, 4).DenseBlock(6, 16), options, path);
  ASSERT_TRUE(block.ok()) << block.status().message();
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    const auto compiled = Compile(JoinedGraph(16, 2 + seed % 3).AtRandom(seed), options, path);
    ASSERT_TRUE(compiled.ok()) << "seed " << seed << ": " << compiled.status().message();
  }
}

TEST(JoinedValues, HavePlansHoweverTheyAreJoined) {
  for (const char* target : {"llvm -mcpu=skylake-avx512", "llvm -mcpu=core-avx2", "llvm"}) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      const auto plan =
          MakeCheckedPlan(JoinedGraph(16, 2 + seed % 3).AtRandom(seed), OptionsOn(target));
      ASSERT_TRUE(plan.ok()) << target << ", seed " << seed << ": " << plan.status().message();
    }
  }
}

}  // namespace
}  // namespace tilewright
