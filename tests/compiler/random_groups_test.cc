// Random chains of fused operators around convolutions: few and odd numbers of channels, operands
// that broadcast in every way, values that are read twice, and intermediate outputs.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "src/base/files/file.h"
#include "src/base/random.h"
#include "src/compiler/check/coverage.h"
#include "src/compiler/compile.h"
#include "src/compiler/plan/plan.h"
#include "src/compiler/run/vta_run.h"
#include "src/graph/ir/evaluate.h"
#include "src/graph/ir/graph.h"
#include "src/tensor/synthetic_data.h"
#include "tests/support/built_in.h"

namespace tilewright {
namespace {

class RandomGroups {
 public:
  explicit RandomGroups(std::uint64_t seed) : random_(seed) {
    graph_.name = "random";
    integers_ = Pick(4) == 0;
    batch_ = 1 + Pick(2);
    height_ = 1 + Pick(6);
    width_ = 1 + Pick(6);
  }

  Graph Make() {
    constexpr std::int64_t kFirst[] = {1, 3, 16, 17};
    const DataType dtype = integers_ ? kInt8 : kFloat32;
    values_.push_back(graph_.AddInput("data", {{batch_, kFirst[Pick(4)], height_, width_}, dtype}));
    for (std::int64_t count = 4 + Pick(6); count > 0; --count) Step();
    std::vector<int> outputs = {values_.back()};
    for (int i = 0; i < 2; ++i) {
      const int other = Any();
      const bool given = graph_.node(other).kind == NodeKind::kInput;
      if (!given && std::ranges::find(outputs, other) == outputs.end()) outputs.push_back(other);
    }
    graph_.SetOutputs(outputs);
    SeedConstants(graph_, SeedRule::kMissing);
    return std::move(graph_);
  }

 private:
  std::int64_t Pick(std::int64_t bound) {
    return static_cast<std::int64_t>(random_.Below(static_cast<std::uint64_t>(bound)));
  }
  /// Returns a random value, preferably a late one.
  int Any() {
    const auto count = static_cast<std::int64_t>(values_.size());
    return values_[static_cast<std::size_t>(std::max(Pick(count), Pick(count)))];
  }
  std::string Name() { return "v" + std::to_string(names_++); }
  const TensorType& TypeOf(int id) const { return graph_.node(id).type; }

  int Add(OpKind kind, std::vector<int> inputs, OpAttributes attributes = {}) {
    auto id = graph_.AddOperator(Name(), Operator{kind, std::move(attributes)}, std::move(inputs));
    EXPECT_TRUE(id.ok()) << id.status().message();
    return id.ok() ? *id : values_.back();
  }

  void Step() {
    switch (Pick(15)) {
      case 0:
      case 1:
      case 2:
        values_.push_back(Convolution(Any()));
        return;
      case 3:
      case 4:
        values_.push_back(Unary(Any()));
        return;
      case 5:
        values_.push_back(Window(Any()));
        return;
      case 6:
        values_.push_back(Part(Any()));
        return;
      case 7:
        values_.push_back(Joined(Any()));
        return;
      case 8:
        values_.push_back(Spread(Any()));
        return;
      case 9:
      case 10:
        values_.push_back(Rows(Any()));
        return;
      default:
        values_.push_back(Binary(Any()));
    }
  }

  int Convolution(int data) {
    constexpr std::int64_t kChannels[] = {1, 1, 1, 2, 15, 16, 17, 20, 32};
    const std::int64_t channels = kChannels[Pick(9)];
    const TensorType type{{channels, TypeOf(data).shape[1], 1, 1}, TypeOf(data).dtype};
    const int weight =
        Pick(4) == 0 ? graph_.AddInput(Name(), type) : graph_.AddConstant(Name(), type);
    OpAttributes attributes;
    attributes.data_layout = "NCHW";
    attributes.kernel_layout = "OIHW";
    attributes.dtype = integers_ ? kInt32 : kFloat32;
    const int product = Add(OpKind::kConv2d, {data, weight}, attributes);
    if (!integers_) return product;
    OpAttributes narrow;
    narrow.dtype = kInt8;
    return Add(OpKind::kSaturateCast, {product}, narrow);
  }

