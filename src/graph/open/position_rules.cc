// Rules of operators on tensors with positions: which position of the result reads which positions
// of the operands, and what else must not depend on them.

#include "src/graph/open/position_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>

#include "src/base/math.h"
#include "src/tensor/operator_table.h"
#include "src/tensor/windows.h"
#include "src/tensor/workload.h"

namespace tilewright {
namespace {

/// Window of an operator along the positions.
struct Window {
  std::int64_t extent = 1, stride = 1, before = 0, after = 0;
  std::size_t side = 0;  ///< 0: rows, 1: columns
};

class RuleFinder {
 public:
  RuleFinder(const PositionedNode& read, std::size_t axis)
      : read_(read), node_(*read.node), axis_(axis) {}

  Result<PositionRule> Run() {
    rule_.op = node_.op;
    const bool later = std::any_of(read_.axes.begin() + 1, read_.axes.end(),
                                   [](const auto& other) { return other.has_value(); });
    switch (FamilyOf(node_.op.kind)) {
      case OpFamily::kUnary:
      case OpFamily::kBinary:
      case OpFamily::kComparisonOrSelect:
        TW_RETURN_IF_ERROR(ByElements());
        break;
      case OpFamily::kPool:
        TW_RETURN_IF_ERROR(Pool());
        break;
      case OpFamily::kReduction:
      case OpFamily::kNormalization:
        TW_RETURN_IF_ERROR(Rows());
        break;
      case OpFamily::kAnchor:
        if (later || !read_.axes[0]) return Unsupported("has weights that depend on it");
        TW_RETURN_IF_ERROR(Anchor());
        break;
      case OpFamily::kDataMovement:
        TW_RETURN_IF_ERROR(Move());
        break;
      default:
        return Unsupported("is no operator on windows of positions");
    }
    return std::move(rule_);
  }

 private:
  const TensorType& TypeOf(std::size_t input) const {
    return read_.graph->node(node_.inputs[input]).type;
  }
  std::int64_t Positive(std::int64_t axis, std::size_t rank) const {
    return axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis;
  }

  /// Operands that have positions have the same ones, in the dimension that broadcasting aligns.
  Status ByElements() {
    std::optional<PositionCount> count;
    const std::size_t from_end = node_.type.shape.size() - axis_;
    for (std::size_t i = 0; i < read_.axes.size(); ++i) {
      if (!read_.axes[i]) {
        // An operand with several elements there would be one of each position.
        const auto& shape = TypeOf(i).shape;
        if (shape.size() >= from_end && shape[shape.size() - from_end] != 1) {
          return Unsupported("reads a constant of positions");
        }
        continue;
      }
      if (TypeOf(i).shape.size() - read_.axes[i]->axis != from_end) {
        return Unsupported("combines it with another dimension");
      }
      if (count && !(*count == read_.axes[i]->count)) {
        return Unsupported("combines values with other numbers of positions");
      }
      count = read_.axes[i]->count;
    }
    rule_.count = *count;
    return Status();
  }

  /// The positions stay in their dimension, which the operator does not reduce.
  Status Rows() {
    const std::size_t rank = TypeOf(0).shape.size();
    for (std::size_t i = 1; i < read_.axes.size(); ++i) {
      if (read_.axes[i]) return Unsupported("has parameters that depend on it");
    }
    const auto own = static_cast<std::int64_t>(read_.axes[0]->axis);
    const OpAttributes& attributes = node_.op.attributes;
    if (FamilyOf(node_.op.kind) == OpFamily::kReduction) {
      if (attributes.axes.empty()) return Unsupported("joins its positions");
      std::int64_t removed = 0;
      for (std::int64_t axis : attributes.axes) {
        axis = Positive(axis, rank);
        if (axis == own) return Unsupported("joins its positions");
        removed += axis < own && !attributes.keepdims ? 1 : 0;
      }
      if (own - removed != static_cast<std::int64_t>(axis_)) return Unsupported("moves it");
    } else {
      const bool softmax =
          node_.op.kind == OpKind::kSoftmax || node_.op.kind == OpKind::kLogSoftmax;
      const std::int64_t along = softmax ? Positive(attributes.axis, rank) : 1;
      if (along == own) return Unsupported("joins its positions");
      if (own != static_cast<std::int64_t>(axis_)) return Unsupported("moves it");
    }
    rule_.count = read_.axes[0]->count;
    return Status();
  }

