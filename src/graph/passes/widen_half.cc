// Computes float16 chains in float32. Intermediate values of a group never leave the kernel, so
// they need not be rounded to float16. The pass casts the group's float16 inputs to float32,
// computes its operators in float32, and casts the result back. The casts are nodes of the graph
// and of the group, so kernels, references and error bounds handle them like other operators.

#include <algorithm>
#include <map>
#include <set>

#include "src/graph/ir/rewrite.h"
#include "src/graph/passes/passes.h"
#include "src/tensor/operator_table.h"

namespace tilewright {
namespace {

constexpr std::string_view kWidePart = "wide";

/// Returns true if the operator computes and rounds its elements. A cast to float16 in the network
/// is an explicit rounding.
bool Computes(OpKind kind) {
  if (kind == OpKind::kCast || kind == OpKind::kSaturateCast) return false;
  const OpFamily family = FamilyOf(kind);
  return IsElementwise(kind) || IsComparisonOrSelect(kind) || family == OpFamily::kReduction ||
         family == OpFamily::kNormalization || family == OpFamily::kPool;
}

class HalfWidener {
 public:
  HalfWidener(Graph graph, std::vector<FusedGroup> groups)
      : rewriter_(std::move(graph)),
        groups_(std::move(groups)),
        group_of_(rewriter_.source().nodes().size(), -1),
        wide_(group_of_.size(), false) {}

  Result<GraphWithGroups> Run() {
    FindWide();
    const Graph& source = rewriter_.source();
    std::vector<std::vector<int>> nodes(groups_.size());
    for (int id = 0; id < source.size(); ++id) {
      const int group = group_of_[static_cast<std::size_t>(id)];
      const int before = rewriter_.result().size();
      if (group >= 0 && ReadsOrIsWide(id)) {
        TW_RETURN_IF_ERROR(Widen(id));
      } else {
        TW_RETURN_IF_ERROR(rewriter_.Copy(id));
      }
      if (group < 0) continue;
      for (int made = before; made < rewriter_.result().size(); ++made) {
        nodes[static_cast<std::size_t>(group)].push_back(made);
      }
    }
    std::vector<int> outputs;
    for (int id : source.outputs()) outputs.push_back(rewriter_.At(id));
    rewriter_.result().SetOutputs(std::move(outputs));
    for (std::size_t i = 0; i < groups_.size(); ++i) Renumber(groups_[i], std::move(nodes[i]));
    return GraphWithGroups{std::move(rewriter_.result()), std::move(groups_)};
  }

 private:
  const Node& At(int id) const { return rewriter_.source().node(id); }
  bool IsWide(int id) const { return wide_[static_cast<std::size_t>(id)]; }

  void FindWide() {
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      const FusedGroup& group = groups_[i];
      for (int id : group.nodes) group_of_[static_cast<std::size_t>(id)] = static_cast<int>(i);
      if (group.anchor || group.alias) continue;
      for (int id : group.nodes) {
        wide_[static_cast<std::size_t>(id)] =
            id != group.output && At(id).type.dtype == kFloat16 && Computes(At(id).op.kind);
      }
    }
  }

  bool ReadsOrIsWide(int id) const {
    return IsWide(id) ||
           std::ranges::any_of(At(id).inputs, [&](int input) { return IsWide(input); });
  }

  /// Returns the name of a value that exists only inside the kernel.
  std::string WideName(const std::string& name) {
    return NameOfPart(name, std::string(kWidePart) + std::to_string(++names_));
  }

  /// Returns an operand in float32; the cast is added once per group.
  Result<int> WideOperand(int group, int id) {
    if (IsWide(id) || At(id).type.dtype != kFloat16) return rewriter_.At(id);
    const auto known = casts_.find({group, id});
    if (known != casts_.end()) return known->second;
    auto cast = rewriter_.AddCast(WideName(At(id).name), kFloat32, rewriter_.At(id));
    if (cast.ok()) casts_.emplace(std::pair(group, id), *cast);
    return cast;
  }

  Status Widen(int id) {
    const Node& node = At(id);
    std::vector<int> inputs;
    for (int input : node.inputs) {
      TW_ASSIGN_OR_RETURN(auto operand,
                          WideOperand(group_of_[static_cast<std::size_t>(id)], input));
      inputs.push_back(operand);
    }
    if (node.type.dtype != kFloat16 || node.op.kind == OpKind::kCast) {
      TW_ASSIGN_OR_RETURN(auto made, rewriter_.CopyAs(id, node.op, std::move(inputs)));
      rewriter_.Map(id, made);
      return {};
    }
    Operator op = node.op;
    if (op.attributes.dtype == kFloat16) op.attributes.dtype = kFloat32;
    auto made =
        rewriter_.result().AddOperator(WideName(node.name), std::move(op), std::move(inputs));
    TW_RETURN_IF_ERROR(made);
    if (!IsWide(id)) {
      made = rewriter_.AddCast(node.name, kFloat16, *made);
      TW_RETURN_IF_ERROR(made);
    }
    rewriter_.Map(id, *made);
    return {};
  }

  void Renumber(FusedGroup& group, std::vector<int> nodes) const {
    group.nodes = std::move(nodes);
    if (group.anchor) group.anchor = rewriter_.At(*group.anchor);
    for (int& input : group.inputs) input = rewriter_.At(input);
    group.output = rewriter_.At(group.output);
  }

  Rewriter rewriter_;
  std::vector<FusedGroup> groups_;
  std::vector<int> group_of_;                 // by node of the source
  std::vector<bool> wide_;                    // by node: float32 instead of float16
  std::map<std::pair<int, int>, int> casts_;  // by group and value
  int names_ = 0;
};

}  // namespace

bool IsHalfWideningCast(const Graph& graph, int id) {
  const Node& node = graph.node(id);
  if (node.kind != NodeKind::kOperator || node.op.kind != OpKind::kCast) return false;
  const auto is_part = [](const std::string& name) {
    const std::string part = name.substr(SourceName(name).size());
    return part.find(std::string("#").append(kWidePart)) != std::string::npos ||
           part.find(std::string(".").append(kWidePart)) != std::string::npos;
  };
  return is_part(node.name) ||
         (node.type.dtype == kFloat16 && is_part(graph.node(node.inputs[0]).name));
}

Result<GraphWithGroups> WidenHalf(Graph graph, std::vector<FusedGroup> groups) {
  const bool half = std::ranges::any_of(
      graph.nodes(), [](const Node& node) { return node.type.dtype == kFloat16; });
  if (!half) return GraphWithGroups{std::move(graph), std::move(groups)};
  return HalfWidener(std::move(graph), std::move(groups)).Run();
}

}  // namespace tilewright
