// Which values of a network have an open dimension, and whether its entries are independent.
//
// The definition of an operator (src/tensor/compute) states every index that it reads. At a probed
// size k, element v of a dimension of k * c elements belongs to entry v floordiv c. A stage is
// independent if each load of a value with the dimension stays in the entry that is written, and
// nothing else differs between entries. Both are checked by evaluating the indices for all values
// of the variables in them.

#include "src/graph/open/entries.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

#include "src/base/printable.h"
#include "src/graph/open/resize.h"
#include "src/ir/fold.h"
#include "src/ir/visit.h"
#include "src/tensor/compute/compute.h"
#include "src/tensor/workload.h"

namespace tilewright {
namespace {

using Shape = std::vector<std::int64_t>;

/// Dimension of a tensor that grows with the number of entries.
struct EntryAxis {
  std::size_t axis = 0;
  std::int64_t extent = 1;  ///< of one entry
};

/// Compares the shapes for one entry and for `size`. Returns no axis if they are equal.
/// Errors: kUnsupported as the end of a sentence about the value.
Result<std::optional<EntryAxis>> AxisOf(const Shape& one, const Shape& many, std::int64_t size) {
  if (one == many) return std::optional<EntryAxis>();
  if (one.size() != many.size()) return Unsupported("has a rank that depends on it");
  std::size_t axis = 0;
  while (one[axis] == many[axis]) ++axis;
  for (std::size_t i = 0; i < one.size(); ++i) {
    if (i != axis && one[i] != many[i]) return Unsupported("has it in two dimensions");
    if (i < axis && one[i] != 1) {
      return Unsupported(
          fmt::format("has it in dimension {}, inside of others, expected the outermost", axis));
    }
  }
  if (many[axis] != size * one[axis]) {
    return Unsupported(
        fmt::format("has {} elements in dimension {} at size {} and {} at size 1, "
                    "expected a multiple",
                    many[axis], axis, size, one[axis]));
  }
  return std::optional(EntryAxis{axis, one[axis]});
}

/// Values of variables while indices are evaluated.
using VarValues = std::map<const ExprNode*, std::int64_t>;

/// Returns true for operations that indices consist of: no shifts, and divisions by positive
/// numbers round down.
bool IsIndexOperation(ExprKind kind, std::int64_t second) {
  if (kind == ExprKind::kFloorDiv || kind == ExprKind::kFloorMod) return second > 0;
  return kind != ExprKind::kDiv && kind != ExprKind::kShiftLeft && kind != ExprKind::kShiftRight;
}

/// Returns the value of an integer expression without loads; none for other expressions.
std::optional<std::int64_t> EvaluateIndex(const Expr& expr, const VarValues& values) {
  if (expr->kind == ExprKind::kInt) return expr->int_value;
  if (expr->kind == ExprKind::kVar) {
    const auto found = values.find(expr.get());
    return found == values.end() ? std::nullopt : std::optional(found->second);
  }
  std::vector<std::int64_t> args;
  for (const Expr& arg : expr->args) {
    const auto value = EvaluateIndex(arg, values);
    if (!value) return std::nullopt;
    args.push_back(*value);
  }
  switch (expr->kind) {
    case ExprKind::kCast:
      return expr->dtype.is_float() ? std::nullopt : std::optional(args[0]);
    case ExprKind::kNot:
      return args[0] == 0;
    case ExprKind::kSelect:
      return args[0] != 0 ? args[1] : args[2];
    default:
      if (args.size() != 2) return std::nullopt;
      if (!IsIndexOperation(expr->kind, args[1])) return std::nullopt;
      return FoldInt(expr->kind, expr->args[0]->dtype, args[0], args[1]);
  }
}

/// Check of one stage of a definition at a probed size.
class StageCheck {
 public:
  /// axis: of the stage's result. axes: of the buffers that have one.
  StageCheck(const ComputeOp& stage, std::int64_t size, std::optional<EntryAxis> axis,
             const std::map<const BufferNode*, EntryAxis>& axes)
      : stage_(stage), size_(size), axis_(axis), axes_(axes) {
    if (axis_) var_ = stage.axes[axis_->axis].var;
  }

  /// Errors: kUnsupported as the end of a sentence about the value.
  Status Run() { return Walk(stage_.body); }

