#include <limits>

#include "src/tensor/compute/internal.h"
#include "src/tensor/compute/linear_index.h"

namespace tilewright {
namespace {

/// Reduced dimensions, and the split of a full index into the kept and the reduced part.
struct ReduceAxes {
  std::vector<Axis> kept;  // at least one: a scalar is kept as one element
  std::vector<Axis> reduced;
  std::vector<Expr> full;  // index into the input
};

ReduceAxes SplitAxes(const std::vector<std::int64_t>& shape, const std::vector<bool>& reduced) {
  ReduceAxes result;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const Axis axis{MakeVar((reduced[i] ? "r" : "i") + std::to_string(i)), shape[i], reduced[i]};
    (reduced[i] ? result.reduced : result.kept).push_back(axis);
    result.full.push_back(axis.var);
  }
  if (result.kept.empty()) result.kept.push_back({MakeVar("i"), 1, false});
  return result;
}

/// Returns the index of the kept dimensions, from the variables of a full index.
std::vector<Expr> KeptIndex(const std::vector<Axis>& full, const std::vector<bool>& reduced) {
  std::vector<Expr> index;
  for (std::size_t i = 0; i < full.size(); ++i) {
    if (!reduced[i]) index.push_back(full[i].var);
  }
  if (index.empty()) index.push_back(Expr(0));
  return index;
}

Expr Exp(Expr value) {
  const DataType dtype = value.dtype();
  return MakeCall(dtype, "exp", {std::move(value)});
}

}  // namespace

Status DefineReduction(const Operator& op, const TensorType& type, Compute& compute,
                       const Reduction& reduction) {
  const Buffer input = compute.inputs[0];
  std::vector<bool> reduced(input->shape.size(), op.attributes.axes.empty());
  for (std::int64_t axis : op.attributes.axes) reduced[AxisPosition(axis, reduced.size())] = true;

  // The first stage has the result's dimensions, so that it can be the only one.
  std::vector<Axis> axes = MakeAxes("i", type.shape), reduce_axes;
  std::vector<Expr> index;
  std::size_t next = 0;
  std::int64_t count = 1;
  for (std::size_t i = 0; i < reduced.size(); ++i) {
    if (!reduced[i]) {
      index.push_back(axes[next++].var);
      continue;
    }
    if (op.attributes.keepdims) ++next;
    reduce_axes.push_back({MakeVar("r" + std::to_string(i)), input->shape[i], true});
    index.push_back(reduce_axes.back().var);
    count *= input->shape[i];
  }
  const DataType dtype = type.dtype;
  const bool narrow = dtype.is_integer() && dtype.bits < 32;
  const DataType wide = reduction.combiner == Combiner::kSum && narrow ? kInt32 : dtype;
  Expr element = MakeCast(wide, MakeLoad(input, index));
  if (reduction.before != nullptr) element = reduction.before(element);
  const bool finished = !reduction.mean && reduction.after == nullptr && wide == dtype;
  compute.stages.push_back(ReductionStage(finished ? "output" : "reduce", axes, reduce_axes,
                                          reduction.combiner, element));
  if (finished) return {};
  std::vector<Axis> out_axes = MakeAxes("i", type.shape);
  Expr value = MakeLoad(compute.stages[0].output, VarsOf(out_axes));
  if (reduction.mean) {
    value = Div(value, MakeConst(wide, static_cast<double>(std::max<std::int64_t>(count, 1))));
  }
  if (reduction.after != nullptr) value = reduction.after(value);
  compute.stages.push_back(PlainStage("output", dtype, out_axes, MakeCast(dtype, value)));
  return {};
}

