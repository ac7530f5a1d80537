// One library for a range of lengths whose positions are joined: recurrences of any number of
// steps, reductions over positions, single positions. The results of every length against the
// reference at that length.

#include <gmock/gmock.h>

#include <cmath>

#include "src/compiler/check/verify.h"
#include "src/graph/ir/evaluate.h"
#include "src/graph/open/sequence.h"
#include "tests/compiler/library_fixture.h"
#include "tests/support/recurrences.h"

namespace tilewright {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kMostSteps = 19, kUnitsOfStep = 20, kWidthOfRow = 24;

/// What a network does with the positions.
enum class Join : std::uint8_t {
  kStates,  ///< a recurrence whose last states are outputs, and its results
  kStatesBackwards,
  kResults,     ///< results alone, through a layer, back into a second recurrence
  kByteStates,  ///< states quantized to bytes
  kMean,
  kSum,
  kLargest,
  kMeanTakenOff,  ///< the mean is taken off each position
  kMaskedMean,    ///< a sum of positions times a mask, divided by the mask's sum
  kFirst,
  kLast,
  kReversed,  ///< positions from the last to the first
  kGram,      ///< products of all pairs of positions
  kSoftmax,   ///< along the positions
};

/// Builder of a network for sequences of one length.
class JoinAt {
 public:
  JoinAt(std::int64_t length, Join join, std::int64_t batch)
      : length_(length), join_(join), batch_(batch) {}

