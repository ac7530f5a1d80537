// Elementwise operators, comparisons, choices and data movement: one stage each, whose body gives
// the source of a value.
#include "src/base/math.h"
#include "src/tensor/compute/internal.h"
#include "src/tensor/compute/linear_index.h"
#include "src/tensor/layout.h"

namespace tilewright {
namespace {

using Shape = std::vector<std::int64_t>;

/// Returns a load under NumPy's broadcasting rule: dimensions align at the last one, size 1
/// repeats.
Expr BroadcastLoad(const Buffer& buffer, const std::vector<Axis>& axes) {
  std::vector<Expr> index;
  const std::size_t skipped = axes.size() - buffer->shape.size();
  for (std::size_t i = 0; i < buffer->shape.size(); ++i) {
    const bool repeats = buffer->shape[i] == 1;
    index.push_back(repeats ? Expr(0) : axes[skipped + i].var);
  }
  return MakeLoad(buffer, index);
}

/// Returns the index in another shape of as many elements, by way of the row-major position.
std::vector<Expr> ReshapedIndex(const std::vector<Axis>& axes, const Shape& shape) {
  LinearIndex position;
  std::int64_t stride = 1;
  for (std::size_t i = axes.size(); i-- > 0;) {
    position = LinearIndex::Of(axes[i]).Times(stride).Plus(position);
    stride *= axes[i].extent;
  }
  std::vector<Expr> index(shape.size());
  for (std::size_t i = shape.size(); i-- > 0;) {
    if (i == 0) {
      index[i] = position.ToExpr();
      break;
    }
    auto [quotient, remainder] = position.DivMod(std::max<std::int64_t>(shape[i], 1));
    index[i] = remainder.ToExpr();
    position = quotient;
  }
  return index;
}

Expr ConcatBody(const std::vector<Buffer>& inputs, const std::vector<Axis>& axes,
                std::size_t axis) {
  std::int64_t end = axes[axis].extent;
  Expr body;
  // From the last input to the first, so that the first one's test comes first.
  for (std::size_t i = inputs.size(); i-- > 0;) {
    const std::int64_t begin = end - inputs[i]->shape[axis];
    std::vector<Expr> index = VarsOf(axes);
    index[axis] = index[axis] + Expr(-begin);
    const Expr load = MakeLoad(inputs[i], index);
    if (begin < end) {
      body = body ? MakeSelect(Lt(axes[axis].var, Expr(end)), load, body) : load;
    }
    end = begin;
  }
  return body ? body : MakeConst(inputs[0]->dtype, 0);
}

Expr SliceBody(const Operator& op, const Buffer& input, const std::vector<Axis>& axes) {
  std::vector<Expr> index;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    index.push_back(axes[i].var * Expr(op.attributes.steps[i]) + Expr(op.attributes.begin[i]));
  }
  return MakeLoad(input, index);
}

Expr PadBody(const Operator& op, const Buffer& input, const std::vector<Axis>& axes) {
  std::vector<Expr> index;
  Expr inside = MakeInt(kBool, 1);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t before = op.attributes.pad_width[2 * i];
    const LinearIndex position = LinearIndex::Of(axes[i]);
    inside = And(inside, Inside(position, before, input->shape[i]));
    index.push_back(position.Plus(-before).ToExpr());
  }
  return MakeSelect(inside, MakeLoad(input, index),
                    ConstantOf(input->dtype, op.attributes.pad_value));
}

Expr TransposeBody(const Operator& op, const Buffer& input, const std::vector<Axis>& axes) {
  std::vector<Expr> index(axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    index[AxisPosition(op.attributes.axes[i], axes.size())] = axes[i].var;
  }
  return MakeLoad(input, index);
}

/// Negative indices count from the end; indices out of range are clamped.
Expr GatherBody(const Operator& op, const Buffer& data, const Buffer& indices,
                const std::vector<Axis>& axes) {
  const std::size_t axis = AxisPosition(op.attributes.axis, data->shape.size());
  const std::size_t count = indices->shape.size();
  const std::vector<Expr> vars = VarsOf(axes);
  const auto at = [&](std::size_t i) { return vars.begin() + static_cast<std::ptrdiff_t>(i); };
  const std::vector<Expr> place(at(axis), at(axis + count));
  const std::int64_t size = data->shape[axis];
  Expr chosen = MakeCast(kInt64, MakeLoad(indices, place));
  chosen = MakeSelect(Lt(chosen, Expr(0)), chosen + Expr(size), chosen);
  chosen = Min(Max(chosen, Expr(0)), Expr(size - 1));
  std::vector<Expr> index(at(0), at(axis));
  index.push_back(chosen);
  index.insert(index.end(), at(axis + count), vars.end());
  return MakeLoad(data, index);
}

/// Adds one stage of the result's shape.
Status AddOutput(const TensorType& type, std::vector<Axis> axes, Expr body, Compute& compute) {
  compute.stages.push_back(PlainStage("output", type.dtype, std::move(axes), std::move(body)));
  return {};
}

}  // namespace

