// Rounds operands of products to bfloat16 after the operators are in groups, so that the groups are
// those of float32. Inside of a group values stay float32: its inputs are cast to float32 where
// operators other than the product read them, and its result is cast to bfloat16 if it is stored in
// that type. Both casts are nodes of the graph and of the group, so kernels, references and error
// bounds treat them like other operators. A value stays float32 in memory if it is an output of the
// network, or if an operator without a bfloat16 form reads it (a depthwise convolution, a
// recurrence). Rows of numbers (fewer than four dimensions: the hidden values of an encoder) are
// stored as bfloat16 only if nothing but products reads them: rounding the sums between layers
// costs accuracy and saves little time.

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "src/graph/ir/rewrite.h"
#include "src/graph/passes/passes.h"
#include "src/tensor/half.h"
#include "src/tensor/operator_table.h"

namespace tilewright {
namespace {

/// Products shorter than this are not worth a conversion: the first convolution of a network reads
/// three channels, of which a pair of bfloat16 would leave a quarter empty.
constexpr std::int64_t kMinChannels = 8;

/// Returns true if a kernel multiplies the operands of this anchor as bfloat16.
bool IsNarrowProduct(const Graph& graph, int id) {
  const Node& node = graph.node(id);
  if (graph.float32_products.contains(SourceName(node.name))) return false;
  const TensorType& data = graph.node(node.inputs[0]).type;
  const TensorType& weight = graph.node(node.inputs[1]).type;
  if (data.dtype != kFloat32 || weight.dtype != kFloat32 || node.type.dtype != kFloat32) {
    return false;
  }
  const auto workload = Workload::FromOperator(node.op, data, weight);
  if (!workload.ok()) return false;
  constexpr std::int64_t kMinRows = 8;  // fewer have no template for computed columns
  if (node.op.kind == OpKind::kBatchMatmul) {
    const std::string& weights = workload->kernel_layout;
    return workload->data_layout == "BMK" && (weights == "BNK" || weights == "BKN") &&
           data.shape[1] >= kMinRows;
  }
  if (node.op.kind == OpKind::kDense) {
    return workload->data_layout == "MK" && workload->kernel_layout == "NK";
  }
  if (node.op.kind != OpKind::kConv2d) return false;
  const auto shape = ConvShapeOf(*workload);
  return shape.ok() && shape->groups == 1 && shape->c >= kMinChannels;
}

class BFloat16Narrower {
 public:
  BFloat16Narrower(Graph graph, std::vector<FusedGroup> groups)
      : rewriter_(std::move(graph)),
        groups_(std::move(groups)),
        group_of_(rewriter_.source().nodes().size(), -1),
        wide_(group_of_.size(), false),
        multiplied_(group_of_.size(), false),
        narrow_(group_of_.size(), false) {}

  Result<GraphWithGroups> Run() {
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      for (int id : groups_[i].nodes) group_of_[static_cast<std::size_t>(id)] = static_cast<int>(i);
    }
    for (const int output : source().outputs()) SetWide(output);
    KeepScoresWide();
    FindMultiplied();
    do {
      SpreadWide();
      FindNarrow();
    } while (KeepMixedWide());
    for (int id = 0; id < source().size(); ++id) {
      if (At(id).kind == NodeKind::kInput) TW_RETURN_IF_ERROR(rewriter_.Copy(id));
      if (At(id).kind != NodeKind::kOperator) continue;
      const FusedGroup& group = groups_[GroupOf(id)];
      if (group.output == id) TW_RETURN_IF_ERROR(Rebuild(group));
    }
    std::vector<int> outputs;
    for (const int id : source().outputs()) {
      TW_ASSIGN_OR_RETURN(auto output, Copied(id));
      outputs.push_back(output);
    }
    rewriter_.result().SetOutputs(std::move(outputs));
    return GraphWithGroups{std::move(rewriter_.result()), std::move(made_)};
  }

 private:
  const Graph& source() const { return rewriter_.source(); }
  const Node& At(int id) const { return source().node(id); }
  std::size_t GroupOf(int id) const {
    return static_cast<std::size_t>(group_of_[static_cast<std::size_t>(id)]);
  }
  static std::size_t Place(int id) { return static_cast<std::size_t>(id); }
  bool IsNarrow(int id) const { return narrow_[static_cast<std::size_t>(id)]; }
  bool IsWide(int id) const { return wide_[static_cast<std::size_t>(id)]; }
  void SetWide(int id) { wide_[static_cast<std::size_t>(id)] = true; }
  bool IsFloat(int id) const { return At(id).type.dtype == kFloat32; }

  /// Returns true if only elements are moved, in any type.
  bool IsDataMovement(const FusedGroup& group) const {
    return !group.anchor && std::ranges::all_of(group.nodes, [&](int id) {
      return FamilyOf(At(id).op.kind) == OpFamily::kDataMovement;
    });
  }