 private:
  Status Walk(const Expr& expr) {
    if (expr->kind == ExprKind::kLoad) return WalkLoad(expr);
    if (!HasKind(expr, ExprKind::kLoad)) return CheckSame(expr, 0);
    for (const Expr& arg : expr->args) TW_RETURN_IF_ERROR(Walk(arg));
    return Status();
  }

  Status WalkLoad(const Expr& load) {
    const auto found = axes_.find(load->buffer.get());
    if (found != axes_.end() && !axis_) return Unsupported("joins its entries");
    for (std::size_t i = 0; i < load->args.size(); ++i) {
      const bool here = found != axes_.end() && found->second.axis == i;
      if (!here) {
        TW_RETURN_IF_ERROR(Walk(load->args[i]));
        continue;
      }
      if (HasKind(load->args[i], ExprKind::kLoad)) return Unsupported("chooses entries by values");
      TW_RETURN_IF_ERROR(CheckSame(load->args[i], found->second.extent));
    }
    return Status();
  }

  /// Checks that an index differs between entries by `step` for each: 0 outside of the dimension,
  /// else its extent of one entry, and that it then stays in the entry.
  Status CheckSame(const Expr& expr, std::int64_t step) {
    if (!axis_ || (step == 0 && !Contains(expr, var_))) return Status();
    if (step > 0 && expr.Same(var_) && step == axis_->extent) return Status();
    std::vector<const Axis*> others;
    std::int64_t places = size_ * axis_->extent;
    constexpr std::int64_t kMaxPlaces = std::int64_t{1} << 22;
    for (const auto* list : {&stage_.axes, &stage_.reduce_axes}) {
      for (const Axis& axis : *list) {
        if (axis.var.Same(var_) || !Contains(expr, axis.var)) continue;
        others.push_back(&axis);
        places = places > kMaxPlaces ? places : places * axis.extent;
      }
    }
    if (places > kMaxPlaces) return Unsupported("has indices that are too many to check");
    VarValues values;
    return Visit(expr, step, others, 0, values);
  }

  Status Visit(const Expr& expr, std::int64_t step, const std::vector<const Axis*>& others,
               std::size_t next, VarValues& values) {
    if (next < others.size()) {
      for (std::int64_t i = 0; i < others[next]->extent; ++i) {
        values[others[next]->var.get()] = i;
        TW_RETURN_IF_ERROR(Visit(expr, step, others, next + 1, values));
      }
      return Status();
    }
    for (std::int64_t inner = 0; inner < axis_->extent; ++inner) {
      std::int64_t first = 0;
      for (std::int64_t entry = 0; entry < size_; ++entry) {
        values[var_.get()] = entry * axis_->extent + inner;
        const auto value = EvaluateIndex(expr, values);
        if (!value) return Unsupported("computes with the number of an entry");
        if (entry == 0) first = *value;
        const bool same = *value == first + entry * step;
        const bool inside = step == 0 || (first >= 0 && first < step);
        if (same && inside) continue;
        return Unsupported(step > 0 ? "mixes its entries" : "treats its entries differently");
      }
    }
    return Status();
  }

  const ComputeOp& stage_;
  std::int64_t size_;
  std::optional<EntryAxis> axis_;
  const std::map<const BufferNode*, EntryAxis>& axes_;
  Expr var_;
};

Result<Compute> DefinitionOf(const Graph& graph, const Node& node) {
  std::vector<TensorType> types;
  for (int input : node.inputs) types.push_back(graph.node(input).type);
  if (IsAnchor(node.op.kind)) {
    TW_ASSIGN_OR_RETURN(const auto workload, Workload::FromOperator(node.op, types[0], types[1]));
    return DefineAnchor(workload, {});
  }
  if (node.op.kind == OpKind::kExpression) return DefineExpression(node.op.attributes.expression);
  return DefineOperator(node.op, types);
}

bool SameBytes(const Tensor& a, const Tensor& b) {
  return a.bytes() == b.bytes() &&
         std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.bytes())) == 0;
}

/// Comparison of a graph at a probed size with the graph of one entry.
class EntryCheck {
 public:
  /// loops: reads the operators' loops; else compares types, attributes and constants alone.
  EntryCheck(const Graph& entry, const Graph& many, std::int64_t size, const SizeRange& range,
             bool loops)
      : entry_(entry),
        many_(many),
        size_(size),
        range_(range),
        loops_(loops),
        whole_(entry.nodes().size(), nullptr) {}

