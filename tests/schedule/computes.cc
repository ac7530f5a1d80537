#include "tests/schedule/computes.h"

namespace tilewright {
namespace {

Axis MakeAxis(const char* name, std::int64_t extent, bool reduction = false) {
  return {MakeVar(name), extent, reduction};
}

std::vector<std::int64_t> ShapeOf(const std::vector<Axis>& axes) {
  std::vector<std::int64_t> shape;
  for (const Axis& axis : axes) shape.push_back(axis.extent);
  return shape;
}

std::vector<Expr> Vars(const std::vector<Axis>& axes) {
  std::vector<Expr> vars;
  for (const Axis& axis : axes) vars.push_back(axis.var);
  return vars;
}

ComputeOp MakeOp(const char* name, DataType dtype, std::vector<Axis> axes) {
  ComputeOp op;
  op.name = name;
  op.output = MakeBuffer(name, dtype, ShapeOf(axes));
  op.axes = std::move(axes);
  return op;
}

void Reduce(ComputeOp* op, Combiner combiner, std::vector<Axis> axes, Expr body) {
  op->combiner = combiner;
  op->reduce_axes = std::move(axes);
  op->body = std::move(body);
}

}  // namespace

Compute MakeConv(const ConvCase& c) {
  Compute compute;
  const Buffer data =
      MakeBuffer("data", kFloat32, {c.channel_blocks, c.height, c.width, c.channel_block});
  const Buffer weight = MakeBuffer(
      "weight", kFloat32,
      {c.output_blocks, c.channel_blocks, c.kernel, c.kernel, c.channel_block, c.output_block});
  const Buffer bias = MakeBuffer("bias", kFloat32, {c.output_blocks, c.output_block});
  compute.inputs = {data, weight, bias};
  Buffer source = data;
  if (c.pad > 0) {
    ComputeOp pad = MakeOp("pad", kFloat32,
                           {MakeAxis("c", c.channel_blocks), MakeAxis("h", c.height + 2 * c.pad),
                            MakeAxis("w", c.width + 2 * c.pad), MakeAxis("ci", c.channel_block)});
    const auto v = Vars(pad.axes);
    const auto inside = [&](const Expr& x, std::int64_t size) {
      return And(Le(Expr(c.pad), x), Lt(x, Expr(size + c.pad)));
    };
    pad.body = MakeSelect(And(inside(v[1], c.height), inside(v[2], c.width)),
                          MakeLoad(data, {v[0], v[1] - Expr(c.pad), v[2] - Expr(c.pad), v[3]}),
                          MakeFloat(kFloat32, 0));
    source = pad.output;
    compute.stages.push_back(std::move(pad));
  }
  const auto out_size = [&](std::int64_t size) {
    return (size + 2 * c.pad - c.dilation * (c.kernel - 1) - 1) / c.stride + 1;
  };
  const auto axes = [&] {
    return std::vector<Axis>{MakeAxis("oc", c.output_blocks), MakeAxis("oh", out_size(c.height)),
                             MakeAxis("ow", out_size(c.width)), MakeAxis("oi", c.output_block)};
  };
  ComputeOp conv = MakeOp("conv", kFloat32, axes());
  const auto v = Vars(conv.axes);
  std::vector<Axis> reduce{MakeAxis("ic", c.channel_blocks, true), MakeAxis("kh", c.kernel, true),
                           MakeAxis("kw", c.kernel, true), MakeAxis("ii", c.channel_block, true)};
  const auto r = Vars(reduce);
  Expr body = MakeLoad(source, {r[0], v[1] * Expr(c.stride) + r[1] * Expr(c.dilation),
                                v[2] * Expr(c.stride) + r[2] * Expr(c.dilation), r[3]}) *
              MakeLoad(weight, {v[0], r[0], r[1], r[2], r[3], v[3]});
  Reduce(&conv, Combiner::kSum, std::move(reduce), std::move(body));
  ComputeOp output = MakeOp("output", kFloat32, axes());
  const auto o = Vars(output.axes);
  output.body =
      Max(MakeLoad(conv.output, o) + MakeLoad(bias, {o[0], o[3]}), MakeFloat(kFloat32, 0));
  compute.stages.push_back(std::move(conv));
  compute.stages.push_back(std::move(output));
  return compute;
}

Compute MakeMatmul(std::int64_t m, std::int64_t n, std::int64_t k) {
  Compute compute;
  const Buffer a = MakeBuffer("A", kFloat32, {m, k});
  const Buffer b = MakeBuffer("B", kFloat32, {k, n});
  compute.inputs = {a, b};
  ComputeOp op = MakeOp("C", kFloat32, {MakeAxis("i", m), MakeAxis("j", n)});
  op.name = "matmul";
  const auto v = Vars(op.axes);
  const Axis reduce = MakeAxis("k", k, true);
  Reduce(&op, Combiner::kSum, {reduce},
         MakeLoad(a, {v[0], reduce.var}) * MakeLoad(b, {reduce.var, v[1]}));
  compute.stages.push_back(std::move(op));
  return compute;
}

Compute MakeSoftmaxLike(std::int64_t rows, std::int64_t columns) {
  Compute compute;
  const Buffer x = MakeBuffer("x", kFloat32, {rows, columns});
  compute.inputs = {x};
  ComputeOp largest = MakeOp("max", kFloat32, {MakeAxis("r", rows)});
  const Axis k = MakeAxis("k", columns, true);
  Reduce(&largest, Combiner::kMax, {k}, MakeLoad(x, {largest.axes[0].var, k.var}));
  ComputeOp shifted = MakeOp("shifted", kFloat32, {MakeAxis("r", rows), MakeAxis("c", columns)});
  auto v = Vars(shifted.axes);
  shifted.body = MakeLoad(x, v) - MakeLoad(largest.output, {v[0]});
  ComputeOp sum = MakeOp("sum", kFloat32, {MakeAxis("r", rows)});
  const Axis k2 = MakeAxis("k", columns, true);
  Reduce(&sum, Combiner::kSum, {k2}, MakeLoad(shifted.output, {sum.axes[0].var, k2.var}));
  ComputeOp result = MakeOp("result", kFloat32, {MakeAxis("r", rows), MakeAxis("c", columns)});
  v = Vars(result.axes);
  result.body = MakeLoad(shifted.output, v) + MakeLoad(sum.output, {v[0]});
  compute.stages = {std::move(largest), std::move(shifted), std::move(sum), std::move(result)};
  return compute;
}

Compute MakeDenseU8S8(std::int64_t m, std::int64_t n, std::int64_t k) {
  Compute compute;
  const Buffer a = MakeBuffer("A", kUInt8, {m, k});
  const Buffer b = MakeBuffer("B", kInt8, {k / 4, n, 4});
  compute.inputs = {a, b};
  ComputeOp op = MakeOp("C", kInt32, {MakeAxis("i", m), MakeAxis("j", n)});
  op.name = "dense";
  const auto v = Vars(op.axes);
  const Axis outer = MakeAxis("k", k / 4, true);
  const Axis inner = MakeAxis("f", 4, true);
  Reduce(&op, Combiner::kSum, {outer, inner},
         MakeCast(kInt32, MakeLoad(a, {v[0], outer.var * Expr(4) + inner.var})) *
             MakeCast(kInt32, MakeLoad(b, {outer.var, v[1], inner.var})));
  compute.stages.push_back(std::move(op));
  return compute;
}

Schedule MakeStagedSum(std::int64_t rounds, std::int64_t steps, DataType dtype) {
  const std::int64_t rows = 2 * steps * rounds;
  const Buffer in = MakeBuffer("in", dtype, {rows, 8});
  const Axis i{MakeVar("i"), 8, false}, k{MakeVar("k"), rows, true};
  ComputeOp op;
  op.name = "out";
  op.output = MakeBuffer("out", dtype, {8});
  op.axes = {i};
  op.reduce_axes = {k};
  op.combiner = Combiner::kSum;
  op.body = MakeLoad(in, {k.var, i.var});
  Compute compute;
  compute.inputs = {in};
  compute.stages = {op};
  Schedule s(std::move(compute));
  const StageId out = s.Stage("out");
  const StageId sum = s.CacheWrite(out, Scope::kLocal);
  const StageId copy = s.CacheRead("in", Scope::kShared, sum);
  const LoopId thread = s.SpatialAxis(out, 0);
  s.Bind(out, thread, LoopKind::kThreadX);
  s.ComputeAt(sum, out, thread);
  const std::vector<LoopId> k_loops = s.SplitBy(sum, s.ReductionAxis(sum, 0), {rounds, steps, 2});
  s.Reorder(sum, {k_loops[0], k_loops[1], k_loops[2], s.SpatialAxis(sum, 0)});
  s.ComputeAt(copy, sum, k_loops[1]);
  return s;
}

std::vector<Tensor> RandomInputs(const Compute& compute, Random* random) {
  std::vector<Tensor> inputs;
  for (const Buffer& buffer : compute.inputs) {
    Tensor values(TensorType{buffer->shape, buffer->dtype});
    const int offset = buffer->dtype.code == TypeCode::kUInt ? 0 : 8;
    for (std::int64_t i = 0; i < values.elements(); ++i) {
      values.Set(i, static_cast<double>(random->Below(17)) - offset);
    }
    inputs.push_back(std::move(values));
  }
  return inputs;
}

}  // namespace tilewright