  bool HasNarrowProduct(const FusedGroup& group) const {
    return group.anchor && IsNarrowProduct(source(), *group.anchor);
  }

  /// Scores of attention exist only inside of its kernel.
  void KeepScoresWide() {
    for (const JoinedGroups& attention : FindAttention(source(), groups_)) {
      for (const std::size_t part : attention.parts) {
        if (!groups_[part].anchor) continue;
        SetWide(groups_[part].output);  // parts are in topological order: the first product
        break;
      }
    }
  }

  /// Finds the values that only products read, also through groups that only move data.
  void FindMultiplied() {
    std::vector<bool> others(wide_.size(), false);  // that something else reads
    for (std::size_t i = groups_.size(); i-- > 0;) {
      const FusedGroup& group = groups_[i];
      const bool moves = IsDataMovement(group), product = HasNarrowProduct(group);
      for (std::size_t k = 0; k < group.inputs.size(); ++k) {
        const std::size_t input = Place(group.inputs[k]);
        const std::size_t output = Place(group.output);
        const bool multiplied = moves ? multiplied_[output] : product && k < 2;
        (multiplied ? multiplied_ : others)[input] = true;
      }
    }
    for (std::size_t i = 0; i < others.size(); ++i) multiplied_[i] = multiplied_[i] && !others[i];
  }

  /// Keeps the values wide that groups cannot read as bfloat16.
  void SpreadWide() {
    for (std::size_t i = groups_.size(); i-- > 0;) {
      const FusedGroup& group = groups_[i];
      if (IsDataMovement(group)) {
        if (!IsWide(group.output)) continue;
        for (const int input : group.inputs) SetWide(input);
      } else if (group.anchor) {
        if (HasNarrowProduct(group)) continue;
        SetWide(group.inputs[0]);
        SetWide(group.inputs[1]);
      } else if (!std::ranges::all_of(group.nodes, [&](int id) { return Casts(At(id).op.kind); })) {
        for (const int input : group.inputs) SetWide(input);
      }
    }
  }

  /// Returns true if the operator can have casts before and after it in its group.
  static bool Casts(OpKind kind) {
    const OpFamily family = FamilyOf(kind);
    return IsElementwise(kind) || IsComparisonOrSelect(kind) || family == OpFamily::kReduction ||
           family == OpFamily::kNormalization || family == OpFamily::kPool ||
           (family == OpFamily::kDataMovement && kind != OpKind::kConcat);
  }

  /// Finds the values that are stored as bfloat16.
  void FindNarrow() {
    for (const FusedGroup& group : groups_) {
      const int id = group.output;
      const bool image = At(id).type.shape.size() >= 4;
      bool narrow = IsFloat(id) && !IsWide(id) && (image || multiplied_[Place(id)]);
      if (IsDataMovement(group)) {
        narrow = narrow && std::ranges::all_of(group.inputs, [&](int input) {
                   return IsNarrow(input) || !IsFloat(input);
                 });
      }
      narrow_[static_cast<std::size_t>(id)] = narrow;
    }
  }

  /// Makes the inputs of a group that only moves data wide if one of them is. Returns true if that
  /// changed a value.
  bool KeepMixedWide() {
    bool changed = false;
    for (const FusedGroup& group : groups_) {
      if (!IsDataMovement(group) || IsNarrow(group.output)) continue;
      for (const int input : group.inputs) {
        changed = changed || IsNarrow(input);
        SetWide(input);
      }
    }
    return changed;
  }

  std::string PartName(const std::string& name) {
    return NameOfPart(name, "bfloat" + std::to_string(++names_));
  }

  /// Returns a value in the new graph; constants are copied when they are first read.
  Result<int> Copied(int id) {
    if (rewriter_.At(id) < 0) TW_RETURN_IF_ERROR(rewriter_.Copy(id));
    return rewriter_.At(id);
  }

  Result<int> AddCast(const std::string& name, DataType to, int value) {
    return rewriter_.AddCast(PartName(name), to, value);
  }

  int AddConstant(int id) {
    const Node& node = At(id);
    const TensorType type{node.type.shape, kBFloat16};
    Graph& result = rewriter_.result();
    if (const double* fill = source().Fill(id)) {
      return result.AddFilledConstant(PartName(node.name), type, *fill);
    }
    if (!source().HasContents(id)) return result.AddConstant(PartName(node.name), type);
    Tensor narrow(type);
    const auto from = source().Contents(id)->As<float>();
    const auto to = narrow.As<std::uint16_t>();
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = FloatToBFloat16(from[i]);
    return result.AddConstant(PartName(node.name), std::move(narrow));
  }

