// Single elements of a graph's values, from operands in memory: reads, elementwise operators and
// data movement. Sums, windows and rows are in sample_sums.cc.
#include "src/compiler/check/sample.h"
#include "src/base/hash.h"
#include "src/base/random.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <set>
#include <utility>

#include "src/compiler/check/layout_index.h"
#include "src/tensor/operator_table.h"

namespace tilewright {
namespace {

using Shape = std::vector<std::int64_t>;

std::size_t AxisOf(std::int64_t axis, std::size_t rank) {
  return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis);
}

/// Returns a type of one dimension with this many elements.
TensorType VectorOf(std::size_t count, DataType dtype) {
  return {{static_cast<std::int64_t>(count)}, dtype};
}

/// Copies other correct positions of an element of `from` to element `to` of a sample.
void CopyOtherPositions(const BoundedTensor& from, std::size_t element, std::size_t to,
                        BoundedTensor& sample) {
  const std::pair first(static_cast<std::int64_t>(element),
                        std::numeric_limits<std::int64_t>::min());
  for (auto other = std::ranges::lower_bound(from.other_positions, first);
       other != from.other_positions.end() && other->first == first.first; ++other) {
    sample.other_positions.emplace_back(static_cast<std::int64_t>(to), other->second);
  }
}

/// Returns the elements at `positions` from those at the `distinct` ones, which are ascending.
SampledReference::Sample Repeated(const BoundedTensor& known,
                                  std::span<const std::int64_t> distinct,
                                  std::span<const std::int64_t> positions) {
  auto sample = std::make_shared<BoundedTensor>();
  sample->value = Tensor(VectorOf(positions.size(), known.value.dtype()));
  sample->rounded_once = known.rounded_once;
  if (!known.exact()) sample->error = Tensor(VectorOf(positions.size(), known.error.dtype()));
  const auto copy = [](const Tensor& from, std::size_t place, Tensor& to, std::size_t i) {
    const auto bytes = static_cast<std::size_t>(from.dtype().bytes());
    std::memcpy(to.data() + i * bytes, from.data() + place * bytes, bytes);
  };
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const auto place = static_cast<std::size_t>(std::ranges::lower_bound(distinct, positions[i]) -
                                                distinct.begin());
    copy(known.value, place, sample->value, i);
    if (!known.exact()) copy(known.error, place, sample->error, i);
    CopyOtherPositions(known, place, i, *sample);
  }
  return sample;
}

}  // namespace

std::vector<std::int64_t> IndexAt(std::int64_t position, const Shape& shape) {
  Shape index(shape.size(), 0);
  for (std::size_t i = shape.size(); i-- > 0;) {
    index[i] = position % shape[i];
    position /= shape[i];
  }
  return index;
}

std::int64_t PositionOf(std::span<const std::int64_t> index, const Shape& shape) {
  std::int64_t position = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) position = position * shape[i] + index[i];
  return position;
}

std::vector<std::int64_t> ChoosePositions(const TensorType& type, const std::string& name,
                                          std::int64_t count) {
  const std::int64_t elements = type.elements();
  std::set<std::int64_t> positions = {elements - 1};
  Random random(Fnv1a64(name));
  const auto wanted = static_cast<std::size_t>(std::min(count, elements));
  for (std::int64_t i = 0; positions.size() < wanted && i < 4 * count; ++i) {
    std::vector<std::int64_t> index;
    for (std::int64_t size : type.shape) {
      const auto end = i % 2 == 0 ? random.Below(4) : 2;
      const auto inside = static_cast<std::int64_t>(random.Below(static_cast<std::uint64_t>(size)));
      index.push_back(end == 0 ? 0 : end == 1 ? size - 1 : inside);
    }
    positions.insert(PositionOf(index, type.shape));
  }
  return {positions.begin(), positions.end()};
}