Status DefineLayoutTransform(const Operator& op, const TensorType& type, Compute& compute) {
  TW_ASSIGN_OR_RETURN(auto source, Layout::Parse(op.attributes.src_layout));
  TW_ASSIGN_OR_RETURN(auto target, Layout::Parse(op.attributes.dst_layout));
  const Buffer input = compute.inputs[0];
  std::map<char, std::string> lower;
  std::map<char, std::string_view> names;
  for (char c : target.primal()) {
    lower[c] = std::string(1, static_cast<char>(c - 'A' + 'a'));
    names[c] = lower[c];
  }
  LayoutAxes axes = MakeLayoutAxes(target, type.shape, names);
  const Shape sizes = source.Unpack(input->shape);
  const std::string letters = source.primal();
  Expr inside = MakeInt(kBool, 1);
  for (std::size_t i = 0; i < letters.size(); ++i) {
    inside = And(inside, Inside(axes.primal.at(letters[i]), 0, sizes[i]));
  }
  const Expr load = MakeLoad(input, MemoryIndices(source, axes.primal));
  compute.stages.push_back(PlainStage("output", type.dtype, axes.axes,
                                      MakeSelect(inside, load, MakeConst(type.dtype, 0))));
  return {};
}

Status DefineElementwise(const Operator& op, const TensorType& type, Compute& compute) {
  const std::vector<Axis> axes = MakeAxes("i", type.shape);
  const Expr a = BroadcastLoad(compute.inputs[0], axes);
  const Expr b = compute.inputs.size() > 1 ? BroadcastLoad(compute.inputs[1], axes) : Expr();
  return AddOutput(type, axes, ElementwiseExpr(op, a, b), compute);
}

Status DefineEqual(const Operator&, const TensorType& type, Compute& compute) {
  const std::vector<Axis> axes = MakeAxes("i", type.shape);
  const auto load = [&](std::size_t i) { return BroadcastLoad(compute.inputs[i], axes); };
  return AddOutput(type, axes, Eq(load(0), load(1)), compute);
}

Status DefineLess(const Operator&, const TensorType& type, Compute& compute) {
  const std::vector<Axis> axes = MakeAxes("i", type.shape);
  const auto load = [&](std::size_t i) { return BroadcastLoad(compute.inputs[i], axes); };
  return AddOutput(type, axes, Lt(load(0), load(1)), compute);
}

Status DefineWhere(const Operator&, const TensorType& type, Compute& compute) {
  const std::vector<Axis> axes = MakeAxes("i", type.shape);
  const auto load = [&](std::size_t i) { return BroadcastLoad(compute.inputs[i], axes); };
  return AddOutput(type, axes, MakeSelect(load(0), load(1), load(2)), compute);
}

Status DefineReshape(const Operator&, const TensorType& type, Compute& compute) {
  const std::vector<Axis> axes = MakeAxes("i", type.shape);
  const Buffer& input = compute.inputs[0];
  return AddOutput(type, axes, MakeLoad(input, ReshapedIndex(axes, input->shape)), compute);
}

Status DefineTranspose(const Operator& op, const TensorType& type, Compute& compute) {
  const std::vector<Axis> axes = MakeAxes("i", type.shape);
  return AddOutput(type, axes, TransposeBody(op, compute.inputs[0], axes), compute);
}

Status DefineBroadcastTo(const Operator&, const TensorType& type, Compute& compute) {
  const std::vector<Axis> axes = MakeAxes("i", type.shape);
  return AddOutput(type, axes, BroadcastLoad(compute.inputs[0], axes), compute);
}

Status DefineConcat(const Operator& op, const TensorType& type, Compute& compute) {
  const std::vector<Axis> axes = MakeAxes("i", type.shape);
  const std::size_t axis = AxisPosition(op.attributes.axis, type.shape.size());
  return AddOutput(type, axes, ConcatBody(compute.inputs, axes, axis), compute);
}

Status DefineSlice(const Operator& op, const TensorType& type, Compute& compute) {
  const std::vector<Axis> axes = MakeAxes("i", type.shape);
  return AddOutput(type, axes, SliceBody(op, compute.inputs[0], axes), compute);
}

Status DefinePad(const Operator& op, const TensorType& type, Compute& compute) {
  const std::vector<Axis> axes = MakeAxes("i", type.shape);
  return AddOutput(type, axes, PadBody(op, compute.inputs[0], axes), compute);
}

Status DefineGather(const Operator& op, const TensorType& type, Compute& compute) {
  const std::vector<Axis> axes = MakeAxes("i", type.shape);
  return AddOutput(type, axes, GatherBody(op, compute.inputs[0], compute.inputs[1], axes), compute);
}

Status DefineIdentity(const Operator&, const TensorType& type, Compute& compute) {
  const std::vector<Axis> axes = MakeAxes("i", type.shape);
  return AddOutput(type, axes, BroadcastLoad(compute.inputs[0], axes), compute);
}

}  // namespace tilewright
