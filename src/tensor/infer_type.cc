// Types of operator results. Every rule names its expectation and the actual value, because users
// with a broken model file read the message.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "src/tensor/layout.h"
#include "src/tensor/operator.h"
#include "src/tensor/operator_table.h"
#include "src/tensor/operator_types.h"
#include "src/tensor/windows.h"
#include "src/tensor/workload.h"

namespace tilewright {
namespace {

using Shape = std::vector<std::int64_t>;

// A tensor of more elements can only come from a damaged or hostile file.
constexpr std::int64_t kMaxElements = std::int64_t{1} << 40;

Status Bad(const Operator& op, std::string_view why) {
  return InvalidArgument(fmt::format("{}: {}", OpName(op.kind), why));
}

Status CheckSize(const Operator& op, const TensorType& type) {
  const Status status = CheckElementCount(type);
  return status.ok() ? status : status.WithContext(OpName(op.kind));
}

Status CheckInputCount(const Operator& op, InputTypes inputs, std::size_t expected) {
  if (inputs.size() == expected) return {};
  return Bad(op, fmt::format("{} inputs, expected {}", inputs.size(), expected));
}

Status CheckFloat(const Operator& op, const TensorType& type) {
  if (type.dtype.is_float()) return {};
  return Bad(op, fmt::format("input is {}, expected a float type", type.ToString()));
}

/// Position of a possibly negative axis. Errors: kInvalidArgument if out of range.
Result<std::size_t> AxisOf(const Operator& op, std::int64_t axis, std::size_t rank) {
  const auto limit = static_cast<std::int64_t>(rank);
  if (axis < -limit || axis >= limit) {
    return Bad(op, fmt::format("axis {}, expected {} to {}", axis, -limit, limit - 1));
  }
  return static_cast<std::size_t>(axis < 0 ? axis + limit : axis);
}

Result<Shape> Broadcast(const Operator& op, const Shape& a, const Shape& b) {
  Shape shape(std::max(a.size(), b.size()));
  for (std::size_t i = 0; i < shape.size(); ++i) {  // i counts from the last dimension
    const std::int64_t size_a = i < a.size() ? a[a.size() - 1 - i] : 1;
    const std::int64_t size_b = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (size_a != size_b && size_a != 1 && size_b != 1) {
      return Bad(op, fmt::format("shapes [{}] and [{}] do not broadcast", fmt::join(a, ","),
                                 fmt::join(b, ",")));
    }
    shape[shape.size() - 1 - i] = size_a == 1 ? size_b : size_a;
  }
  return shape;
}

/// Returns the type of an elementwise operator of two tensors.
Result<TensorType> BroadcastType(const Operator& op, const TensorType& a, const TensorType& b) {
  if (a.dtype != b.dtype) {
    return Bad(op, fmt::format("inputs are {} and {}, expected one element type", a.ToString(),
                               b.ToString()));
  }
  TW_ASSIGN_OR_RETURN(auto shape, Broadcast(op, a.shape, b.shape));
  return TensorType{std::move(shape), a.dtype};
}

}  // namespace

Result<TensorType> TypeOfBinary(const Operator& op, InputTypes inputs) {
  TW_RETURN_IF_ERROR(CheckInputCount(op, inputs, 2));
  return BroadcastType(op, inputs[0], inputs[1]);
}

Result<TensorType> TypeOfFloatBinary(const Operator& op, InputTypes inputs) {
  const bool alike = inputs.size() == 2 && inputs[0].dtype == inputs[1].dtype;
  if (alike) TW_RETURN_IF_ERROR(CheckFloat(op, inputs[0]));
  return TypeOfBinary(op, inputs);
}

Result<TensorType> TypeOfShift(const Operator& op, InputTypes inputs) {
  const bool alike = inputs.size() == 2 && inputs[0].dtype == inputs[1].dtype;
  if (alike && !inputs[0].dtype.is_integer()) {
    return Bad(op, fmt::format("input is {}, expected an integer type", inputs[0].ToString()));
  }
  return TypeOfBinary(op, inputs);
}

Result<TensorType> TypeOfComparison(const Operator& op, InputTypes inputs) {
  TW_ASSIGN_OR_RETURN(auto type, TypeOfBinary(op, inputs));
  return TensorType{std::move(type.shape), kBool};
}

Result<TensorType> TypeOfWhere(const Operator& op, InputTypes inputs) {
  TW_RETURN_IF_ERROR(CheckInputCount(op, inputs, 3));
  if (!inputs[0].dtype.is_bool()) {
    return Bad(op, fmt::format("condition is {}, expected bool", inputs[0].ToString()));
  }
  TW_ASSIGN_OR_RETURN(auto type, BroadcastType(op, inputs[1], inputs[2]));
  TW_ASSIGN_OR_RETURN(auto shape, Broadcast(op, type.shape, inputs[0].shape));
  return TensorType{std::move(shape), type.dtype};
}

Result<TensorType> TypeOfUnary(const Operator& op, InputTypes inputs) {
  TW_RETURN_IF_ERROR(CheckInputCount(op, inputs, 1));
  return inputs[0];
}

Result<TensorType> TypeOfFloatFunction(const Operator& op, InputTypes inputs) {
  TW_RETURN_IF_ERROR(CheckInputCount(op, inputs, 1));
  TW_RETURN_IF_ERROR(CheckFloat(op, inputs[0]));
  return inputs[0];
}

Result<TensorType> TypeOfCast(const Operator& op, InputTypes inputs) {
  TW_RETURN_IF_ERROR(CheckInputCount(op, inputs, 1));
  if (!op.attributes.dtype) return Bad(op, "no dtype attribute");
  return TensorType{inputs[0].shape, *op.attributes.dtype};
}

Result<TensorType> TypeOfFixedPointMultiply(const Operator& op, InputTypes inputs) {
  TW_RETURN_IF_ERROR(CheckInputCount(op, inputs, 1));
  const std::int64_t shift = op.attributes.shift;
  const std::int64_t multiplier = op.attributes.multiplier;
  if (inputs[0].dtype != kInt32) {
    return Bad(op, fmt::format("input is {}, expected int32", inputs[0].ToString()));
  }
  // Beyond these the 64-bit product has no bit for rounding.
  if (shift < -30 || shift > 31) {
    return Bad(op, fmt::format("shift {}, expected -30 to 31", shift));
  }
  if (multiplier < 0 || multiplier > std::numeric_limits<std::int32_t>::max()) {
    return Bad(op, fmt::format("multiplier {}, expected 0 to 2147483647", multiplier));
  }
  return inputs[0];
}

Result<TensorType> TypeOfClip(const Operator& op, InputTypes inputs) {
  TW_RETURN_IF_ERROR(CheckInputCount(op, inputs, 1));
  const OpAttributes& a = op.attributes;
  if (std::isnan(a.a_min) || a.a_min > a.a_max) {
    return Bad(op, fmt::format("a_min {}, expected at most a_max {}", a.a_min, a.a_max));
  }
  return inputs[0];
}

Result<TensorType> TypeOfAnchor(const Operator& op, InputTypes inputs) {
  TW_RETURN_IF_ERROR(CheckInputCount(op, inputs, 2));
  TW_ASSIGN_OR_RETURN(auto workload, Workload::FromOperator(op, inputs[0], inputs[1]));
  return workload.OutputType();
}

Result<TensorType> TypeOfPool(const Operator& op, InputTypes inputs) {
  TW_RETURN_IF_ERROR(CheckInputCount(op, inputs, 1));
  TW_ASSIGN_OR_RETURN(auto window, PoolWindowOf(op, inputs[0]));
  TensorType type = inputs[0];
  type.shape[window.height_dimension] = window.out_h;
  type.shape[window.width_dimension] = window.out_w;
  return type;
}

Result<TensorType> TypeOfReduction(const Operator& op, InputTypes inputs) {
  TW_RETURN_IF_ERROR(CheckInputCount(op, inputs, 1));
  std::vector<bool> reduced(inputs[0].shape.size(), op.attributes.axes.empty());
  for (std::int64_t axis : op.attributes.axes) {
    TW_ASSIGN_OR_RETURN(auto position, AxisOf(op, axis, inputs[0].shape.size()));
    if (reduced[position]) return Bad(op, fmt::format("axis {} appears twice", axis));
    reduced[position] = true;
  }
  TensorType type{{}, inputs[0].dtype};
  for (std::size_t i = 0; i < reduced.size(); ++i) {
    if (!reduced[i]) type.shape.push_back(inputs[0].shape[i]);
    if (reduced[i] && op.attributes.keepdims) type.shape.push_back(1);
  }
  return type;
}

Result<TensorType> TypeOfSoftmax(const Operator& op, InputTypes inputs) {
  TW_RETURN_IF_ERROR(CheckInputCount(op, inputs, 1));
  TW_RETURN_IF_ERROR(CheckFloat(op, inputs[0]));
  TW_RETURN_IF_ERROR(AxisOf(op, op.attributes.axis, inputs[0].shape.size()));
  return inputs[0];
}

Result<TensorType> TypeOfLrn(const Operator& op, InputTypes inputs) {
  TW_RETURN_IF_ERROR(CheckInputCount(op, inputs, 1));
  TW_RETURN_IF_ERROR(CheckFloat(op, inputs[0]));
  if (inputs[0].shape.size() < 2) {
    return Bad(op, fmt::format("input is {}, expected a channel dimension", inputs[0].ToString()));
  }
  if (op.attributes.size < 1 || op.attributes.size > (1 << 20)) {
    return Bad(op, fmt::format("size {}, expected at least 1", op.attributes.size));
  }
  return inputs[0];
}

Result<TensorType> TypeOfBatchNorm(const Operator& op, InputTypes inputs) {
  TW_RETURN_IF_ERROR(CheckInputCount(op, inputs, 5));
  TW_RETURN_IF_ERROR(CheckFloat(op, inputs[0]));
  TW_ASSIGN_OR_RETURN(auto axis, AxisOf(op, op.attributes.axis, inputs[0].shape.size()));
  const TensorType expected{{inputs[0].shape[axis]}, inputs[0].dtype};
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    if (inputs[i] == expected) continue;
    return Bad(op, fmt::format("input {} is {}, expected {}", i, inputs[i].ToString(),
                               expected.ToString()));
  }
  return inputs[0];
}

