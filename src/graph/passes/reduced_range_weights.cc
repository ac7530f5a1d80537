#include <algorithm>
#include <map>

#include "src/graph/ir/rewrite.h"
#include "src/graph/passes/passes.h"
#include "src/tensor/reference/reference.h"

namespace tilewright {
namespace {

bool AllInReducedRange(const Tensor& weight) {
  return std::ranges::all_of(weight.As<std::int8_t>(), [](int value) {
    return value >= -kReducedRangeMagnitude && value <= kReducedRangeMagnitude;
  });
}

// Maximum number of operators that an importer puts between the weights of a file and their user.
constexpr std::size_t kMaxWeightOperators = 8;

// Returns the operators that compute a value from constants, in order. Empty if other values take
// part or if one of them makes more elements than the value has; then the value is not a weight
// that was only moved, widened and centred.
std::vector<int> OperatorsOnConstants(const Graph& graph, int value) {
  std::vector<int> operators, left = {value};
  while (!left.empty()) {
    const int id = left.back();
    left.pop_back();
    const Node& node = graph.node(id);
    if (node.kind == NodeKind::kConstant && graph.HasContents(id)) continue;
    if (std::ranges::count(operators, id) > 0) continue;
    if (node.kind != NodeKind::kOperator || operators.size() == kMaxWeightOperators ||
        node.type.elements() > graph.node(value).type.elements()) {
      return {};
    }
    operators.push_back(id);
    left.insert(left.end(), node.inputs.begin(), node.inputs.end());
  }
  std::ranges::sort(operators);  // inputs come before their users
  return operators;
}

// Returns true for an operator whose result has no elements but those of its operand and zeros.
bool MovesElements(const Operator& op) {
  switch (op.kind) {
    case OpKind::kTranspose:
    case OpKind::kReshape:
    case OpKind::kIdentity:
    case OpKind::kSlice:
      return true;
    case OpKind::kPad:
      return op.attributes.pad_value == 0;
    default:
      return false;
  }
}

// Returns true if all elements of an int8 value are known and within the reduced range. This pass
// evaluates the importer's operators on weights itself, because tasks are extracted from the
// imported graph, before folding.
bool IsReducedRangeConstant(const Graph& graph, int value) {
  while (graph.node(value).kind == NodeKind::kOperator && MovesElements(graph.node(value).op)) {
    value = graph.node(value).inputs[0];
  }
  if (graph.node(value).kind == NodeKind::kConstant) {
    const Tensor* contents = graph.Contents(value);
    return contents != nullptr && AllInReducedRange(*contents);
  }
  std::map<int, Tensor> made;
  for (int id : OperatorsOnConstants(graph, value)) {
    const Node& node = graph.node(id);
    std::vector<const Tensor*> inputs;
    for (int input : node.inputs) {
      const auto before = made.find(input);
      inputs.push_back(before != made.end() ? &before->second : graph.Contents(input));
    }
    auto result = Evaluate(node.op, inputs);
    if (!result.ok()) return false;  // folding reports the error
    made.emplace(id, *std::move(result));
  }
  const auto weight = made.find(value);
  return weight != made.end() && AllInReducedRange(weight->second);
}

// Returns true if all weights of an anchor that supports the reduced range are within it.
bool IsInReducedRange(const Graph& graph, const Node& node) {
  if (node.kind != NodeKind::kOperator) return false;
  if (node.op.kind != OpKind::kConv2d && node.op.kind != OpKind::kDense) return false;
  const DataType data = graph.node(node.inputs[0]).type.dtype;
  const bool bytes = data == kInt8 || data == kUInt8;
  return bytes && graph.node(node.inputs[1]).type.dtype == kInt8 &&
         IsReducedRangeConstant(graph, node.inputs[1]);
}

}  // namespace

Result<Graph> SetReducedRangeWeights(Graph graph) {
  std::vector<bool> narrow;
  for (const Node& node : graph.nodes()) narrow.push_back(IsInReducedRange(graph, node));
  if (std::ranges::none_of(narrow, [](bool is) { return is; })) return graph;
  Rewriter rewriter(std::move(graph));
  for (int id = 0; id < rewriter.source().size(); ++id) {
    if (!narrow[static_cast<std::size_t>(id)]) {
      TW_RETURN_IF_ERROR(rewriter.Copy(id));
      continue;
    }
    const Node& node = rewriter.source().node(id);
    Operator op = node.op;
    op.attributes.reduced_range_weights = true;
    TW_ASSIGN_OR_RETURN(
        auto copy, rewriter.CopyAs(id, std::move(op),
                                   {rewriter.At(node.inputs[0]), rewriter.At(node.inputs[1])}));
    rewriter.Map(id, copy);
  }
  return rewriter.Finish();
}

}  // namespace tilewright
