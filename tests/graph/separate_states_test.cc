// Recurrences with their states at the steps, for an open number of steps.
#include <gtest/gtest.h>

#include <algorithm>

#include "src/graph/ir/evaluate.h"
#include "src/graph/passes/passes.h"
#include "src/tensor/recurrence.h"
#include "src/tensor/synthetic_data.h"
#include "tests/support/recurrences.h"

namespace tilewright {
namespace {

constexpr std::int64_t kSteps = 6, kBatch = 2, kUnits = 4;

int RowsOfStates(Graph& graph, const std::string& name, int all, std::int64_t begin,
                 std::int64_t end) {
  Operator op{OpKind::kSlice, {}};
  op.attributes.end = graph.node(all).type.shape;
  op.attributes.begin.assign(op.attributes.end.size(), 0);
  op.attributes.steps.assign(op.attributes.end.size(), 1);
  op.attributes.begin[0] = begin;
  op.attributes.end[0] = end;
  return *graph.AddOperator(name, std::move(op), {all});
}

/// A recurrence whose results and last state `state` are outputs; -1: the results alone.
Graph Slices(const Operator& op, const std::vector<TensorType>& types, int state) {
  Graph graph;
  std::vector<int> inputs;
  for (const TensorType& type : types) {
    inputs.push_back(graph.AddInput("in" + std::to_string(inputs.size()), type));
  }
  const int all = *graph.AddOperator("all", op, inputs);
  std::vector<int> outputs = {RowsOfStates(graph, "results", all, 0, kSteps)};
  if (state >= 0)
    outputs.push_back(RowsOfStates(graph, "last", all, kSteps + state, kSteps + state + 1));
  graph.SetOutputs(outputs);
  return graph;
}

void ExpectSeparated(const Graph& graph, StepResults form) {
  const auto separated = SeparateStates(graph.Clone());
  ASSERT_TRUE(separated.ok()) << separated.status().message();
  const auto steps = std::ranges::find_if(separated->nodes(), [](const Node& node) {
    return node.kind == NodeKind::kOperator && node.op.kind == OpKind::kRecurrence;
  });
  ASSERT_NE(steps, separated->nodes().end());
  EXPECT_EQ(steps->op.attributes.recurrence->results, form);
  EXPECT_EQ(steps->type.shape[0], kSteps);
  const auto unrolled = UnrollRecurrences(separated->Clone());
  ASSERT_TRUE(unrolled.ok()) << unrolled.status().message();
  std::vector<Tensor> inputs;
  for (int id : graph.inputs()) {
    inputs.push_back(
        MakeSyntheticInput(graph.node(id).name, graph.node(id).type, SyntheticInputRule::kRandom));
  }
  const auto expected = EvaluateGraph(graph, inputs);
  ASSERT_TRUE(expected.ok());
  for (const Graph* made : {&*separated, &*unrolled}) {
    const auto results = EvaluateGraph(*made, inputs);
    ASSERT_TRUE(results.ok()) << results.status().message();
    for (std::size_t i = 0; i < expected->size(); ++i) {
      EXPECT_EQ(made->node(made->outputs()[i]).name, graph.node(graph.outputs()[i]).name);
      ASSERT_EQ((*results)[i].type(), (*expected)[i].type());
      for (std::int64_t k = 0; k < (*expected)[i].elements(); ++k) {
        ASSERT_EQ((*results)[i].At(k), (*expected)[i].At(k)) << i << " " << k;
      }
    }
  }
}

TEST(SeparateStates, TakesStatesFromTheLastStep) {
  for (const bool backwards : {false, true}) {
    const auto gated = GatedRecurrenceInputs(kSteps, kBatch, kUnits);
    const Operator op = GatedRecurrence(kBatch, kUnits, backwards);
    ExpectSeparated(Slices(op, gated, -1), StepResults::kAlone);
    ExpectSeparated(Slices(op, gated, 0), StepResults::kWithStates);
    ExpectSeparated(Slices(op, gated, 1), StepResults::kWithStates);
  }
}

// The state is the result of the step.
TEST(SeparateStates, TakesStatesFromTheResults) {
  for (const bool backwards : {false, true}) {
    ExpectSeparated(Slices(QuantizedRecurrence(kBatch, kUnits, backwards),
                           QuantizedRecurrenceInputs(kSteps, kBatch, kUnits), 0),
                    StepResults::kAlone);
  }
}

TEST(SeparateStates, KeepsRecurrencesThatAreRead) {
  Graph graph = Slices(GatedRecurrence(kBatch, kUnits, false),
                       GatedRecurrenceInputs(kSteps, kBatch, kUnits), 0);
  std::vector<int> outputs = graph.outputs();
  outputs.push_back(graph.node(outputs[0]).inputs[0]);
  graph.SetOutputs(outputs);
  const auto kept = SeparateStates(std::move(graph));
  ASSERT_TRUE(kept.ok());
  EXPECT_EQ(kept->node(kept->outputs()[2]).type.shape[0], kSteps + 2);
}

}  // namespace
}  // namespace tilewright