  /// Returns an operand of a product in bfloat16: a value that is stored so, a rounded constant, or
  /// the result of a new group that casts it.
  Result<int> NarrowOperand(int id) {
    if (IsNarrow(id)) return rewriter_.At(id);
    const auto known = operands_.find(id);
    if (known != operands_.end()) return known->second;
    int operand = -1;
    if (At(id).kind == NodeKind::kConstant) {
      operand = AddConstant(id);
    } else {
      TW_ASSIGN_OR_RETURN(operand, AddCast(At(id).name, kBFloat16, rewriter_.At(id)));
      FusedGroup cast;
      cast.nodes = {operand};
      cast.inputs = {rewriter_.At(id)};
      cast.output = operand;
      made_.push_back(std::move(cast));
    }
    operands_.emplace(id, operand);
    return operand;
  }

  /// Returns an operand of other operators of a group; adds a cast to its nodes if it is stored as
  /// bfloat16.
  Result<int> WideOperand(int id, std::map<int, int>& casts, std::vector<int>& nodes) {
    if (!IsNarrow(id)) return Copied(id);
    const auto known = casts.find(id);
    if (known != casts.end()) return known->second;
    TW_ASSIGN_OR_RETURN(auto cast, AddCast(At(id).name, kFloat32, rewriter_.At(id)));
    casts.emplace(id, cast);
    nodes.push_back(cast);
    return cast;
  }

  Status Rebuild(const FusedGroup& group) {
    const bool moves = IsDataMovement(group), product = HasNarrowProduct(group);
    FusedGroup made;
    made.alias = group.alias;
    made.epilogue = group.epilogue;
    std::map<int, int> casts;
    for (const int id : group.nodes) {
      const bool narrow = product && id == *group.anchor;
      std::vector<int> inputs;
      for (const int input : At(id).inputs) {
        const bool inner = std::ranges::binary_search(group.nodes, input);
        auto operand = inner || (moves && At(input).kind != NodeKind::kConstant)
                           ? Result<int>(rewriter_.At(input))
                       : narrow ? NarrowOperand(input)
                       : moves  ? Copied(input)
                                : WideOperand(input, casts, made.nodes);
        TW_RETURN_IF_ERROR(operand);
        inputs.push_back(*operand);
      }
      Operator op = At(id).op;
      if (narrow) op.attributes.dtype = kFloat32;
      TW_ASSIGN_OR_RETURN(auto copy, rewriter_.CopyAs(id, std::move(op), std::move(inputs)));
      rewriter_.Map(id, copy);
      made.nodes.push_back(copy);
      if (group.anchor == id) made.anchor = copy;
    }
    TW_RETURN_IF_ERROR(Finish(group, moves, made));
    made_.push_back(std::move(made));
    return Status();
  }

  /// Sets inputs and output of a group that was made of another one.
  Status Finish(const FusedGroup& group, bool moves, FusedGroup& made) {
    made.output = rewriter_.At(group.output);
    if (group.anchor) {
      const std::vector<int>& operands = rewriter_.result().node(*made.anchor).inputs;
      made.inputs.assign(operands.begin(), operands.end());
      std::size_t next = made.inputs.size();
      for (EpilogueStep& step : made.epilogue.steps) {
        if (!step.has_parameter()) continue;
        const int input = group.inputs[next++];
        if (IsNarrow(input)) step.operand_dtype = kBFloat16;
        TW_ASSIGN_OR_RETURN(auto operand, Copied(input));
        made.inputs.push_back(operand);
      }
    } else {
      for (const int input : group.inputs) {
        TW_ASSIGN_OR_RETURN(auto operand, Copied(input));
        made.inputs.push_back(operand);
      }
    }
    if (moves || !IsNarrow(group.output)) return Status();
    TW_ASSIGN_OR_RETURN(made.output, AddCast(At(group.output).name, kBFloat16, made.output));
    made.nodes.push_back(made.output);
    rewriter_.Map(group.output, made.output);
    if (made.anchor) {
      made.epilogue.steps.push_back(EpilogueStep{.op = rewriter_.result().node(made.output).op});
    }
    return Status();
  }

  Rewriter rewriter_;
  std::vector<FusedGroup> groups_;
  std::vector<FusedGroup> made_;
  std::vector<int> group_of_;     // by node of the source; -1 for none
  std::vector<bool> wide_;        // by node: stays float32 in memory
  std::vector<bool> multiplied_;  // by node: only products read it
  std::vector<bool> narrow_;      // by node: result of a group, stored as bfloat16
  std::map<int, int> operands_;   // by node: its value for products
  int names_ = 0;
};

}  // namespace

Result<GraphWithGroups> NarrowToBFloat16(Graph graph, std::vector<FusedGroup> groups) {
  return BFloat16Narrower(std::move(graph), std::move(groups)).Run();
}

}  // namespace tilewright