Status DefineSoftmax(const Operator& op, const TensorType& type, Compute& compute) {
  const Buffer input = compute.inputs[0];
  const std::size_t rank = type.shape.size();
  const std::size_t axis = AxisPosition(op.attributes.axis, rank);
  std::vector<bool> reduced(rank, false);
  for (std::size_t i = 0; i < rank; ++i) {
    reduced[i] = op.attributes.flatten ? i >= axis : i == axis;
  }
  const bool log = op.kind == OpKind::kLogSoftmax;

  // Subtracting the largest value first keeps every exponential in range.
  const ReduceAxes for_max = SplitAxes(type.shape, reduced);
  compute.stages.push_back(ReductionStage("max", for_max.kept, for_max.reduced, Combiner::kMax,
                                          MakeLoad(input, for_max.full)));
  const Buffer max = compute.stages[0].output;

  const std::vector<Axis> exp_axes = MakeAxes("i", type.shape);
  const Expr shifted =
      MakeLoad(input, VarsOf(exp_axes)) - MakeLoad(max, KeptIndex(exp_axes, reduced));
  compute.stages.push_back(PlainStage("exp", type.dtype, exp_axes, Exp(shifted)));
  const Buffer exp = compute.stages[1].output;

  const ReduceAxes for_sum = SplitAxes(type.shape, reduced);
  compute.stages.push_back(ReductionStage("sum", for_sum.kept, for_sum.reduced, Combiner::kSum,
                                          MakeLoad(exp, for_sum.full)));
  const Buffer sum = compute.stages[2].output;

  // A product takes a tenth of a division's time. The reciprocal of a float16 may be denormal.
  const bool by_scale = !log && type.dtype.bits >= 32;
  if (by_scale) {
    const ReduceAxes for_scale = SplitAxes(type.shape, reduced);
    std::vector<Expr> rows;
    for (const Axis& row : for_scale.kept) rows.push_back(row.var);
    compute.stages.push_back(PlainStage("scale", type.dtype, for_scale.kept,
                                        Div(MakeConst(type.dtype, 1), MakeLoad(sum, rows))));
  }
  const Buffer divisor = compute.stages.back().output;  // or its reciprocal

  const std::vector<Axis> axes = MakeAxes("i", type.shape);
  const std::vector<Expr> kept = KeptIndex(axes, reduced);
  Expr value;
  if (by_scale) {
    value = MakeLoad(exp, VarsOf(axes)) * MakeLoad(divisor, kept);
  } else if (log) {
    const Expr log_sum = MakeCall(type.dtype, "log", {MakeLoad(sum, kept)});
    value = MakeLoad(input, VarsOf(axes)) - MakeLoad(max, kept) - log_sum;
  } else {
    value = Div(MakeLoad(exp, VarsOf(axes)), MakeLoad(divisor, kept));
  }
  compute.stages.push_back(PlainStage("output", type.dtype, axes, value));
  return {};
}

namespace {

/// Returns base ^ exponent. Quarters, such as the usual 0.75, use square roots, which take a tenth
/// of the time.
Expr PowerOf(const Expr& base, double exponent) {
  const DataType dtype = base.dtype();
  const auto root = [&](const Expr& value) { return MakeCall(dtype, "sqrt", {value}); };
  if (dtype == kFloat32 || dtype == kFloat64) {
    if (exponent == 0.25) return root(root(base));
    if (exponent == 0.5) return root(base);
    if (exponent == 0.75) return root(base) * root(root(base));
    if (exponent == 1) return base;
  }
  return MakeCall(dtype, "pow", {base, MakeConst(dtype, exponent)});
}

}  // namespace

Status DefineLrn(const Operator& op, const TensorType& type, Compute& compute) {
  const Buffer input = compute.inputs[0];
  const OpAttributes& a = op.attributes;
  const DataType dtype = type.dtype;
  std::vector<Axis> axes = MakeAxes("i", type.shape);
  const Axis window{MakeVar("r"), a.size, true};
  const LinearIndex channel =
      LinearIndex::Of(axes[1]).Plus(LinearIndex::Of(window)).Plus(-((a.size - 1) / 2));
  std::vector<Expr> index = VarsOf(axes);
  index[1] = channel.ToExpr();
  const Expr x = MakeLoad(input, index);
  const Expr squares = MakeSelect(Inside(channel, 0, type.shape[1]), x * x, MakeConst(dtype, 0));
  compute.stages.push_back(ReductionStage("squares", axes, {window}, Combiner::kSum, squares));

  const std::vector<Axis> out_axes = MakeAxes("i", type.shape);
  const std::vector<Expr> vars = VarsOf(out_axes);
  const Expr scale = MakeLoad(compute.stages[0].output, vars) *
                         MakeConst(dtype, a.alpha / static_cast<double>(a.size)) +
                     MakeConst(dtype, a.bias);
  const Expr power = PowerOf(scale, a.beta);
  compute.stages.push_back(
      PlainStage("output", dtype, out_axes, Div(MakeLoad(input, vars), power)));
  return {};
}

Status DefineBatchNorm(const Operator& op, const TensorType& type, Compute& compute) {
  const auto& in = compute.inputs;  // data, gamma, beta, mean, var
  const std::size_t axis = AxisPosition(op.attributes.axis, type.shape.size());
  const DataType dtype = type.dtype;
  const std::vector<Axis> channel = MakeAxes("c", {type.shape[axis]});
  const Expr variance = MakeLoad(in[4], VarsOf(channel)) + MakeConst(dtype, op.attributes.epsilon);
  const Expr deviation = MakeCall(dtype, "sqrt", {variance});
  compute.stages.push_back(
      PlainStage("scale", dtype, channel, Div(MakeLoad(in[1], VarsOf(channel)), deviation)));

  const std::vector<Axis> axes = MakeAxes("i", type.shape);
  const std::vector<Expr> c{axes[axis].var};
  const Expr value =
      (MakeLoad(in[0], VarsOf(axes)) - MakeLoad(in[3], c)) * MakeLoad(compute.stages[0].output, c) +
      MakeLoad(in[2], c);
  compute.stages.push_back(PlainStage("output", dtype, axes, value));
  return {};
}

}  // namespace tilewright
