// One library for a range of lengths of a sequence with attention: the results of every length
// against the reference at that length, and what such a library refuses.

#include <gmock/gmock.h>

#include <cmath>
#include <functional>

#include "src/compiler/check/verify.h"
#include "src/graph/ir/evaluate.h"
#include "src/graph/open/sequence.h"
#include "src/templates/attention_schedule.h"
#include "src/tensor/reference/reference.h"
#include "tests/compiler/library_fixture.h"

namespace tilewright {
namespace {

using testing::HasSubstr;

// The packed keys of a few blocks of positions are local, those of more are not.
constexpr std::int64_t kWidth = 64, kHeads = 2, kMaxLength = 75;

/// Variants of the network: some that a library can have, then each with something that it cannot.
enum class Variant : std::uint8_t {
  kEncoder,
  kGains,           ///< constants with one element for each position, before and after products
  kHeadsAsOutputs,  ///< what the attention reads is also an output
  kSumOfScores,     ///< divided by their sum before the softmax
  kChangedChances,  ///< multiplied after the softmax
  kMean,            ///< over all positions, at the end
  kBiases,          ///< a constant for each pair of positions
  kOnes,            ///< one number for all keys, with an element for each
  kMaskOfKeys,      ///< an input that the attention reads directly
  kRowsAsHeads,     ///< heads are runs of positions, without a transposition
  kReversedKeys,    ///< keys and values from the last position to the first
  kCausalSum,       ///< a constant of zeros and a large negative number is added to the scores
  kCausalChoice,    ///< scores of later keys are replaced, by a constant of pairs
  kEarlierKeys,     ///< the same, of all but the next two keys
  kRepeatedMask,    ///< a mask of keys is repeated to all pairs, and changed there
};

/// Builder of an encoder for sequences of one length.
class EncoderAt {
 public:
  EncoderAt(std::int64_t length, Variant variant) : length_(length), variant_(variant) {}

  Graph Run() {
    graph_.name = "encoder";
    graph_.binding_options = {"--dim seq=" + std::to_string(length_)};
    const int words = graph_.AddInput("words", {{1, length_, kWidth}, kFloat32});
    const int mask = graph_.AddInput("mask", {{1, length_}, kFloat32});
    int x = Op("placed", OpKind::kAdd, {words, Table("places", {1, length_, kWidth}, 1)});
    if (variant_ == Variant::kGains) {
      x = Op("gained", OpKind::kMul, {x, Table("gain", {1, length_, 1}, 1)});
    }
    const int unseen = Op("unseen", OpKind::kSub, {Scalar("one", 1), mask});
    const int bias = Op("bias", OpKind::kMul, {unseen, Scalar("lowest", -100)});
    int y = Normalized("norm1", Op("sum1", OpKind::kAdd, {Attention(x, bias), x}));
    int wide = Dense("wide", Reshaped("rows", y, {length_, kWidth}), 2 * kWidth, kWidth);
    if (variant_ == Variant::kGains) {
      wide = Op("wide_gained", OpKind::kMul, {wide, Table("gain_of_rows", {length_, 1}, 2)});
    }
    const int narrow = Dense("narrow", Op("gelu", OpKind::kTanh, {wide}), kWidth, 2 * kWidth);
    const int back = Reshaped("back", narrow, {1, length_, kWidth});
    y = Normalized("norm2", Op("sum2", OpKind::kAdd, {back, y}));
    if (variant_ == Variant::kMean) y = Mean("mean", y, 1);
    outputs_.insert(outputs_.begin(), y);
    graph_.SetOutputs(outputs_);
    return std::move(graph_);
  }