  /// Returns some of the channels; half of the time a few whole blocks.
  int Part(int value) {
    const auto& shape = TypeOf(value).shape;
    const std::int64_t step = Pick(2) == 0 && shape[1] > 16 ? 16 : 1;
    OpAttributes attributes;
    attributes.begin = {0, step * Pick((shape[1] - 1) / step + 1), 0, 0};
    attributes.end = shape;
    attributes.end[1] -= Pick(2) * Pick(shape[1] - attributes.begin[1]);
    attributes.steps = {1, 1, 1, 1};
    return Add(OpKind::kSlice, {value}, attributes);
  }

  /// Concatenates a value with others of its image size, possibly including itself.
  int Joined(int value) {
    const auto& shape = TypeOf(value).shape;
    std::vector<int> inputs = {value};
    for (int other : values_) {
      const auto& its = TypeOf(other).shape;
      const bool fits = its[0] == shape[0] && its[2] == shape[2] && its[3] == shape[3];
      if (fits && Pick(2) == 0 && inputs.size() < 4) inputs.push_back(other);
    }
    OpAttributes attributes;
    attributes.axis = 1;
    return Add(OpKind::kConcat, inputs, attributes);
  }

  /// Adds a transposed convolution whose windows do not overlap; small images stay small.
  int Spread(int data) {
    const auto& shape = TypeOf(data).shape;
    if (integers_ || shape[2] * shape[3] > 64) return Unary(data);
    constexpr std::int64_t kChannels[] = {1, 2, 16, 20};
    const std::int64_t rows = 1 + Pick(2), columns = 1 + Pick(3);
    OpAttributes attributes;
    attributes.data_layout = "NCHW";
    attributes.kernel_layout = "IOHW";
    attributes.strides = {rows, columns};
    attributes.dtype = kFloat32;
    const TensorType type{{shape[1], kChannels[Pick(4)], rows, columns}, kFloat32};
    return Add(OpKind::kConv2dTranspose, {data, graph_.AddConstant(Name(), type)}, attributes);
  }

  int Unary(int value) {
    constexpr OpKind kReal[] = {OpKind::kSigmoid, OpKind::kRelu, OpKind::kTanh, OpKind::kAbs};
    constexpr OpKind kWhole[] = {OpKind::kRelu, OpKind::kNegate, OpKind::kAbs};
    return Add(integers_ ? kWhole[Pick(3)] : kReal[Pick(4)], {value});
  }

  int Window(int value) {
    OpAttributes attributes;
    if (Pick(2) == 0) {
      attributes.axes = {2, 3};
      attributes.keepdims = true;
      return Add(integers_ ? OpKind::kReduceMax : OpKind::kReduceMean, {value}, attributes);
    }
    attributes.data_layout = "NCHW";
    attributes.pool_size = {3, 3};
    attributes.padding = {1, 1, 1, 1};
    return Add(OpKind::kMaxPool2d, {value}, attributes);
  }

  /// Reduces each row to a number, or transforms the row as a whole.
  int Rows(int value) {
    constexpr OpKind kReductions[] = {OpKind::kReduceMax, OpKind::kReduceMin, OpKind::kReduceSum,
                                      OpKind::kReduceMean};
    OpAttributes attributes;
    if (!integers_ && Pick(3) == 0) {
      attributes.axis = 3;
      return Add(Pick(4) == 0 ? OpKind::kLogSoftmax : OpKind::kSoftmax, {value}, attributes);
    }
    attributes.axes = {Pick(2) == 0 ? -1 : 3};
    if (Pick(4) == 0) attributes.axes = {2, 3};
    attributes.keepdims = true;
    return Add(kReductions[Pick(integers_ ? 2 : 4)], {value}, attributes);
  }

  int Binary(int value) {
    constexpr OpKind kKinds[] = {OpKind::kAdd, OpKind::kMul, OpKind::kSub, OpKind::kMax};
    std::vector<int> inputs = {value, Operand(value)};
    if (Pick(2) == 0) std::swap(inputs[0], inputs[1]);
    return Add(kKinds[Pick(4)], inputs);
  }