Result<TensorType> TypeOfReshape(const Operator& op, InputTypes inputs) {
  TW_RETURN_IF_ERROR(CheckInputCount(op, inputs, 1));
  const Shape& shape = op.attributes.new_shape;
  TW_RETURN_IF_ERROR(CheckSize(op, TensorType{shape, inputs[0].dtype}));
  const bool negative = std::ranges::any_of(shape, [](std::int64_t size) { return size < 0; });
  if (negative || Product(shape) != inputs[0].elements()) {
    return Bad(op, fmt::format("{} to [{}]: expected {} elements", inputs[0].ToString(),
                               fmt::join(shape, ","), inputs[0].elements()));
  }
  return TensorType{shape, inputs[0].dtype};
}

Result<TensorType> TypeOfTranspose(const Operator& op, InputTypes inputs) {
  TW_RETURN_IF_ERROR(CheckInputCount(op, inputs, 1));
  const std::size_t rank = inputs[0].shape.size();
  std::vector<bool> seen(rank, false);
  TensorType type{{}, inputs[0].dtype};
  for (std::int64_t axis : op.attributes.axes) {
    TW_ASSIGN_OR_RETURN(auto position, AxisOf(op, axis, rank));
    if (seen[position]) return Bad(op, fmt::format("axis {} appears twice", axis));
    seen[position] = true;
    type.shape.push_back(inputs[0].shape[position]);
  }
  if (type.shape.size() != rank) {
    return Bad(op, fmt::format("{} axes, expected {}", type.shape.size(), rank));
  }
  return type;
}