Result<SampledReference::Sample> SampledReference::At(int id,
                                                      std::span<const std::int64_t> positions) {
  const Node& node = graph_.node(id);
  if (node.kind == NodeKind::kConstant) {
    const Tensor* contents = graph_.Contents(id);
    if (contents == nullptr) {
      return InvalidArgument("constant " + node.name + " has no contents");
    }
    return Read(node.type, {contents->data(), PhysicalLayout()}, positions);
  }
  if (const auto value = find_(id)) return Read(node.type, *value, positions);
  if (node.kind != NodeKind::kOperator) return Internal("input " + node.name + " is nowhere");
  // Elements of one row request the same row: without this, rows of rows would each be a row's
  // length larger.
  Positions distinct(positions.begin(), positions.end());
  std::ranges::sort(distinct);
  const auto rest = std::ranges::unique(distinct);
  distinct.erase(rest.begin(), rest.end());
  if (distinct.size() == positions.size()) return Compute(id, positions);
  TW_ASSIGN_OR_RETURN(auto each, Compute(id, distinct));
  return Repeated(*each, distinct, positions);
}

Result<SampledReference::Sample> SampledReference::Compute(
    int id, std::span<const std::int64_t> positions) {
  const Node& node = graph_.node(id);
  const std::pair key(id, Positions(positions.begin(), positions.end()));
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  const auto compute = [&]() -> Result<Sample> {
    switch (FamilyOf(node.op.kind)) {
      case OpFamily::kAnchor:
        return SumOfProducts(node, positions);
      case OpFamily::kUnary:
      case OpFamily::kBinary:
      case OpFamily::kComparisonOrSelect:
        return Elementwise(node, positions);
      case OpFamily::kPool:
        return Pooled(node, positions);
      case OpFamily::kReduction:
        return Reduced(node, positions);
      case OpFamily::kNormalization:
        return node.op.kind == OpKind::kBatchNorm ? Normalized(node, positions)
                                                  : OfRow(node, positions);
      case OpFamily::kRecurrence:
        return Stepped(node, positions);
      case OpFamily::kExpression:
        return OfExpression(node, positions);
      case OpFamily::kDataMovement:
        break;
    }
    if (node.op.kind == OpKind::kConcat) return Concatenated(node, positions);
    if (node.op.kind == OpKind::kGather) return Gathered(node, positions);
    return Moved(node, positions);
  };
  TW_ASSIGN_OR_RETURN(auto sample, compute());
  rounded_to_half_ |= node.type.dtype == kFloat16;
  known_.emplace(key, sample);
  return sample;
}

Result<SampledReference::Sample> SampledReference::Read(const TensorType& type,
                                                        const TensorView& value,
                                                        std::span<const std::int64_t> positions) {
  reads_left_ -= static_cast<std::int64_t>(positions.size());
  if (reads_left_ < 0) return Unsupported("one element is made of too many");
  auto sample = std::make_shared<BoundedTensor>();
  sample->value = Tensor(VectorOf(positions.size(), type.dtype));
  const auto bytes = static_cast<std::size_t>(type.dtype.bytes());
  const auto* from = static_cast<const std::byte*>(value.memory);
  const auto copy = [&](std::size_t i, std::int64_t place) {
    std::memcpy(sample->value.data() + i * bytes, from + static_cast<std::size_t>(place) * bytes,
                bytes);
  };
  if (value.layouts.is_logical()) {
    for (std::size_t i = 0; i < positions.size(); ++i) copy(i, positions[i]);
    return Sample(std::move(sample));
  }
  TW_ASSIGN_OR_RETURN(auto shape, MemoryShape(type, value.layouts));
  TW_ASSIGN_OR_RETURN(auto stored, LayoutIndex::Of(std::move(shape), value.layouts.layout));
  TW_ASSIGN_OR_RETURN(auto logical_layout,
                      LayoutIndex::Of(type.shape, value.layouts.logical_layout));
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const Shape index = IndexAt(positions[i], type.shape);
    copy(i, stored.Place([&](char letter) { return logical_layout.IndexOf(letter, index); }));
  }
  return Sample(std::move(sample));
}