  /// Returns an operand that broadcasts with a value: the value itself, another value, or a new
  /// input or constant.
  int Operand(int value) {
    std::vector<int> fitting;
    const auto& shape = TypeOf(value).shape;
    for (int other : values_) {
      const auto& its = TypeOf(other).shape;
      bool fits = true;
      for (std::size_t i = 0; i < shape.size(); ++i) {
        fits = fits && (its[i] == shape[i] || its[i] == 1 || shape[i] == 1);
      }
      if (fits) fitting.push_back(other);
    }
    if (Pick(3) != 0) {
      return fitting[static_cast<std::size_t>(Pick(static_cast<std::int64_t>(fitting.size())))];
    }
    std::vector<std::int64_t> made;
    for (std::int64_t size : shape) made.push_back(Pick(2) == 0 ? size : 1);
    made.erase(made.begin(), made.begin() + Pick(4));
    const TensorType type{made, TypeOf(value).dtype};
    return Pick(2) == 0 ? graph_.AddInput(Name(), type) : graph_.AddConstant(Name(), type);
  }

  Random random_;
  Graph graph_;
  bool integers_ = false;
  std::int64_t batch_ = 1, height_ = 1, width_ = 1;
  int names_ = 0;
  std::vector<int> values_;
};

// The planner checks its plan; this test checks the code of the kernels.
TEST(RandomGraphs, HavePlansWhoseKernelsWriteAllResults) {
  for (const char* name :
       {"llvm -mcpu=skylake-avx512", "llvm -mcpu=core-avx2", "llvm", "cuda -arch=sm_80"}) {
    CompileOptions options;
    options.templates = &BuiltInTemplates();
    options.name = "random";
    options.target = *Target::Parse(name);
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      const auto plan = MakeCheckedPlan(RandomGroups(seed).Make(), options);
      ASSERT_TRUE(plan.ok()) << name << ", seed " << seed << ": " << plan.status().message();
      for (const Program& kernel : plan->kernels) {
        EXPECT_EQ(CoverageOf(kernel, std::int64_t{1} << 20), Coverage::kAll)
            << name << ", seed " << seed << ": " << ToString(kernel);
      }
    }
  }
}

// None of the operators is packed: a VTA plan runs all of them on the host, so only its memory can
// be wrong.
TEST(RandomGraphs, AreEvaluatedByTheHostInTheMemoryOfThePlan) {
  CompileOptions options;
  options.templates = &BuiltInTemplates();
  options.target = *Target::Parse("vta -model=sim_1x16_i8w8a32_15_15_18_17");
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const auto plan = MakeCheckedPlan(RandomGroups(seed).Make(), options);
    ASSERT_TRUE(plan.ok()) << "seed " << seed << ": " << plan.status().message();
    auto executor = VtaExecutor::Create(*plan, {}, 1);
    ASSERT_TRUE(executor.ok()) << executor.status().message();
    const PlannedNetwork network(*plan, *executor);
    std::vector<Tensor> inputs;
    for (const ModelValue& value : network.inputs()) {
      inputs.push_back(MakeSyntheticInput(value.name, value.type, SyntheticInputRule::kRandom));
    }
    const auto outputs = network.Run(inputs);
    ASSERT_TRUE(outputs.ok()) << "seed " << seed << ": " << outputs.status().message();
    const auto expected = EvaluateGraph(plan->graph, inputs);
    ASSERT_TRUE(expected.ok()) << expected.status().message();
    for (std::size_t i = 0; i < expected->size(); ++i) {
      const Tensor &seen = (*outputs)[i], &wanted = (*expected)[i];
      EXPECT_EQ(std::memcmp(seen.data(), wanted.data(), static_cast<std::size_t>(wanted.bytes())),
                0)
          << "seed " << seed << ", output " << i;
    }
  }
}

TEST(RandomGraphs, ComputeWhatTheReferenceDoes) {
  auto folder = ScopedTempDir::Create("tilewright-random-test");
  ASSERT_TRUE(folder.ok());
  for (const char* name : {"native", "llvm -mcpu=core-avx2"}) {
    CompileOptions options;
    options.templates = &BuiltInTemplates();
    options.target = *Target::Parse(name);
    options.device = ProbeHostCpu();
    options.check = CheckLevel::kAll;
    const bool avx2 = FeaturesOf(*Target::Parse("native"))->avx2;
    for (std::uint64_t seed = 100; seed < 112; ++seed) {
      if (!avx2 && options.target.ToString().find("avx2") != std::string::npos) continue;
      const auto compiled =
          Compile(RandomGroups(seed).Make(), options, folder->path() + "/model.so");
      ASSERT_TRUE(compiled.ok()) << name << ", seed " << seed << ": "
                                 << compiled.status().message();
    }
  }
}

}  // namespace
}  // namespace tilewright