Result<TensorType> TypeOfBroadcastTo(const Operator& op, InputTypes inputs) {
  TW_RETURN_IF_ERROR(CheckInputCount(op, inputs, 1));
  const Shape& shape = op.attributes.new_shape;
  TW_ASSIGN_OR_RETURN(auto joined, Broadcast(op, inputs[0].shape, shape));
  if (joined != shape) {
    return Bad(op, fmt::format("{} does not broadcast to [{}]", inputs[0].ToString(),
                               fmt::join(shape, ",")));
  }
  return TensorType{shape, inputs[0].dtype};
}

Result<TensorType> TypeOfConcat(const Operator& op, InputTypes inputs) {
  if (inputs.empty()) return Bad(op, "no inputs, expected at least 1");
  TW_ASSIGN_OR_RETURN(auto axis, AxisOf(op, op.attributes.axis, inputs[0].shape.size()));
  TensorType type = inputs[0];
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    TensorType other = inputs[i];
    if (other.shape.size() == type.shape.size()) {
      const std::int64_t size = other.shape[axis];
      other.shape[axis] = type.shape[axis];
      if (other == type) {
        type.shape[axis] += size;
        continue;
      }
    }
    return Bad(op, fmt::format("input {} is {}, expected {} but for dimension {}", i,
                               inputs[i].ToString(), inputs[0].ToString(), axis));
  }
  return type;
}