 private:
  int Op(const std::string& name, Operator op, std::vector<int> inputs) {
    const auto id = graph_.AddOperator(name, std::move(op), std::move(inputs));
    EXPECT_TRUE(id.ok()) << id.status().message();
    return id.ok() ? *id : 0;
  }
  int Op(const std::string& name, OpKind kind, std::vector<int> inputs) {
    return Op(name, Operator{kind, {}}, std::move(inputs));
  }
  int Scalar(const std::string& name, double value) {
    Tensor contents(TensorType{{1}, kFloat32});
    contents.Set(0, value);
    return graph_.AddConstant(name, std::move(contents));
  }
  /// A constant whose elements do not depend on its size.
  int Table(const std::string& name, std::vector<std::int64_t> shape, double scale) {
    Tensor contents(TensorType{std::move(shape), kFloat32});
    for (std::int64_t i = 0; i < contents.elements(); ++i) {
      contents.Set(i, scale * std::sin(static_cast<double>(i * i % 997) + scale));
    }
    return graph_.AddConstant(name, std::move(contents));
  }
  /// Pairs of positions: `inside` for keys up to `more` behind the query, else `outside`.
  int Triangle(const std::string& name, DataType dtype, std::int64_t more, double inside,
               double outside) {
    Tensor contents(TensorType{{1, length_, length_}, dtype});
    for (std::int64_t i = 0; i < length_ * length_; ++i) {
      contents.Set(i, i % length_ <= i / length_ + more ? inside : outside);
    }
    return graph_.AddConstant(name, std::move(contents));
  }
  int Reshaped(const std::string& name, int x, std::vector<std::int64_t> shape) {
    Operator op{OpKind::kReshape, {}};
    op.attributes.new_shape = std::move(shape);
    return Op(name, std::move(op), {x});
  }
  int Turned(const std::string& name, int x, std::vector<std::int64_t> axes) {
    Operator op{OpKind::kTranspose, {}};
    op.attributes.axes = std::move(axes);
    return Op(name, std::move(op), {x});
  }
  /// x from the last element of a dimension to the first.
  int Reversed(const std::string& name, int x, std::size_t axis) {
    Operator op{OpKind::kSlice, {}};
    op.attributes.end = graph_.node(x).type.shape;
    op.attributes.begin.assign(op.attributes.end.size(), 0);
    op.attributes.steps.assign(op.attributes.end.size(), 1);
    op.attributes.begin[axis] = op.attributes.end[axis] - 1;
    op.attributes.end[axis] = -1;
    op.attributes.steps[axis] = -1;
    return Op(name, std::move(op), {x});
  }
  int Mean(const std::string& name, int x, std::int64_t axis) {
    Operator op{OpKind::kReduceMean, {}};
    op.attributes.axes = {axis};
    op.attributes.keepdims = true;
    return Op(name, std::move(op), {x});
  }
  int Dense(const std::string& name, int x, std::int64_t out, std::int64_t in) {
    const double scale = 1 / std::sqrt(static_cast<double>(in));
    const int product =
        Op(name + "_product", OpKind::kDense, {x, Table(name + "_w", {out, in}, scale)});
    return Op(name, OpKind::kAdd, {product, Table(name + "_b", {out}, 0.1)});
  }
  int Normalized(const std::string& name, int x) {
    const int centred = Op(name + "_c", OpKind::kSub, {x, Mean(name + "_m", x, 2)});
    const int square = Op(name + "_s", OpKind::kMul, {centred, centred});
    const int safe =
        Op(name + "_a", OpKind::kAdd, {Mean(name + "_v", square, 2), Scalar(name + "_e", 1e-5)});
    return Op(name, OpKind::kDiv, {centred, Op(name + "_r", OpKind::kSqrt, {safe})});
  }
  int Heads(const std::string& name, int x, std::vector<std::int64_t> axes) {
    constexpr std::int64_t kEach = kWidth / kHeads;
    const int all = Dense(name, x, kWidth, kWidth);
    if (variant_ == Variant::kHeadsAsOutputs) outputs_.push_back(all);
    if (variant_ == Variant::kRowsAsHeads && name == "q") {
      return Reshaped(name + "_parts", all, {kHeads, length_, kEach});
    }
    const int parts = Reshaped(name + "_parts", all, {length_, kHeads, kEach});
    return Turned(name + "_turned", parts, std::move(axes));
  }
  int Attention(int x, int bias) {
    const int rows = Reshaped("x_rows", x, {length_, kWidth});
    const int q = Heads("q", rows, {1, 0, 2});
    int k = Heads("k", rows, {1, 0, 2}), v = Heads("v", rows, {1, 2, 0});
    if (variant_ == Variant::kReversedKeys) {
      k = Reversed("k_reversed", k, 1);
      v = Reversed("v_reversed", v, 2);
    }
    int repeated = -1;
    if (variant_ == Variant::kRepeatedMask) {
      Operator repeat{OpKind::kBroadcastTo, {}};
      repeat.attributes.new_shape = {1, length_, length_};
      const int pairs = Op("pairs", repeat, {Reshaped("bias_again", bias, {1, 1, length_})});
      repeated = Op("less", OpKind::kTanh, {pairs});
    }
    int scores = Op("scores", OpKind::kBatchMatmul, {q, k});
    scores = Op("scaled", OpKind::kMul, {scores, Scalar("scale", 0.25)});
    scores = Op("masked", OpKind::kAdd, {scores, Reshaped("bias3", bias, {1, 1, length_})});
    if (variant_ == Variant::kBiases) {
      scores = Op("biased", OpKind::kAdd, {scores, Table("biases", {1, length_, length_}, 1)});
    }
    if (variant_ == Variant::kOnes) {
      const int ones = graph_.AddFilledConstant("ones", {{1, 1, length_}, kFloat32}, 1);
      scores = Op("plus_one", OpKind::kAdd, {scores, ones});
    }
    if (variant_ == Variant::kMaskOfKeys) {
      const int keys = graph_.AddInput("keys", {{1, 1, length_}, kFloat32});
      scores = Op("plus_keys", OpKind::kAdd, {scores, keys});
    }
    if (variant_ == Variant::kCausalSum) {
      scores = Op("causal", OpKind::kAdd, {scores, Triangle("later", kFloat32, 0, 0, -1e4)});
    }
    if (variant_ == Variant::kCausalChoice || variant_ == Variant::kEarlierKeys) {
      const std::int64_t more = variant_ == Variant::kEarlierKeys ? 2 : 0;
      const int seen = Triangle("visible", kBool, more, 1, 0);
      scores = Op("causal", OpKind::kWhere, {seen, scores, Scalar("hidden", -1e4)});
    }
    if (repeated >= 0) scores = Op("repeated", OpKind::kAdd, {scores, repeated});
    if (variant_ == Variant::kSumOfScores) {
      scores = Op("centred", OpKind::kSub, {scores, Mean("mean_score", scores, 2)});
    }
    Operator softmax{OpKind::kSoftmax, {}};
    softmax.attributes.axis = -1;
    int chances = Op("chances", softmax, {scores});
    if (variant_ == Variant::kChangedChances) {
      chances = Op("changed", OpKind::kAdd, {chances, Scalar("more", 0.5)});
    }
    const int seen = Op("seen", OpKind::kBatchMatmul, {chances, v});
    const int joined =
        Reshaped("joined", Turned("seen_turned", seen, {1, 0, 2}), {length_, kWidth});
    return Reshaped("out3", Dense("out", joined, kWidth, kWidth), {1, length_, kWidth});
  }