  Status Windows(const Window& window) {
    const PositionCount padded = read_.axes[0]->count.Plus(window.before + window.after);
    const auto count = padded.Windows(window.extent, window.stride);
    if (!count) {
      return Unsupported(
          fmt::format("has windows {} positions apart on enlarged ones", window.stride));
    }
    rule_.count = *count;
    rule_.op.attributes.padding[window.side] = 0;
    rule_.op.attributes.padding[window.side + 2] = 0;
    if (window.extent > window.stride || window.before > 0 || window.after > 0) {
      rule_.padding = {window.before, window.after, window.extent, window.stride};
    }
    return Status();
  }

  Status Pool() {
    TW_ASSIGN_OR_RETURN(const auto pool, PoolWindowOf(node_.op, TypeOf(0)));
    const bool global =
        node_.op.kind == OpKind::kGlobalAvgPool2d || node_.op.kind == OpKind::kGlobalMaxPool2d;
    const std::size_t own = read_.axes[0]->axis;
    const bool rows = own == pool.height_dimension;
    if (global || (!rows && own != pool.width_dimension)) return Unsupported("joins its positions");
    if (node_.op.attributes.ceil_mode) return Unsupported("rounds its number of windows up");
    Window window{pool.pool_w, pool.stride_w, pool.pad_left, pool.pad_right, 1};
    std::int64_t dilation = pool.dilation_w;
    if (rows) {
      window = {pool.pool_h, pool.stride_h, pool.pad_top, pool.pad_bottom, 0};
      dilation = pool.dilation_h;
    }
    window.extent = (window.extent - 1) * dilation + 1;
    const bool padded = window.before > 0 || window.after > 0;
    if (node_.op.kind == OpKind::kAvgPool2d && padded && !node_.op.attributes.count_include_pad) {
      return Unsupported("averages windows without their padding");
    }
    if (node_.op.kind == OpKind::kMaxPool2d && padded) {
      TW_ASSIGN_OR_RETURN(rule_.pad_value, LowestOf(node_.inputs[0]));
    }
    return Windows(window);
  }

  /// Returns a number that no maximum of a window changes by: 0 if the operand is not negative, as
  /// the convolutions that read it take it, too.
  Result<double> LowestOf(int value) const {
    const Node& node = read_.graph->node(value);
    if (node.kind == NodeKind::kOperator) {
      if (node.op.kind == OpKind::kRelu) return 0.0;
      if (node.op.kind == OpKind::kClip && node.op.attributes.a_min >= 0) return 0.0;
      const bool keeps = node.op.kind == OpKind::kMaxPool2d || node.op.kind == OpKind::kReshape ||
                         node.op.kind == OpKind::kTranspose || node.op.kind == OpKind::kIdentity;
      if (keeps) return LowestOf(node.inputs[0]);
    }
    const DataType dtype = node.type.dtype;
    if (dtype.is_float()) return -std::numeric_limits<double>::infinity();
    if (dtype == kInt8) return -128.0;
    if (dtype == kUInt8) return 0.0;
    return Unsupported("is a padded maximum of integers of more than 8 bits");
  }

  Status Anchor() {
    TW_ASSIGN_OR_RETURN(const auto workload,
                        Workload::FromOperator(node_.op, TypeOf(0), TypeOf(1)));
    const std::size_t own = read_.axes[0]->axis;
    if (node_.op.kind == OpKind::kDense || node_.op.kind == OpKind::kBatchMatmul) {
      const std::size_t rows = TypeOf(0).shape.size() - 2;
      if (own != rows || axis_ != own) return Unsupported("joins its positions");
      rule_.count = read_.axes[0]->count;
      return Status();
    }
    if (node_.op.kind != OpKind::kConv2d) return Unsupported("is no operator on windows");
    TW_ASSIGN_OR_RETURN(const auto conv, ConvShapeOf(workload));
    const std::string& layout = workload.data_layout;
    const char letter = own < layout.size() ? layout[own] : ' ';
    if (layout.size() != 4 || axis_ != own || (letter != 'H' && letter != 'W')) {
      return Unsupported("joins its positions");
    }
    Window window{(conv.s - 1) * conv.dilation_w + 1, conv.stride_w, conv.pad_left, conv.pad_right,
                  1};
    if (letter == 'H') {
      window = {(conv.r - 1) * conv.dilation_h + 1, conv.stride_h, conv.pad_top, conv.pad_bottom,
                0};
    }
    return Windows(window);
  }