Result<TensorType> TypeOfSlice(const Operator& op, InputTypes inputs) {
  TW_RETURN_IF_ERROR(CheckInputCount(op, inputs, 1));
  const OpAttributes& a = op.attributes;
  const Shape& shape = inputs[0].shape;
  if (a.begin.size() != shape.size() || a.end.size() != shape.size() ||
      a.steps.size() != shape.size()) {
    return Bad(op, fmt::format("begin, end and steps have {}, {} and {} numbers, expected {}",
                               a.begin.size(), a.end.size(), a.steps.size(), shape.size()));
  }
  TensorType type{{}, inputs[0].dtype};
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::int64_t begin = a.begin[i], end = a.end[i], step = a.steps[i];
    if (step == 0) return Bad(op, "step 0, expected another number");
    const bool in_range = step > 0 ? begin >= 0 && end <= shape[i] : begin < shape[i] && end >= -1;
    if (!in_range) {
      return Bad(op, fmt::format("{} to {} is outside dimension {} of {}", begin, end, i,
                                 inputs[0].ToString()));
    }
    const std::int64_t count = step > 0 ? CeilDiv(std::max<std::int64_t>(end - begin, 0), step)
                                        : CeilDiv(std::max<std::int64_t>(begin - end, 0), -step);
    type.shape.push_back(count);
  }
  return type;
}

Result<TensorType> TypeOfPad(const Operator& op, InputTypes inputs) {
  TW_RETURN_IF_ERROR(CheckInputCount(op, inputs, 1));
  TensorType type = inputs[0];
  const std::vector<std::int64_t>& widths = op.attributes.pad_width;
  if (widths.size() != 2 * type.shape.size()) {
    return Bad(op, fmt::format("{} pad widths, expected {}", widths.size(), 2 * type.shape.size()));
  }
  for (std::size_t i = 0; i < type.shape.size(); ++i) {
    if (widths[2 * i] < 0 || widths[2 * i + 1] < 0 || widths[2 * i] > kMaxElements ||
        widths[2 * i + 1] > kMaxElements) {
      return Bad(op, fmt::format("pad widths {} and {} of dimension {}, expected none negative",
                                 widths[2 * i], widths[2 * i + 1], i));
    }
    type.shape[i] += widths[2 * i] + widths[2 * i + 1];
  }
  return type;
}

