#include "src/tensor/compute/internal.h"
#include "src/tensor/compute/linear_index.h"
#include "src/tensor/windows.h"

namespace tilewright {
namespace {

/// Window in one direction.
struct Window1d {
  std::int64_t in, pool, stride, dilation, before, after;
};

/// Returns the taps of the window at output position `out` within [from, to) of the input's
/// positions.
Expr CountTaps(const Expr& out, const Window1d& w, std::int64_t from, std::int64_t to) {
  const Expr start = out * Expr(w.stride) + Expr(-w.before);
  // First tap t with start + t * dilation >= from, and first one with >= to.
  const Expr first = FloorDiv(Expr(from + w.dilation - 1) - start, Expr(w.dilation));
  const Expr past = FloorDiv(Expr(to + w.dilation - 1) - start, Expr(w.dilation));
  return Min(Expr(w.pool), past) - Max(Expr(0), first);
}

/// Returns the divisor of the sum at a position.
Expr DivisorOf(const Operator& op, const Expr& out_h, const Expr& out_w, const Window1d& h,
               const Window1d& w) {
  const auto count = [&](const Expr& out, const Window1d& window) {
    const bool padding_counts = op.attributes.count_include_pad;
    const bool overhangs = op.attributes.ceil_mode;
    if (padding_counts && !overhangs) return Expr(window.pool);
    if (!overhangs && window.before == 0 && window.after == 0) return Expr(window.pool);
    return padding_counts ? CountTaps(out, window, -window.before, window.in + window.after)
                          : CountTaps(out, window, 0, window.in);
  };
  const Expr divisor = count(out_h, h) * count(out_w, w);
  // A window on padding alone has no taps; its average is zero.
  return divisor.IsInt() ? divisor : Max(divisor, Expr(1));
}

}  // namespace

Status DefinePool(const Operator& op, const TensorType& type, Compute& compute) {
  const TensorType input{compute.inputs[0]->shape, compute.inputs[0]->dtype};
  TW_ASSIGN_OR_RETURN(auto window, PoolWindowOf(op, input));
  const PoolWindow& p = window;
  const Window1d h{p.in_h, p.pool_h, p.stride_h, p.dilation_h, p.pad_top, p.pad_bottom};
  const Window1d w{p.in_w, p.pool_w, p.stride_w, p.dilation_w, p.pad_left, p.pad_right};
  const bool max = op.kind == OpKind::kMaxPool2d || op.kind == OpKind::kGlobalMaxPool2d;
  const DataType dtype = input.dtype;
  const bool narrow = dtype.is_integer() && dtype.bits < 32;
  const DataType sum_dtype = narrow ? kInt32 : dtype;

  std::vector<Axis> axes = MakeAxes("i", type.shape);
  const Axis rh{MakeVar("rh"), p.pool_h, true}, rw{MakeVar("rw"), p.pool_w, true};
  const auto position = [](const Axis& out, const Axis& tap, const Window1d& d) {
    return LinearIndex::Of(out).Times(d.stride).Plus(
        LinearIndex::Of(tap).Times(d.dilation).Plus(-d.before));
  };
  const LinearIndex row = position(axes[p.height_dimension], rh, h);
  const LinearIndex column = position(axes[p.width_dimension], rw, w);
  std::vector<Expr> indices = VarsOf(axes);
  indices[p.height_dimension] = row.ToExpr();
  indices[p.width_dimension] = column.ToExpr();
  Expr value = MakeLoad(compute.inputs[0], indices);
  if (!max) value = MakeCast(sum_dtype, value);
  const Expr neutral = max ? LowestOf(dtype) : MakeConst(sum_dtype, 0);
  value = MakeSelect(And(Inside(row, 0, p.in_h), Inside(column, 0, p.in_w)), value, neutral);
  compute.stages.push_back(ReductionStage(max ? "output" : "sum", axes, {rh, rw},
                                          max ? Combiner::kMax : Combiner::kSum, value));
  if (max) return {};

  std::vector<Axis> out_axes = MakeAxes("i", type.shape);
  const Expr divisor =
      DivisorOf(op, out_axes[p.height_dimension].var, out_axes[p.width_dimension].var, h, w);
  const Expr sum = MakeLoad(compute.stages[0].output, VarsOf(out_axes));
  const Expr average = MakeCast(dtype, Div(sum, MakeCast(sum_dtype, divisor)));
  compute.stages.push_back(PlainStage("output", dtype, out_axes, average));
  return {};
}

}  // namespace tilewright