Result<SampledReference::Sample> SampledReference::Elementwise(
    const Node& node, std::span<const std::int64_t> positions) {
  std::vector<Sample> operands;
  std::vector<const BoundedTensor*> pointers;
  for (int input : node.inputs) {
    const Shape& shape = graph_.node(input).type.shape;
    Positions own(positions.begin(), positions.end());
    if (shape != node.type.shape) {
      const std::size_t skipped = node.type.shape.size() - shape.size();
      for (std::int64_t& position : own) {
        Shape index = IndexAt(position, node.type.shape);
        for (std::size_t i = 0; i < shape.size(); ++i) {
          if (shape[i] == 1) index[skipped + i] = 0;
        }
        position = PositionOf(std::span(index).subspan(skipped), shape);
      }
    }
    TW_ASSIGN_OR_RETURN(auto operand, At(input, own));
    operands.push_back(std::move(operand));
    pointers.push_back(operands.back().get());
  }
  TW_ASSIGN_OR_RETURN(auto result, EvaluateBounded(node.op, pointers, 1));
  return Sample(std::make_shared<BoundedTensor>(std::move(result)));
}

Result<SampledReference::Sample> SampledReference::Filled(int input, const Positions& positions,
                                                          double fill) {
  Positions inside = positions;
  for (std::int64_t& position : inside) position = std::max<std::int64_t>(position, 0);
  TW_ASSIGN_OR_RETURN(auto sample, At(input, inside));
  if (std::ranges::find_if(positions, [](auto p) { return p < 0; }) == positions.end()) {
    return sample;
  }
  auto filled = std::make_shared<BoundedTensor>();
  filled->value = sample->value.Clone();
  if (!sample->exact()) filled->error = sample->error.Clone();
  std::ranges::copy_if(
      sample->other_positions, std::back_inserter(filled->other_positions),
      [&](const auto& other) { return positions[static_cast<std::size_t>(other.first)] >= 0; });
  for (std::size_t i = 0; i < positions.size(); ++i) {
    if (positions[i] >= 0) continue;
    filled->value.Set(static_cast<std::int64_t>(i), fill);
    if (!filled->exact()) filled->error.Set(static_cast<std::int64_t>(i), 0);
  }
  return Sample(std::move(filled));
}

Result<SampledReference::Sample> SampledReference::Moved(const Node& node,
                                                         std::span<const std::int64_t> positions) {
  const OpAttributes& a = node.op.attributes;
  const int input = node.inputs[0];
  const Shape &from = graph_.node(input).type.shape, &to = node.type.shape;
  Positions own(positions.begin(), positions.end());
  double fill = 0;
  const auto map = [&](const auto& source) {
    for (std::int64_t& position : own) {
      const Shape index = source(IndexAt(position, to));
      bool inside = true;
      for (std::size_t i = 0; i < from.size(); ++i) {
        inside = inside && index[i] >= 0 && index[i] < from[i];
      }
      position = inside ? PositionOf(index, from) : -1;
    }
  };
  switch (node.op.kind) {
    case OpKind::kReshape:
    case OpKind::kIdentity:
      break;
    case OpKind::kTranspose:
      map([&](const Shape& index) {
        Shape source(index.size());
        for (std::size_t i = 0; i < index.size(); ++i) {
          source[AxisOf(a.axes[i], index.size())] = index[i];
        }
        return source;
      });
      break;
    case OpKind::kBroadcastTo:
      map([&](const Shape& index) {
        Shape source(index.end() - static_cast<std::ptrdiff_t>(from.size()), index.end());
        for (std::size_t i = 0; i < from.size(); ++i) source[i] = from[i] == 1 ? 0 : source[i];
        return source;
      });
      break;
    case OpKind::kSlice:
      map([&](Shape index) {
        for (std::size_t i = 0; i < index.size(); ++i) {
          index[i] = a.begin[i] + index[i] * (a.steps.empty() ? 1 : a.steps[i]);
        }
        return index;
      });
      break;
    case OpKind::kPad:
      fill = node.type.dtype.is_float() ? a.pad_value : std::trunc(a.pad_value);
      map([&](Shape index) {
        for (std::size_t i = 0; i < index.size(); ++i) index[i] -= a.pad_width[2 * i];
        return index;
      });
      break;
    default:
      return Unsupported(fmt::format("{} is not computed by element", OpName(node.op.kind)));
  }
  return Filled(input, own, fill);
}