  /// Takes the operators of a group as one, which may join entries. join: outlives this.
  void Join(const EntryJoin& join) {
    for (int id : join.group->nodes) whole_[static_cast<std::size_t>(id)] = &join;
  }

  Status Run() {
    if (entry_.size() != many_.size() || entry_.outputs() != many_.outputs()) {
      return Unsupported(Name() + ": the network has other operators at other sizes");
    }
    depends_.assign(static_cast<std::size_t>(entry_.size()), false);
    for (int id = 0; id < entry_.size(); ++id) {
      const EntryJoin* whole = whole_[static_cast<std::size_t>(id)];
      if (whole != nullptr && id != whole->group->output) continue;
      failed_ = id;
      TW_RETURN_IF_ERROR(At(id, CheckNode(id)));
    }
    failed_ = -1;
    for (int id : entry_.outputs()) {
      if (axes_.contains(id) && !depends_[static_cast<std::size_t>(id)]) {
        TW_RETURN_IF_ERROR(At(id, Unsupported("depends on no input that has it")));
      }
    }
    return Status();
  }

  std::map<std::string, std::size_t> Axes() const {
    std::map<std::string, std::size_t> axes;
    for (const auto& [id, axis] : axes_) axes.emplace(entry_.node(id).name, axis.axis);
    return axes;
  }
  /// Returns the operator that failed the check of its loops or attributes; -1 if none did.
  int FailedOperator() const {
    return failed_ >= 0 && entry_.node(failed_).kind == NodeKind::kOperator ? failed_ : -1;
  }
  bool HasInput() const {
    return std::ranges::any_of(entry_.inputs(), [&](int id) { return axes_.contains(id); });
  }

 private:
  std::string Name() const { return "--dim " + range_.ToString(); }

  Status At(int id, const Status& status) const { return AboutValue(entry_, id, range_, status); }

  Status CheckNode(int id) {
    const Node &one = entry_.node(id), &many = many_.node(id);
    if (one.kind != many.kind || one.name != many.name || one.inputs != many.inputs ||
        one.type.dtype != many.type.dtype) {
      return Unsupported("is another operator at other sizes");
    }
    TW_ASSIGN_OR_RETURN(const auto axis, AxisOf(one.type.shape, many.type.shape, size_));
    if (axis) {
      axes_.emplace(id, *axis);
      TensorType largest = one.type;
      largest.shape[axis->axis] *= range_.most;
      if (Status status = CheckTensorType(largest); !status.ok()) {
        return status.WithContext(Name() + ": " + Printable(entry_.DescribeOrigin(id)));
      }
    }
    if (const EntryJoin* whole = whole_[static_cast<std::size_t>(id)]) {
      return CheckWhole(*whole, axis.has_value());
    }
    if (one.kind == NodeKind::kInput) {
      depends_[static_cast<std::size_t>(id)] = axis.has_value();
      return Status();
    }
    return one.kind == NodeKind::kConstant ? CheckConstant(id, axis.has_value())
                                           : CheckOperator(id, axis.has_value());
  }

  Status CheckWhole(const EntryJoin& whole, bool has_axis) {
    const bool depends = std::ranges::any_of(
        whole.group->inputs, [&](int input) { return depends_[static_cast<std::size_t>(input)]; });
    depends_[static_cast<std::size_t>(whole.group->output)] = depends && has_axis;
    return depends && !has_axis && !whole.to_one ? Unsupported("joins its entries") : Status();
  }

  /// A constant with the dimension repeats the constant of one entry.
  Status CheckConstant(int id, bool repeats) const {
    const double *fill = entry_.Fill(id), *filled = many_.Fill(id);
    if (fill != nullptr && filled != nullptr && *fill == *filled) return Status();
    const Tensor *one = entry_.Contents(id), *many = many_.Contents(id);
    if (one == nullptr || many == nullptr) {
      return one == many ? Status() : Unsupported("is a constant that depends on it");
    }
    bool same = repeats ? many->bytes() == size_ * one->bytes() : SameBytes(*one, *many);
    for (std::int64_t i = 0; repeats && same && i < size_; ++i) {
      const auto* begin = reinterpret_cast<const char*>(many->data()) + i * one->bytes();
      same = std::memcmp(begin, one->data(), static_cast<std::size_t>(one->bytes())) == 0;
    }
    return same ? Status() : Unsupported("is a constant that depends on it");
  }