/// new_shape (only to a layout without blocks): sizes of the result if the source was padded to
/// whole blocks; if empty, padding stays.
Result<TensorType> TypeOfLayoutTransform(const Operator& op, InputTypes inputs) {
  TW_RETURN_IF_ERROR(CheckInputCount(op, inputs, 1));
  TW_ASSIGN_OR_RETURN(auto source, Layout::Parse(op.attributes.src_layout));
  TW_ASSIGN_OR_RETURN(auto target, Layout::Parse(op.attributes.dst_layout));
  const std::string from = source.primal(), to = target.primal();
  if (from.size() != to.size() || !std::ranges::is_permutation(from, to)) {
    return Bad(op,
               fmt::format("layouts {} and {} differ in dimensions", source.text(), target.text()));
  }
  if (source.parts().size() != inputs[0].shape.size() ||
      source.Pack(source.Unpack(inputs[0].shape)) != inputs[0].shape) {
    return Bad(op,
               fmt::format("input is {}, expected layout {}", inputs[0].ToString(), source.text()));
  }
  const Shape sizes = source.Unpack(inputs[0].shape);
  Shape target_sizes;
  for (char c : to) target_sizes.push_back(sizes[from.find(c)]);
  const Shape& cropped = op.attributes.new_shape;
  if (!cropped.empty()) {
    bool fits = cropped.size() == target_sizes.size() && to == target.text();
    for (std::size_t i = 0; fits && i < cropped.size(); ++i) {
      fits = cropped[i] >= 1 && RoundUp(cropped[i], source.BlockOf(to[i])) == target_sizes[i];
    }
    if (!fits) {
      return Bad(op,
                 fmt::format("new_shape [{}] does not fit layout {} of sizes [{}]",
                             fmt::join(cropped, ","), target.text(), fmt::join(target_sizes, ",")));
    }
    target_sizes = cropped;
  }
  return TensorType{target.Pack(target_sizes), inputs[0].dtype};
}

Result<TensorType> TypeOfGather(const Operator& op, InputTypes inputs) {
  TW_RETURN_IF_ERROR(CheckInputCount(op, inputs, 2));
  if (inputs[1].dtype != kInt32 && inputs[1].dtype != kInt64) {
    return Bad(op, fmt::format("indices are {}, expected int32 or int64", inputs[1].ToString()));
  }
  TW_ASSIGN_OR_RETURN(auto axis, AxisOf(op, op.attributes.axis, inputs[0].shape.size()));
  if (inputs[0].shape[axis] == 0) {
    return Bad(op, fmt::format("dimension {} of {} is empty", axis, inputs[0].ToString()));
  }
  const Shape& shape = inputs[0].shape;
  const auto position = static_cast<std::ptrdiff_t>(axis);
  TensorType type{Shape(shape.begin(), shape.begin() + position), inputs[0].dtype};
  type.shape.insert(type.shape.end(), inputs[1].shape.begin(), inputs[1].shape.end());
  type.shape.insert(type.shape.end(), shape.begin() + position + 1, shape.end());
  return type;
}

Status CheckElementCount(const TensorType& type) {
  std::int64_t elements = 1;
  for (std::int64_t size : type.shape) {
    if (size < 0 || (size != 0 && elements > kMaxElements / size)) {
      return InvalidArgument(
          fmt::format("{} has too many elements, expected at most 2^40", type.ToString()));
    }
    elements *= size;
  }
  return {};
}

Result<TensorType> InferType(const Operator& op, std::span<const TensorType> inputs) {
  for (const TensorType& input : inputs) TW_RETURN_IF_ERROR(CheckSize(op, input));
  TW_ASSIGN_OR_RETURN(auto type, RowOf(op.kind).type(op, inputs));
  TW_RETURN_IF_ERROR(CheckSize(op, type));
  return type;
}

}  // namespace tilewright