Result<SampledReference::Sample> SampledReference::Concatenated(
    const Node& node, std::span<const std::int64_t> positions) {
  const std::size_t axis = AxisOf(node.op.attributes.axis, node.type.shape.size());
  auto joined = std::make_shared<BoundedTensor>();
  joined->value = Tensor(VectorOf(positions.size(), node.type.dtype));
  joined->error = Tensor(VectorOf(positions.size(), kFloat64));
  const auto bytes = static_cast<std::size_t>(node.type.dtype.bytes());
  std::int64_t begin = 0;
  for (int input : node.inputs) {
    const Shape& shape = graph_.node(input).type.shape;
    Positions own;
    std::vector<std::size_t> which;
    for (std::size_t i = 0; i < positions.size(); ++i) {
      Shape index = IndexAt(positions[i], node.type.shape);
      index[axis] -= begin;
      if (index[axis] < 0 || index[axis] >= shape[axis]) continue;
      own.push_back(PositionOf(index, shape));
      which.push_back(i);
    }
    begin += shape[axis];
    if (own.empty()) continue;
    TW_ASSIGN_OR_RETURN(auto part, At(input, own));
    for (std::size_t i = 0; i < own.size(); ++i) {
      std::memcpy(joined->value.data() + which[i] * bytes, part->value.data() + i * bytes, bytes);
      CopyOtherPositions(*part, i, which[i], *joined);
      if (part->exact()) continue;
      joined->error.Set(static_cast<std::int64_t>(which[i]),
                        part->error.At(static_cast<std::int64_t>(i)));
    }
  }
  std::ranges::sort(joined->other_positions);  // they were added input by input
  return Sample(std::move(joined));
}

/// Indices below 0 count from the end; indices out of range are clamped.
Result<SampledReference::Sample> SampledReference::Gathered(
    const Node& node, std::span<const std::int64_t> positions) {
  const Shape& from = graph_.node(node.inputs[0]).type.shape;
  const Shape& picked = graph_.node(node.inputs[1]).type.shape;
  const std::size_t axis = AxisOf(node.op.attributes.axis, from.size());
  const auto first = static_cast<std::ptrdiff_t>(axis);
  const auto last = static_cast<std::ptrdiff_t>(axis + picked.size());
  Positions where, own;
  std::vector<Shape> indices;
  for (std::int64_t position : positions) {
    indices.push_back(IndexAt(position, node.type.shape));
    const Shape& index = indices.back();
    where.push_back(PositionOf(Shape(index.begin() + first, index.begin() + last), picked));
  }
  TW_ASSIGN_OR_RETURN(auto chosen, At(node.inputs[1], where));
  for (std::size_t i = 0; i < positions.size(); ++i) {
    auto row = static_cast<std::int64_t>(chosen->value.At(static_cast<std::int64_t>(i)));
    if (row < 0) row += from[axis];
    Shape index(indices[i].begin(), indices[i].begin() + first);
    index.push_back(std::clamp<std::int64_t>(row, 0, from[axis] - 1));
    index.insert(index.end(), indices[i].begin() + last, indices[i].end());
    own.push_back(PositionOf(index, from));
  }
  return At(node.inputs[0], own);
}

}  // namespace tilewright