  Status CheckOperator(int id, bool has_axis) {
    const Node &one = entry_.node(id), &many = many_.node(id);
    Operator plain = one.op, other = many.op;
    for (Operator* op : {&plain, &other}) op->attributes.new_shape.clear();
    for (Operator* op : {&plain, &other}) op->attributes.end.clear();
    if (!(plain == other)) return Unsupported("has attributes that depend on it");
    bool depends = false, reads = false;  // reads: also of constants that have the dimension
    for (int input : one.inputs) {
      depends = depends || depends_[static_cast<std::size_t>(input)];
      reads = reads || axes_.contains(input);
    }
    depends_[static_cast<std::size_t>(id)] = depends;
    if ((depends || reads) && !has_axis) return Unsupported("joins its entries");
    if (!has_axis || !loops_) return Status();
    const auto small = DefinitionOf(entry_, one);
    const auto large = DefinitionOf(many_, many);
    if (!small.ok() || !large.ok() || small->stages.size() != large->stages.size()) {
      return Unsupported("has no loops of one entry");
    }
    return CheckStages(*small, *large, many.inputs);
  }

  Status CheckStages(const Compute& small, const Compute& large, const std::vector<int>& inputs) {
    std::map<const BufferNode*, EntryAxis> axes;
    for (std::size_t i = 0; i < large.inputs.size() && i < inputs.size(); ++i) {
      TW_ASSIGN_OR_RETURN(const auto axis,
                          AxisOf(small.inputs[i]->shape, large.inputs[i]->shape, size_));
      if (axis) axes.emplace(large.inputs[i].get(), *axis);
    }
    for (std::size_t i = 0; i < large.stages.size(); ++i) {
      const ComputeOp& stage = large.stages[i];
      TW_ASSIGN_OR_RETURN(const auto axis,
                          AxisOf(small.stages[i].output->shape, stage.output->shape, size_));
      TW_RETURN_IF_ERROR(StageCheck(stage, size_, axis, axes).Run());
      if (axis) axes.emplace(stage.output.get(), *axis);
    }
    return Status();
  }

  const Graph& entry_;
  const Graph& many_;
  std::int64_t size_;
  const SizeRange& range_;
  bool loops_;
  int failed_ = -1;                      // node whose check goes on or failed
  std::map<int, EntryAxis> axes_;        // by node
  std::vector<bool> depends_;            // by node: on an input with the dimension
  std::vector<const EntryJoin*> whole_;  // by node: the group taken as one operator; or null
};

}  // namespace

Result<std::map<std::string, std::size_t>> EntriesOf(const Graph& entry, const ReadAtSize& read,
                                                     const SizeRange& range,
                                                     std::span<const EntryJoin> joined,
                                                     int* mixes) {
  std::map<std::string, std::size_t> axes;
  if (mixes != nullptr) *mixes = -1;
  for (const std::int64_t size : kProbedSizes) {
    TW_ASSIGN_OR_RETURN(const auto many, read(size));
    EntryCheck check(entry, many, size, range, /*loops=*/true);
    for (const EntryJoin& join : joined) check.Join(join);
    if (Status status = check.Run(); !status.ok()) {
      if (mixes != nullptr) *mixes = check.FailedOperator();
      return status;
    }
    if (!check.HasInput()) {
      return InvalidArgument("--dim " + range.ToString() + ": no input has this dimension");
    }
    axes = check.Axes();
  }
  return axes;
}

Result<std::map<std::string, std::size_t>> FindEntries(const Graph& entry, const ReadAtSize& read,
                                                       const SizeRange& range) {
  TW_ASSIGN_OR_RETURN(auto axes, EntriesOf(entry, read, range, {}));
  // Shapes can have limits above the probed sizes (a slice up to the lesser of N and 8).
  for (const std::int64_t size : {range.least, range.most}) {
    if (size <= *std::ranges::max_element(kProbedSizes)) continue;
    TW_ASSIGN_OR_RETURN(const auto many, read(size));
    TW_RETURN_IF_ERROR(EntryCheck(entry, many, size, range, /*loops=*/false).Run());
  }
  return axes;
}

}  // namespace tilewright
