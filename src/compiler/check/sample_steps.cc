// Results of a recurrence: the steps up to the requested one, from their data.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "src/compiler/check/sample.h"
#include "src/tensor/recurrence.h"
#include "src/tensor/work.h"

namespace tilewright {
namespace {

// A tenth of a second of the reference, with error bounds.
constexpr double kMaxStepOperations = 0x1p24;

std::vector<TensorType> InputTypesOf(const Graph& graph, const Node& node) {
  std::vector<TensorType> types;
  for (int input : node.inputs) types.push_back(graph.node(input).type);
  return types;
}

/// Returns a sample of all elements, in order, as a tensor.
BoundedTensor WholeOf(const BoundedTensor& sample, const TensorType& type) {
  BoundedTensor whole{sample.value.Clone(), Tensor(), sample.rounded_once};
  whole.value.Reshape(type.shape);
  if (sample.exact()) return whole;
  whole.error = sample.error.Clone();
  whole.error.Reshape(type.shape);
  return whole;
}

}  // namespace

std::int64_t StepsWithinReach(const Graph& graph, const Node& node) {
  const std::int64_t steps = StepsOf(InputTypesOf(graph, node));
  const double each = std::max(WorkOf(node.op.attributes.recurrence->step).operations, 1.0);
  const double within = std::max(kMaxStepOperations / each, 1.0);
  return within < static_cast<double>(steps) ? static_cast<std::int64_t>(within) : steps;
}

Result<SampledReference::Sample> SampledReference::Stepped(
    const Node& node, std::span<const std::int64_t> positions) {
  const Recurrence& recurrence = *node.op.attributes.recurrence;
  const std::int64_t steps = StepsOf(InputTypesOf(graph_, node));
  const bool with_states = recurrence.results == StepResults::kWithStates;
  const std::int64_t row_elements =
      recurrence.step.result().elements() * (with_states ? 1 + std::ssize(recurrence.next) : 1);
  std::int64_t needed = 1;
  for (std::int64_t position : positions) {
    const std::int64_t row = position / row_elements;
    const std::int64_t before = recurrence.backwards ? steps - row : row + 1;
    needed = std::max(needed, row < steps ? before : steps);
  }
  if (needed > StepsWithinReach(graph_, node))
    return Unsupported("one element takes too many steps");
  const std::int64_t first = recurrence.backwards ? steps - needed : 0;
  std::vector<BoundedTensor> operands;
  operands.reserve(node.inputs.size());
  std::vector<const BoundedTensor*> pointers;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    TensorType type = graph_.node(node.inputs[i]).type;
    std::int64_t begin = 0;
    if (std::cmp_less(i, recurrence.sliced)) {
      begin = type.elements() / steps * first;
      type.shape[0] = needed;
    }
    const Tensor* contents = graph_.Contents(node.inputs[i]);
    if (contents != nullptr && contents->type() == type) {
      // No reads: StepsWithinReach bounds the work.
      operands.push_back({contents->Clone(), Tensor()});
      pointers.push_back(&operands.back());
      continue;
    }
    if (type.elements() > reads_left_) return Unsupported("one element is made of too many");
    Positions all(static_cast<std::size_t>(type.elements()));
    std::iota(all.begin(), all.end(), begin);
    TW_ASSIGN_OR_RETURN(auto read, At(node.inputs[i], all));
    operands.push_back(WholeOf(*read, type));
    pointers.push_back(&operands.back());
  }
  TW_ASSIGN_OR_RETURN(auto result, EvaluateBounded(node.op, pointers, 1));
  auto sample = std::make_shared<BoundedTensor>();
  sample->clamped = result.clamped;
  const TensorType vector{{std::ssize(positions)}, node.type.dtype};
  sample->value = Tensor(vector);
  sample->error = Tensor(TensorType{vector.shape, kFloat64});
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const std::int64_t row = positions[i] / row_elements;
    const std::int64_t own = row < steps ? row - first : row - steps + needed;
    const std::int64_t place = own * row_elements + positions[i] % row_elements;
    const auto bytes = static_cast<std::size_t>(node.type.dtype.bytes());
    std::memcpy(sample->value.data() + i * bytes,
                result.value.data() + static_cast<std::size_t>(place) * bytes, bytes);
    if (!result.exact()) sample->error.Set(static_cast<std::int64_t>(i), result.error.At(place));
  }
  return Sample(std::move(sample));
}

}  // namespace tilewright
