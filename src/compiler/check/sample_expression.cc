// Single elements of an expression. The part of it that one element depends on is an expression
// itself, over boxes of its tensors, which the reference evaluates.
//
// From the last stage backwards, each axis of a stage has a range of needed positions. Ranges of
// indices follow from those of the axes, and the range of a load is needed of its tensor. A box
// that is larger than the actual reads costs time but changes no result.

#include <algorithm>
#include <utility>

#include "src/base/math.h"
#include "src/compiler/check/sample.h"
#include "src/tensor/reference/expression.h"

namespace tilewright {
namespace {

/// Positions from first to last; none if last is below first.
struct WantedRange {
  std::int64_t first = 0, last = -1;
  std::int64_t count() const { return last - first + 1; }
};
using WantedBox = std::vector<WantedRange>;

// Numbers beyond this bound are unknown: no tensor has positions there.
constexpr std::int64_t kAnyNumber = std::int64_t{1} << 48;
// Products of two of these exceed 64 bits, but not doubles.
constexpr WantedRange kAnyRange = {-kAnyNumber, kAnyNumber};

std::int64_t CappedNumber(double value) {
  return static_cast<std::int64_t>(
      std::clamp(value, -static_cast<double>(kAnyNumber), static_cast<double>(kAnyNumber)));
}

/// Returns true if the range is unknown. Results computed from it are unknown, too, because
/// integers wrap.
bool IsAny(WantedRange range) { return range.first <= -kAnyNumber || range.last >= kAnyNumber; }

WantedRange RangeOfProduct(WantedRange a, WantedRange b) {
  const auto ends = {static_cast<double>(a.first) * static_cast<double>(b.first),
                     static_cast<double>(a.first) * static_cast<double>(b.last),
                     static_cast<double>(a.last) * static_cast<double>(b.first),
                     static_cast<double>(a.last) * static_cast<double>(b.last)};
  const WantedRange product = {CappedNumber(std::min(ends)), CappedNumber(std::max(ends))};
  return IsAny(product) ? kAnyRange : product;
}

/// Returns the range of an integer node, from those of its operands.
WantedRange RangeOfNode(const ExpressionNode& node, const std::vector<WantedRange>& ranges,
                        const WantedBox& axes) {
  const auto of = [&](std::size_t i) { return ranges[static_cast<std::size_t>(node.args[i])]; };
  const auto capped = [](std::int64_t first, std::int64_t last) {
    const WantedRange range = {first, last};
    return IsAny(range) ? kAnyRange : range;
  };
  switch (node.kind) {
    case ExprKind::kInt:
      return capped(node.integer, node.integer);
    case ExprKind::kVar:
      return axes[static_cast<std::size_t>(node.integer)];
    case ExprKind::kAdd:
      if (IsAny(of(0)) || IsAny(of(1))) return kAnyRange;
      return capped(of(0).first + of(1).first, of(0).last + of(1).last);
    case ExprKind::kSub:
      if (IsAny(of(0)) || IsAny(of(1))) return kAnyRange;
      return capped(of(0).first - of(1).last, of(0).last - of(1).first);
    case ExprKind::kMul:
      if (IsAny(of(0)) || IsAny(of(1))) return kAnyRange;
      return RangeOfProduct(of(0), of(1));
    case ExprKind::kFloorDiv:
      if (of(1).first != of(1).last || of(1).first <= 0 || IsAny(of(0))) return kAnyRange;
      return {FloorDiv(of(0).first, of(1).first), FloorDiv(of(0).last, of(1).first)};
    case ExprKind::kFloorMod: {
      if (of(1).first != of(1).last || of(1).first <= 0) return kAnyRange;
      const std::int64_t by = of(1).first;
      if (IsAny(of(0))) return {0, by - 1};
      const std::int64_t turns = FloorDiv(of(0).first, by);
      if (FloorDiv(of(0).last, by) != turns) return {0, by - 1};
      return {of(0).first - turns * by, of(0).last - turns * by};
    }
    case ExprKind::kMin:
      return {std::min(of(0).first, of(1).first), std::min(of(0).last, of(1).last)};
    case ExprKind::kMax:
      return {std::max(of(0).first, of(1).first), std::max(of(0).last, of(1).last)};
    case ExprKind::kSelect:
      return {std::min(of(1).first, of(2).first), std::max(of(1).last, of(2).last)};
    case ExprKind::kCast:
      // 64 bits: known numbers stay inside; narrower types may wrap.
      return node.dtype == kInt64 ? of(0) : kAnyRange;
    default:
      return kAnyRange;
  }
}

/// Returns the box of each tensor that one element depends on: inputs, then stages.
std::vector<WantedBox> WantedBoxes(const Expression& expression, const WantedBox& element) {
  const std::size_t inputs = expression.inputs.size();
  std::vector<WantedBox> boxes(inputs + expression.stages.size());
  for (std::size_t t = 0; t < boxes.size(); ++t) {
    boxes[t].resize(expression.TypeOf(static_cast<std::int64_t>(t)).shape.size());
  }
  boxes.back() = element;
  for (std::size_t s = expression.stages.size(); s-- > 0;) {
    const ExpressionStage& stage = expression.stages[s];
    WantedBox axes = boxes[inputs + s];
    if (std::ranges::any_of(axes, [](WantedRange range) { return range.count() < 1; })) continue;
    for (const ExpressionAxis& axis : stage.reduce_axes) axes.push_back({0, axis.extent - 1});
    std::vector<WantedRange> ranges;
    for (const ExpressionNode& node : stage.nodes) {
      ranges.push_back(node.dtype.is_integer() ? RangeOfNode(node, ranges, axes) : kAnyRange);
      if (node.kind != ExprKind::kLoad) continue;
      ranges.back() = kAnyRange;
      const auto tensor = static_cast<std::size_t>(node.integer);
      const auto shape = expression.TypeOf(node.integer).shape;
      for (std::size_t d = 0; d < shape.size(); ++d) {
        // Only reads that a condition prevents are outside.
        const WantedRange index = ranges[static_cast<std::size_t>(node.args[d])];
        const std::int64_t first = std::clamp<std::int64_t>(index.first, 0, shape[d] - 1);
        const std::int64_t last = std::clamp<std::int64_t>(index.last, 0, shape[d] - 1);
        WantedRange& wanted = boxes[tensor][d];
        wanted = wanted.count() < 1
                     ? WantedRange{first, last}
                     : WantedRange{std::min(wanted.first, first), std::max(wanted.last, last)};
      }
    }
  }
  for (WantedBox& box : boxes) {  // one element of each unread tensor
    for (WantedRange& range : box) {
      if (range.count() < 1) range = {0, 0};
    }
  }
  return boxes;
}

/// Returns a body over the boxes: axes begin at 0, and so do the tensors that it reads.
std::vector<ExpressionNode> MovedNodes(const ExpressionStage& stage, const WantedBox& own,
                                       const std::vector<WantedBox>& boxes) {
  std::vector<ExpressionNode> moved;
  std::vector<int> place;  // of each node among the moved ones
  const auto shifted = [&](int node, std::int64_t by) {
    if (by == 0) return node;
    const DataType dtype = moved[static_cast<std::size_t>(node)].dtype;
    moved.push_back({ExprKind::kInt, dtype, by, 0, {}, {}});
    moved.push_back({ExprKind::kAdd, dtype, 0, 0, {}, {node, static_cast<int>(moved.size()) - 1}});
    return static_cast<int>(moved.size()) - 1;
  };
  for (const ExpressionNode& node : stage.nodes) {
    ExpressionNode copy = node;
    for (int& arg : copy.args) arg = place[static_cast<std::size_t>(arg)];
    if (node.kind == ExprKind::kLoad) {
      const WantedBox& box = boxes[static_cast<std::size_t>(node.integer)];
      for (std::size_t d = 0; d < box.size(); ++d) {
        copy.args[d] = shifted(copy.args[d], -box[d].first);
      }
    }
    moved.push_back(std::move(copy));
    int made = static_cast<int>(moved.size()) - 1;
    const auto axis = static_cast<std::size_t>(node.integer);
    if (node.kind == ExprKind::kVar && axis < own.size()) made = shifted(made, own[axis].first);
    place.push_back(made);
  }
  return moved;
}

std::vector<std::int64_t> ShapeOfBox(const WantedBox& box) {
  std::vector<std::int64_t> shape;
  for (const WantedRange& range : box) shape.push_back(range.count());
  return shape;
}

/// Returns the expression over the boxes alone.
Expression PartOf(const Expression& expression, const std::vector<WantedBox>& boxes) {
  Expression part = expression;
  for (std::size_t i = 0; i < part.inputs.size(); ++i) {
    part.inputs[i].type.shape = ShapeOfBox(boxes[i]);
  }
  for (std::size_t s = 0; s < part.stages.size(); ++s) {
    const WantedBox& own = boxes[part.inputs.size() + s];
    part.stages[s].nodes = MovedNodes(expression.stages[s], own, boxes);
    for (std::size_t d = 0; d < own.size(); ++d) part.stages[s].axes[d].extent = own[d].count();
  }
  return part;
}

/// Returns the row-major positions of a box in its tensor.
std::vector<std::int64_t> PositionsOfBox(const WantedBox& box,
                                         const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> positions;
  const auto extents = ShapeOfBox(box);
  std::int64_t count = 1;
  for (const std::int64_t extent : extents) count *= extent;
  for (std::int64_t i = 0; i < count; ++i) {
    std::vector<std::int64_t> index = IndexAt(i, extents);
    for (std::size_t d = 0; d < index.size(); ++d) index[d] += box[d].first;
    positions.push_back(PositionOf(index, shape));
  }
  return positions;
}

double ElementsOfBox(const WantedBox& box) {
  double count = 1;
  for (const WantedRange& range : box) count *= static_cast<double>(range.count());
  return count;
}

}  // namespace

Result<SampledReference::Sample> SampledReference::OfExpression(
    const Node& node, std::span<const std::int64_t> positions) {
  const Expression& expression = node.op.attributes.expression;
  auto sample = std::make_shared<BoundedTensor>();
  const TensorType type{{std::ssize(positions)}, node.type.dtype};
  sample->value = Tensor(type);
  sample->error = Tensor(TensorType{type.shape, kFloat64});
  for (std::size_t i = 0; i < positions.size(); ++i) {
    WantedBox element;
    for (const std::int64_t place : IndexAt(positions[i], node.type.shape)) {
      element.push_back({place, place});
    }
    const auto boxes = WantedBoxes(expression, element);
    double work = 0;
    for (const WantedBox& box : boxes) work += ElementsOfBox(box);
    const Expression part = PartOf(expression, boxes);
    work += part.iterations();
    if (work > static_cast<double>(reads_left_)) {
      return Unsupported("one element is made of too many");
    }
    reads_left_ -= static_cast<std::int64_t>(part.iterations());
    std::vector<Tensor> inputs;
    for (std::size_t input = 0; input < part.inputs.size(); ++input) {
      TW_ASSIGN_OR_RETURN(auto read,
                          At(node.inputs[input],
                             PositionsOfBox(boxes[input], expression.inputs[input].type.shape)));
      if (!read->exact()) return Unsupported("an input that is not in memory");
      Tensor tensor(part.inputs[input].type);
      std::copy_n(read->value.data(), tensor.type().bytes(), tensor.data());
      inputs.push_back(std::move(tensor));
    }
    std::vector<const Tensor*> pointers;
    for (const Tensor& input : inputs) pointers.push_back(&input);
    TW_ASSIGN_OR_RETURN(auto made, EvaluateExpression(part, pointers));
    const auto bytes = static_cast<std::size_t>(type.dtype.bytes());
    std::copy_n(made.value.data(), bytes, sample->value.data() + i * bytes);
    sample->error.Set(static_cast<std::int64_t>(i), made.exact() ? 0 : made.error.At(0));
    for (const auto& [at, position] : made.other_positions) {
      sample->other_positions.emplace_back(static_cast<std::int64_t>(i), position);
    }
  }
  return Sample(std::move(sample));
}

}  // namespace tilewright