  Graph graph_;
  std::int64_t length_;
  Variant variant_;
  std::vector<int> outputs_;  // besides the result
};

class OpenLengths : public Library {
 protected:
  static Graph At(std::int64_t length, Variant variant = Variant::kEncoder) {
    return EncoderAt(length, variant).Run();
  }
  Result<CompiledModel> CompileFor(SizeRange range, Variant variant = Variant::kEncoder) const {
    const auto read = [&](std::int64_t length) { return Result<Graph>(At(length, variant)); };
    return CompileOpen(At(1, variant), read, range, options_, Path("open.so"));
  }
  std::string RefusalOf(Variant variant) const {
    const auto compiled = CompileFor({"seq", 1, kMaxLength}, variant);
    EXPECT_EQ(compiled.status().code(), StatusCode::kUnsupported) << compiled.status().message();
    return compiled.status().message();
  }
  /// Compares the outputs of a library with those of the reference for the model of that length.
  static void ExpectRight(ModelLibrary& library, std::int64_t length,
                          Variant variant = Variant::kEncoder) {
    SCOPED_TRACE(length);
    const Graph graph = At(length, variant);
    ASSERT_TRUE(library.SetSize("seq", length).ok());
    const std::vector<Tensor> inputs = Inputs(graph);
    const auto outputs = library.Run(inputs);
    ASSERT_TRUE(outputs.ok()) << outputs.status().message();
    const auto expected = EvaluateGraph(graph, inputs, KeepValues::kOutputs, 1);
    ASSERT_TRUE(expected.ok()) << expected.status().message();
    ASSERT_EQ(outputs->size(), expected->size());
    for (std::size_t i = 0; i < expected->size(); ++i) {
      ASSERT_EQ((*outputs)[i].shape(), (*expected)[i].shape());
      const Comparison comparison = Compare((*outputs)[i], (*expected)[i], 1e-4);
      EXPECT_TRUE(comparison.ok) << "output " << i << ", element " << comparison.first_bad
                                 << ", error " << comparison.max_abs_error;
    }
  }
  /// Compiles a variant and compares a few lengths.
  void ExpectVariantRight(SizeRange range, Variant variant) const {
    const auto compiled = CompileFor(range, variant);
    ASSERT_TRUE(compiled.ok()) << compiled.status().message();
    auto library = ModelLibrary::Open(Path("open.so"));
    ASSERT_TRUE(library.ok()) << library.status().message();
    for (std::int64_t length : {std::int64_t{1}, std::int64_t{2}, std::int64_t{33}, range.most}) {
      ExpectRight(*library, length, variant);
    }
  }
  void ExpectAllLengthsRight(const std::string& target) {
    options_.target = *Target::Parse(target);
    const auto compiled = CompileFor({"seq", 1, kMaxLength});
    ASSERT_TRUE(compiled.ok()) << compiled.status().message();
    EXPECT_EQ(std::ranges::count(compiled->operators, "attention", &OperatorReport::op), 1);
    auto library = ModelLibrary::Open(Path("open.so"));
    ASSERT_TRUE(library.ok()) << library.status().message();
    for (std::int64_t length = 1; length <= kMaxLength; ++length) ExpectRight(*library, length);
    for (std::int64_t length : {kMaxLength, std::int64_t{3}, std::int64_t{33}, std::int64_t{32}}) {
      ExpectRight(*library, length);  // what longer ones left in memory has no influence
    }
  }
};

TEST_F(OpenLengths, ResultsOfEveryLengthAreTheReferences) { ExpectAllLengthsRight("native"); }
TEST_F(OpenLengths, ThreadsShareHeadsAndRows) { ExpectAllLengthsRight("native -num-threads=2"); }

TEST_F(OpenLengths, ConstantsMayHaveOneElementForEachPosition) {
  ExpectVariantRight({"seq", 1, kMaxLength}, Variant::kGains);
}

// The programs that the attention's kernel is made of have more positions than the range.
TEST_F(OpenLengths, ConstantsOfPositionsEndWithTheRange) {
  options_.target = *Target::Parse("llvm -mcpu=haswell");
  options_.check = CheckLevel::kNone;
  const auto compiled = CompileFor({"seq", 1, 40}, Variant::kGains);
  EXPECT_TRUE(compiled.ok()) << compiled.status().message();
}

TEST_F(OpenLengths, WhatTheAttentionReadsMayBeAnOutput) {
  ExpectVariantRight({"seq", 1, kMaxLength}, Variant::kHeadsAsOutputs);
}

TEST_F(OpenLengths, InputsOfTheModelMayBeMasks) {
  ExpectVariantRight({"seq", 1, kMaxLength}, Variant::kMaskOfKeys);
}

TEST_F(OpenLengths, MasksMayBeCausal) {
  ExpectVariantRight({"seq", 1, kMaxLength}, Variant::kCausalSum);
  ExpectVariantRight({"seq", 1, kMaxLength}, Variant::kCausalChoice);
  ExpectVariantRight({"seq", 1, kMaxLength}, Variant::kEarlierKeys);
}

TEST_F(OpenLengths, MasksMayBeRepeatedForAllQueries) {
  ExpectVariantRight({"seq", 1, kMaxLength}, Variant::kRepeatedMask);
}

// The mean is of the attention's results, too.
TEST_F(OpenLengths, ResultsMayBeReducedOverPositions) {
  ExpectVariantRight({"seq", 1, kMaxLength}, Variant::kMean);
}

TEST_F(OpenLengths, CausalMasksAgreeOperatorByOperator) {
  ASSERT_TRUE(CompileFor({"seq", 1, kMaxLength}, Variant::kCausalSum).ok());
  auto library = ModelLibrary::Open(Path("open.so"));
  ASSERT_TRUE(library.ok());
  for (std::int64_t length : {1, 2, 37}) {
    Graph graph = At(length, Variant::kCausalSum);
    ASSERT_TRUE(library->FitSize(ValuesOf(graph, graph.inputs())).ok());
    const std::vector<Tensor> inputs = Inputs(graph);
    const auto report = Verify(*PartitionLike(std::move(graph), *library), *library, inputs, {});
    ASSERT_TRUE(report.ok()) << report.status().message();
    EXPECT_TRUE(report->ok()) << report->Summary();
  }
}

TEST_F(OpenLengths, TheHeaderStatesTheRange) {
  const auto compiled = CompileFor({"seq", 1, kMaxLength});
  ASSERT_TRUE(compiled.ok()) << compiled.status().message();
  EXPECT_THAT(compiled->header, HasSubstr("Read with --dim seq=1..75"));
  EXPECT_THAT(compiled->header, testing::Not(HasSubstr("--dim seq=73")));
}

// Kernels are made for at least seven blocks of positions, and a compiler may read ahead there.
TEST_F(OpenLengths, TheArenaHasRoomForWhatKernelsMayRead) {
  const auto few = CompileFor({"seq", 1, 3});
  ASSERT_TRUE(few.ok()) << few.status().message();
  std::int64_t bytes_of_position = 0;
  options_.change_plan = [&](const Plan& plan) { bytes_of_position = plan.arena_bytes; };
  const auto again = CompileFor({"seq", 1, 3});
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_GE(few->arena_bytes, 7 * OpenAttentionBlock(options_.target) * bytes_of_position);
}

TEST_F(OpenLengths, OperatorsAgreeWithTheReferenceAtALength) {
  ASSERT_TRUE(CompileFor({"seq", 1, kMaxLength}).ok());
  auto library = ModelLibrary::Open(Path("open.so"));
  ASSERT_TRUE(library.ok());
  for (std::int64_t length : {2, 37}) {
    Graph graph = At(length);
    ASSERT_TRUE(library->FitSize(ValuesOf(graph, graph.inputs())).ok());
    const std::vector<Tensor> inputs = Inputs(graph);
    const auto report = Verify(*PartitionLike(std::move(graph), *library), *library, inputs, {});
    ASSERT_TRUE(report.ok()) << report.status().message();
    EXPECT_TRUE(report->ok()) << report->Summary();
  }
}

TEST_F(OpenLengths, AllOperatorsCanBeChecked) {
  options_.check = CheckLevel::kAll;
  const auto compiled = CompileFor({"seq", 1, kMaxLength});
  ASSERT_TRUE(compiled.ok()) << compiled.status().message();
  EXPECT_EQ(compiled->check.compared, compiled->check.operators);
}

TEST_F(OpenLengths, OtherLengthsAreRefusedBeforeARun) {
  const auto compiled = CompileFor({"seq", 3, 40});
  ASSERT_TRUE(compiled.ok()) << compiled.status().message();
  auto library = ModelLibrary::Open(Path("open.so"));
  ASSERT_TRUE(library.ok());
  EXPECT_EQ(library->inputs()[1].type.shape, (std::vector<std::int64_t>{1, 3}));
  for (std::int64_t length : {0, -1, 2, 41}) {
    EXPECT_THAT(library->SetSize("seq", length).message(), HasSubstr("from 3 to 40")) << length;
  }
  ExpectRight(*library, 3);
  ExpectRight(*library, 40);
}

// Layers of few rows have code for blocks of one to a few positions. That for three is broken here.
TEST_F(OpenLengths, LengthsOfAllKernelsAreChecked) {
  bool broken = false;
  options_.change_plan = [&](Plan& plan) {
    for (PlanStep& step : plan.steps) {
      auto* call = std::get_if<KernelStep>(&step.action);
      if (call == nullptr) continue;
      for (BlockKernel& block : call->blocks) {
        if (block.bodies.size() < 3) continue;
        block.bodies[2].body = MakeBlock({});
        broken = true;
      }
    }
  };
  const auto compiled = CompileFor({"seq", 1, 6});
  ASSERT_TRUE(broken);
  EXPECT_EQ(compiled.status().code(), StatusCode::kInternal);
  EXPECT_THAT(compiled.status().message(), HasSubstr("with seq = 3"));
}

TEST_F(OpenLengths, AttentionOfTooManyKeysIsRefused) {
  EXPECT_THAT(CompileFor({"seq", 1, 8200}).status().message(),
              HasSubstr("attention that has no schedule for any length (it needs"));
}

// Each thread packs the keys and values of a head.
TEST_F(OpenLengths, TheWorkspaceOfTheMostPositionsMustFitPointersOf32Bits) {
  options_.target = *Target::Parse("llvm -mtriple=armv7l-linux-gnueabihf -num-threads=1024");
  options_.runtime_path = "/dev/null";  // so that the test needs no cross compiler
  EXPECT_THAT(CompileFor({"seq", 1, 8000}).status().message(),
              testing::ContainsRegex("the workspace of .*: 2[0-9]+ bytes, a 32-bit target"));
}

TEST_F(OpenLengths, ErrorsOfTheFileAtOtherLengthsAreReturned) {
  const auto read = [&](std::int64_t length) {
    return length < 10 ? Result<Graph>(At(length)) : InvalidArgument("no such node");
  };
  const Status status =
      CompileOpen(At(1), read, {"seq", 1, kMaxLength}, options_, Path("open.so")).status();
  EXPECT_EQ(status.message(), "no such node");
}

TEST_F(OpenLengths, RangesOfTwoLengthsAreRefused) {
  EXPECT_EQ(CompileFor({"seq", 1, 2}).status().code(), StatusCode::kUnsupported);
}

TEST_F(OpenLengths, OperatorsAcrossPositionsAreRefusedByName) {
  EXPECT_THAT(RefusalOf(Variant::kSumOfScores),
              HasSubstr("--dim seq=1..75: attention that has a reduce_mean"));
  EXPECT_THAT(RefusalOf(Variant::kChangedChances), HasSubstr("changes the result of its softmax"));
  EXPECT_THAT(RefusalOf(Variant::kOnes), HasSubstr("reads other values with other lengths"));
  EXPECT_THAT(RefusalOf(Variant::kRowsAsHeads),
              HasSubstr("attention that moves positions (reshape of "));
  EXPECT_THAT(RefusalOf(Variant::kReversedKeys),
              HasSubstr("attention that moves positions (slice of "));
  EXPECT_THAT(RefusalOf(Variant::kBiases), HasSubstr("biases is a constant that depends on it"));
}

}  // namespace
}  // namespace tilewright