  Status Move() {
    const OpAttributes& attributes = node_.op.attributes;
    switch (node_.op.kind) {
      case OpKind::kIdentity:
        rule_.count = read_.axes[0]->count;
        return axis_ == read_.axes[0]->axis ? Status() : Unsupported("moves it");
      case OpKind::kTranspose:
        rule_.count = read_.axes[0]->count;
        return attributes.axes[axis_] == static_cast<std::int64_t>(read_.axes[0]->axis)
                   ? Status()
                   : Unsupported("moves it");
      case OpKind::kConcat: {
        const std::int64_t joined = Positive(attributes.axis, node_.type.shape.size());
        if (joined == static_cast<std::int64_t>(axis_)) return Unsupported("joins its positions");
        for (const auto& axis : read_.axes) {
          if (!axis) return Unsupported("reads a constant of positions");
        }
        return ByElements();
      }
      case OpKind::kReshape:
        return Reshape();
      case OpKind::kBroadcastTo:
        return ByElements();
      case OpKind::kSlice:
        return Slice();
      case OpKind::kPad:
        return Pad();
      default:
        return Unsupported("is no operator on windows of positions");
    }
  }

  /// What is outside of the positions stays outside; several positions may become one.
  Status Reshape() {
    const auto inside = [](const TensorType& type, std::size_t axis) {
      std::int64_t elements = 1;
      for (std::size_t i = axis + 1; i < type.shape.size(); ++i) elements *= type.shape[i];
      return elements;
    };
    const TensorType& from = TypeOf(0);
    const std::size_t own = read_.axes[0]->axis;
    const std::int64_t before = inside(from, own), after = inside(node_.type, axis_);
    const std::int64_t outer = from.elements() / (before * from.shape[own]);
    if (node_.type.elements() / (after * node_.type.shape[axis_]) != outer) {
      return Unsupported("moves elements from one position to another");
    }
    std::optional<PositionCount> count;
    if (before % after == 0) {
      count = read_.axes[0]->count.Times(before / after);
    } else if (after % before == 0) {
      count = read_.axes[0]->count.DividedBy(after / before);
    }
    if (!count) return Unsupported("joins its positions");
    rule_.count = *count;
    return Status();
  }

  Status Slice() {
    const std::size_t own = read_.axes[0]->axis;
    const OpAttributes& attributes = node_.op.attributes;
    if (own != axis_ || attributes.begin[own] != 0 || attributes.steps[own] != 1 ||
        attributes.end[own] != TypeOf(0).shape[own]) {
      return Unsupported("takes a part of its positions");
    }
    rule_.count = read_.axes[0]->count;
    return Status();
  }

  Status Pad() {
    const std::size_t own = read_.axes[0]->axis;
    const auto& width = node_.op.attributes.pad_width;
    const std::int64_t before = width[2 * own], after = width[2 * own + 1];
    for (std::size_t i = 0; i < width.size(); ++i) {
      if (width[i] == 0 || i / 2 == own || (before == 0 && after == 0)) continue;
      return Unsupported("pads positions and other dimensions at once");
    }
    if (own != axis_ || before < 0 || after < 0)
      return Unsupported("takes a part of its positions");
    rule_.padding.before = before;
    rule_.padding.after = after;
    rule_.count = read_.axes[0]->count.Plus(before + after);
    return Status();
  }

  const PositionedNode& read_;
  const Node& node_;
  std::size_t axis_;
  PositionRule rule_;
};

}  // namespace

Result<std::int64_t> JoinedByMean(const PositionedNode& read) {
  const Node& node = *read.node;
  const TensorType& type = read.graph->node(node.inputs[0]).type;
  const auto rank = static_cast<std::int64_t>(type.shape.size());
  std::vector<bool> reduced(type.shape.size(), false);
  if (node.op.kind == OpKind::kGlobalAvgPool2d) {
    TW_ASSIGN_OR_RETURN(const auto pool, PoolWindowOf(node.op, type));
    reduced[pool.height_dimension] = reduced[pool.width_dimension] = true;
  } else if (node.op.kind == OpKind::kReduceMean && !node.op.attributes.axes.empty()) {
    for (const std::int64_t axis : node.op.attributes.axes) {
      reduced[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)] = true;
    }
  } else {
    return Unsupported("joins its positions");
  }
  std::size_t axis = read.axes[0]->axis;
  const bool given = read.graph->node(node.inputs[0]).kind == NodeKind::kInput;
  if (type.dtype != kFloat32 || !reduced[axis] || given) return Unsupported("joins its positions");
  reduced[axis] = false;
  std::int64_t joined = 1;
  while (axis > 0 && (reduced[axis - 1] || type.shape[axis - 1] == 1)) {
    --axis;
    joined *= type.shape[axis];
    reduced[axis] = false;
  }
  const bool inner = std::ranges::find(reduced, true) != reduced.end();
  return inner ? Result<std::int64_t>(Unsupported("joins its positions and dimensions inside"))
               : Result<std::int64_t>(joined);
}

Result<PositionRule> PositionRuleOf(const PositionedNode& read, std::size_t axis) {
  return RuleFinder(read, axis).Run();
}

}  // namespace tilewright