  Graph Run() {
    graph_.name = "joins";
    graph_.binding_options = {"--dim n=" + std::to_string(length_)};
    if (join_ == Join::kStates || join_ == Join::kStatesBackwards) {
      AddGated(join_ == Join::kStatesBackwards);
    } else if (join_ == Join::kByteStates || join_ == Join::kResults) {
      AddBytes();
    } else {
      AddRows();
    }
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
  int Weight(const std::string& name, const TensorType& type, double scale = 1) {
    Tensor contents = MakeSyntheticInput(name, type, SyntheticInputRule::kRandom);
    if (type.dtype.is_float()) {
      for (std::int64_t i = 0; i < contents.elements(); ++i)
        contents.Set(i, contents.At(i) * scale);
    }
    return graph_.AddConstant(name, std::move(contents));
  }
  int Rows(const std::string& name, int x, std::int64_t begin, std::int64_t end, std::size_t axis,
           std::int64_t step = 1) {
    Operator op{OpKind::kSlice, {}};
    op.attributes.end = graph_.node(x).type.shape;
    op.attributes.begin.assign(op.attributes.end.size(), 0);
    op.attributes.steps.assign(op.attributes.end.size(), 1);
    op.attributes.begin[axis] = begin;
    op.attributes.end[axis] = end;
    op.attributes.steps[axis] = step;
    return Op(name, std::move(op), {x});
  }
  int Reshaped(const std::string& name, int x, std::vector<std::int64_t> shape) {
    Operator op{OpKind::kReshape, {}};
    op.attributes.new_shape = std::move(shape);
    return Op(name, std::move(op), {x});
  }
  int Reduced(const std::string& name, OpKind kind, int x, bool keepdims) {
    Operator op{kind, {}};
    op.attributes.axes = {1};
    op.attributes.keepdims = keepdims;
    return Op(name, std::move(op), {x});
  }

  void AddGated(bool backwards) {
    const auto types = GatedRecurrenceInputs(length_, batch_, kUnitsOfStep);
    std::vector<int> inputs;
    const char* names[] = {"x", "goes_on", "h", "c", "weight"};
    for (std::size_t i = 0; i < types.size(); ++i) {
      inputs.push_back(i == 4 ? Weight(names[i], types[i], 0.3)
                              : graph_.AddInput(names[i], types[i]));
    }
    const int all = Op("all", GatedRecurrence(batch_, kUnitsOfStep, backwards), inputs);
    outputs_ = {Op("results", OpKind::kTanh, {Rows("steps", all, 0, length_, 0)}),
                Rows("last_h", all, length_, length_ + 1, 0),
                Rows("last_c", all, length_ + 1, length_ + 2, 0)};
  }

  int Steps(const std::string& name, int x, bool backwards, int* last) {
    const auto types = QuantizedRecurrenceInputs(length_, batch_, kUnitsOfStep);
    Tensor weight = MakeSyntheticInput(name + "_w", types[2], SyntheticInputRule::kRandom);
    Tensor totals(types[3]);
    for (std::int64_t i = 0; i < weight.elements(); ++i) {
      const std::int64_t row = i / kUnitsOfStep;
      totals.Set(row, totals.At(row) + weight.At(i));
    }
    const int all = Op(name, QuantizedRecurrence(batch_, kUnitsOfStep, backwards),
                       {x, graph_.AddFilledConstant(name + "_h", types[1], 0),
                        graph_.AddConstant(name + "_w", std::move(weight)),
                        graph_.AddConstant(name + "_t", std::move(totals))});
    if (last != nullptr) *last = Rows(name + "_last", all, length_, length_ + 1, 0);
    return Rows(name + "_steps", all, 0, length_, 0);
  }

  void AddBytes() {
    int x = graph_.AddInput("x", {{length_, batch_, kUnitsOfStep}, kFloat32});
    int last = -1;
    int y = Steps("forward", x, false, join_ == Join::kByteStates ? &last : nullptr);
    const int weight = Weight("between_w", {{kUnitsOfStep, kUnitsOfStep}, kFloat32}, 0.2);
    y = Op("between", OpKind::kDense,
           {Reshaped("rows", y, {length_ * batch_, kUnitsOfStep}), weight});
    y = Reshaped("steps", y, {length_, batch_, kUnitsOfStep});
    y = Steps("back", y, true, nullptr);
    outputs_ = {y};
    if (last >= 0) outputs_.push_back(last);
  }

  void AddRows() {
    const int words = graph_.AddInput("words", {{1, length_, kWidthOfRow}, kFloat32});
    const int rows = Reshaped("rows", words, {length_, kWidthOfRow});
    const int weight = Weight("w", {{kWidthOfRow, kWidthOfRow}, kFloat32}, 0.2);
    const int wide = Op("wide", OpKind::kTanh, {Op("product", OpKind::kDense, {rows, weight})});
    const int x = Reshaped("back", wide, {1, length_, kWidthOfRow});
    const int one = Joined(x);
    outputs_ = {one};
    if (!IsOne()) return;
    const int row = Reshaped("one_row", one, {1, kWidthOfRow});
    outputs_.push_back(Op("tags", OpKind::kDense, {row, weight}));
  }

  /// Returns true if the result is of one position.
  bool IsOne() const {
    return join_ != Join::kMeanTakenOff && join_ != Join::kReversed && join_ != Join::kSoftmax &&
           join_ != Join::kGram;
  }
  int Joined(int x) {
    switch (join_) {
      case Join::kMean:
        return Reduced("mean", OpKind::kReduceMean, x, false);
      case Join::kSum:
        return Reduced("sum", OpKind::kReduceSum, x, true);
      case Join::kLargest:
        return Reduced("largest", OpKind::kReduceMax, x, false);
      case Join::kMeanTakenOff:
        return Op("taken_off", OpKind::kSub, {x, Reduced("mean", OpKind::kReduceMean, x, true)});
      case Join::kMaskedMean: {
        const int mask = graph_.AddInput("mask", {{1, length_, 1}, kFloat32});
        const int sum =
            Reduced("sum", OpKind::kReduceSum, Op("seen", OpKind::kMul, {x, mask}), false);
        const int square = Op("square", OpKind::kMul, {mask, mask});
        return Op("mean", OpKind::kDiv, {sum, Reduced("count", OpKind::kReduceSum, square, false)});
      }
      case Join::kFirst:
        return Rows("first", x, 0, 1, 1);
      case Join::kLast:
        return Rows("last", x, length_ - 1, length_, 1);
      case Join::kGram:
        return Op("gram", OpKind::kBatchMatmul, {x, x});
      case Join::kSoftmax: {
        Operator softmax{OpKind::kSoftmax, {}};
        softmax.attributes.axis = 1;
        return Op("chances", std::move(softmax), {x});
      }
      default:
        return Rows("reversed", x, length_ - 1, -1, 1, -1);
    }
  }

  Graph graph_;
  std::int64_t length_;
  Join join_;
  std::int64_t batch_;
  std::vector<int> outputs_;
};

class OpenJoins : public Library {
 protected:
  static Graph At(std::int64_t length, Join join, std::int64_t batch) {
    return JoinAt(length, join, batch).Run();
  }
  Result<CompiledModel> CompileFor(SizeRange range, Join join, std::int64_t batch = 1) const {
    const auto read = [&](std::int64_t length) { return Result<Graph>(At(length, join, batch)); };
    return CompileOpen(At(1, join, batch), read, range, options_, Path("open.so"));
  }
  /// Compares the outputs of every length with those of the reference.
  void ExpectRight(Join join, std::int64_t batch = 1) const {
    const SizeRange range{"n", 1, kMostSteps};
    const auto compiled = CompileFor(range, join, batch);
    ASSERT_TRUE(compiled.ok()) << compiled.status().message();
    auto library = ModelLibrary::Open(Path("open.so"));
    ASSERT_TRUE(library.ok()) << library.status().message();
    for (std::int64_t length = 1; length <= kMostSteps; ++length) {
      ExpectLengthRight(*library, length, join, batch);
    }
    ExpectLengthRight(*library, 3, join, batch);  // after longer ones
  }
  static void ExpectLengthRight(ModelLibrary& library, std::int64_t length, Join join,
                                std::int64_t batch) {
    SCOPED_TRACE(length);
    const Graph graph = At(length, join, batch);
    ASSERT_TRUE(library.SetSize("n", length).ok());
    const std::vector<Tensor> inputs = Inputs(graph);
    const auto outputs = library.Run(inputs);
    ASSERT_TRUE(outputs.ok()) << outputs.status().message();
    const auto expected = EvaluateGraph(graph, inputs, KeepValues::kOutputs, 1);
    ASSERT_TRUE(expected.ok()) << expected.status().message();
    ASSERT_EQ(outputs->size(), expected->size());
    const bool rounds = join == Join::kByteStates || join == Join::kResults;
    for (std::size_t i = 0; i < expected->size(); ++i) {
      ASSERT_EQ((*outputs)[i].shape(), (*expected)[i].shape());
      const Comparison comparison = Compare((*outputs)[i], (*expected)[i], rounds ? 3e-2 : 1e-4);
      EXPECT_TRUE(comparison.ok) << "output " << i << ", element " << comparison.first_bad
                                 << ", error " << comparison.max_abs_error;
    }
  }
};

TEST_F(OpenJoins, StepsOfEveryNumberAreTheReferences) {
  ExpectRight(Join::kStates);
  ExpectRight(Join::kStatesBackwards);
}
TEST_F(OpenJoins, StepsMayHaveSeveralSequences) {
  ExpectRight(Join::kStates, 3);
  ExpectRight(Join::kStatesBackwards, 2);
}
TEST_F(OpenJoins, ThreadsShareTheStepsProducts) {
  options_.target = *Target::Parse("native -num-threads=2");
  ExpectRight(Join::kStatesBackwards, 2);
}
TEST_F(OpenJoins, ResultsOfStepsReachOtherSteps) { ExpectRight(Join::kResults); }
TEST_F(OpenJoins, StatesMayBeQuantized) { ExpectRight(Join::kByteStates, 2); }

TEST_F(OpenJoins, ReductionsOverPositionsAreTheReferences) {
  ExpectRight(Join::kMean);
  ExpectRight(Join::kSum);
  ExpectRight(Join::kLargest);
}
TEST_F(OpenJoins, ReducedValuesReachAllPositions) { ExpectRight(Join::kMeanTakenOff); }
TEST_F(OpenJoins, MasksChooseThePositionsOfAMean) { ExpectRight(Join::kMaskedMean); }
TEST_F(OpenJoins, OnePositionMayBeTaken) {
  ExpectRight(Join::kFirst);
  ExpectRight(Join::kLast);
}

TEST_F(OpenJoins, OperatorsAgreeWithTheReferenceAtALength) {
  for (const Join join : {Join::kStates, Join::kMean, Join::kLast}) {
    ASSERT_TRUE(CompileFor({"n", 1, kMostSteps}, join).ok());
    auto library = ModelLibrary::Open(Path("open.so"));
    ASSERT_TRUE(library.ok());
    for (std::int64_t length : {1, 2, 4, 17}) {
      Graph graph = At(length, join, 1);
      ASSERT_TRUE(library->FitSize(ValuesOf(graph, graph.inputs())).ok());
      const std::vector<Tensor> inputs = Inputs(graph);
      const auto report = Verify(*PartitionLike(std::move(graph), *library), *library, inputs, {});
      ASSERT_TRUE(report.ok()) << report.status().message();
      EXPECT_TRUE(report->ok()) << report->Summary();
    }
  }
}

TEST_F(OpenJoins, AllOperatorsCanBeChecked) {
  options_.check = CheckLevel::kAll;
  const auto compiled = CompileFor({"n", 1, kMostSteps}, Join::kStates);
  ASSERT_TRUE(compiled.ok()) << compiled.status().message();
  EXPECT_EQ(compiled->check.compared, compiled->check.operators);
}

TEST_F(OpenJoins, KernelsOfStepsAreChecked) {
  bool broken = false;
  options_.change_plan = [&](Plan& plan) {
    for (PlanStep& step : plan.steps) {
      auto* call = std::get_if<KernelStep>(&step.action);
      if (call == nullptr || !call->any_length) continue;
      call->any_length->body = MakeBlock({});
      broken = true;
    }
  };
  EXPECT_EQ(CompileFor({"n", 1, kMostSteps}, Join::kStates).status().code(), StatusCode::kInternal);
  EXPECT_TRUE(broken);
}

TEST_F(OpenJoins, PositionsMayBeMixed) {
  ExpectRight(Join::kReversed);
  ExpectRight(Join::kSoftmax);
}

TEST_F(OpenJoins, ProductsOfPositionsAreRefusedByName) {
  const Status status = CompileFor({"n", 1, kMostSteps}, Join::kGram).status();
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_THAT(status.message(), HasSubstr("gram has it in two dimensions"));
}

}  // namespace
}  // namespace tilewright
