// Recurrences unrolled into operators, for devices and texts that do not support them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "src/graph/ir/evaluate.h"
#include "src/graph/passes/passes.h"
#include "src/graph/relay/export.h"
#include "src/tensor/synthetic_data.h"
#include "tests/support/recurrences.h"

namespace tilewright {
namespace {

using testing::HasSubstr;

// Two recurrences in sequence. All operands except the weights are inputs.
Graph TwoRecurrences(std::int64_t steps) {
  constexpr std::int64_t kBatch = 2, kUnits = 4;
  Graph graph;
  const std::vector<TensorType> types = GatedRecurrenceInputs(steps, kBatch, kUnits);
  std::vector<int> outputs;
  for (const bool backwards : {false, true}) {
    std::vector<int> inputs;
    const std::string name = backwards ? "b" : "a";
    for (std::size_t i = 0; i < types.size(); ++i) {
      const std::string own = name + std::to_string(i);
      inputs.push_back(i + 1 == types.size()
                           ? graph.AddConstant(own, MakeSyntheticInput(own, types[i],
                                                                       SyntheticInputRule::kRandom))
                           : graph.AddInput(own, types[i]));
    }
    outputs.push_back(*graph.AddOperator(name, GatedRecurrence(kBatch, kUnits, backwards), inputs));
  }
  graph.SetOutputs(outputs);
  return graph;
}

TEST(UnrollRecurrences, GivesTheSameValuesByOrdinaryOperators) {
  const Graph graph = TwoRecurrences(6);
  auto unrolled = UnrollRecurrences(graph.CloneWithout(kMaxElements));
  ASSERT_TRUE(unrolled.ok()) << unrolled.status().message();
  EXPECT_TRUE(std::ranges::none_of(
      unrolled->nodes(), [](const Node& node) { return node.op.kind == OpKind::kRecurrence; }));
  std::vector<Tensor> inputs;
  for (int id : graph.inputs()) {
    inputs.push_back(
        MakeSyntheticInput(graph.node(id).name, graph.node(id).type, SyntheticInputRule::kRandom));
  }
  const auto expected = EvaluateGraph(graph, inputs), results = EvaluateGraph(*unrolled, inputs);
  ASSERT_TRUE(expected.ok() && results.ok());
  for (std::size_t i = 0; i < expected->size(); ++i) {
    const Tensor &value = (*expected)[i], &result = (*results)[i];
    ASSERT_EQ(value.type(), result.type());
    for (std::int64_t k = 0; k < value.elements(); ++k) EXPECT_EQ(value.At(k), result.At(k));
    EXPECT_EQ(unrolled->node(unrolled->outputs()[i]).name, graph.node(graph.outputs()[i]).name);
  }
}

TEST(UnrollRecurrences, RefusesMoreStepsThanCodeShouldHave) {
  const auto unrolled = UnrollRecurrences(TwoRecurrences(2000));
  ASSERT_FALSE(unrolled.ok());
  EXPECT_THAT(unrolled.status().message(), HasSubstr("value a: 2000 steps written out"));
}

}  // namespace
}  // namespace tilewright
