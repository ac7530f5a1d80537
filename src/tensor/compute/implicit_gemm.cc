// The rows of an implicit matrix product are never stored as a whole. "pad" gives the pixel of the
// data that a row reads at a tap; schedules compute it where they copy the rows they need.
#include "src/tensor/compute/implicit_gemm.h"

#include <fmt/format.h>

#include "src/base/math.h"
#include "src/tensor/compute/internal.h"

namespace tilewright {
namespace {

/// Returns true if row m at its only tap is pixel m of the data.
bool IsPlainProduct(const ConvShape& s) {
  return s.r == 1 && s.s == 1 && s.h == s.oh && s.w == s.ow && s.stride_h == 1 && s.stride_w == 1 &&
         s.pad_top == 0 && s.pad_left == 0;
}

/// "pad": see DefineImplicitGemm.
ComputeOp RowsStage(const ImplicitGemm& gemm, const Buffer& data, std::int64_t rows) {
  const ConvShape& s = gemm.shape;
  const std::vector<Axis> axes = {{MakeVar("m"), rows},
                                  {MakeVar("kh"), s.r},
                                  {MakeVar("kw"), s.s},
                                  {MakeVar("c"), gemm.channels}};
  const LinearIndex m = LinearIndex::Of(axes[0]);
  Expr inside = Inside(m, 0, gemm.rows);
  LinearIndex pixel = m;
  if (!IsPlainProduct(s)) {
    const auto [image, place] = m.DivMod(s.oh * s.ow);
    const auto [oh, ow] = place.DivMod(s.ow);
    const LinearIndex h = oh.Times(s.stride_h).Plus(LinearIndex::Of(axes[1]).Times(s.dilation_h));
    const LinearIndex w = ow.Times(s.stride_w).Plus(LinearIndex::Of(axes[2]).Times(s.dilation_w));
    inside = And(And(inside, Inside(h, s.pad_top, s.h)), Inside(w, s.pad_left, s.w));
    pixel = image.Times(s.h).Plus(h).Plus(-s.pad_top).Times(s.w).Plus(w).Plus(-s.pad_left);
  }
  const Expr value = MakeLoad(data, {pixel.ToExpr(), axes[3].var});
  return PlainStage("pad", data->dtype, axes, MakeSelect(inside, value, MakeConst(data->dtype, 0)));
}

}  // namespace

Result<ImplicitGemm> ImplicitGemmOf(const Workload& workload, std::int64_t channel_block) {
  TW_ASSIGN_OR_RETURN(auto shape, ConvShapeOf(workload));
  if (workload.op != OpKind::kConv2d || shape.groups != 1) {
    return Unsupported(workload.Key() + " as one matrix product, expected conv2d of one group");
  }
  ImplicitGemm gemm;
  gemm.shape = shape;
  gemm.rows = shape.n * shape.oh * shape.ow;
  gemm.columns = shape.k;
  gemm.channels = RoundUp(shape.c, channel_block);
  gemm.layouts.data = gemm.layouts.output = "NHWC";
  gemm.layouts.weight = "OHWI";
  if (gemm.channels != shape.c) {
    gemm.layouts.data += fmt::format("{}c", channel_block);
    gemm.layouts.weight += fmt::format("{}i", channel_block);
  }
  return gemm;
}

Result<Compute> DefineImplicitGemm(const Workload& workload, const Epilogue& epilogue,
                                   const ImplicitGemm& gemm, std::int64_t row_tile) {
  const ConvShape& s = gemm.shape;
  const std::int64_t rows = RoundUp(gemm.rows, row_tile);
  Compute compute;
  compute.macs = workload.macs();
  compute.inputs = {MakeBuffer("data", workload.data.dtype, {s.n * s.h * s.w, gemm.channels}),
                    MakeBuffer("weight", workload.weight.dtype, {s.k, s.r, s.s, gemm.channels})};
  const bool copied = rows != gemm.rows || !IsPlainProduct(s);
  if (copied) compute.stages.push_back(RowsStage(gemm, compute.inputs[0], rows));

  const Axis m = {MakeVar("m"), rows}, k = {MakeVar("k"), gemm.columns};
  const Axis kh = {MakeVar("kh"), s.r, true}, kw = {MakeVar("kw"), s.s, true};
  const Axis c = {MakeVar("c"), gemm.channels, true};
  const Expr a = copied ? MakeLoad(compute.stages[0].output, {m.var, kh.var, kw.var, c.var})
                        : MakeLoad(compute.inputs[0], {m.var, c.var});
  const Expr b = MakeLoad(compute.inputs[1], {k.var, kh.var, kw.var, c.var});
  const DataType sum = SumType(workload);
  ComputeOp reduce = ReductionStage("reduce", {m, k}, {kh, kw, c}, Combiner::kSum,
                                    MakeCast(sum, a) * MakeCast(sum, b));
  const Buffer sums = reduce.output;
  compute.stages.push_back(std::move(reduce));
  if (epilogue.steps.empty() && rows == gemm.rows && sum == workload.out_dtype) return compute;

  const Axis pixel = {MakeVar("m"), gemm.rows}, channel = {MakeVar("k"), gemm.columns};
  TW_ASSIGN_OR_RETURN(auto output, EpilogueStage(epilogue, MakeLoad(sums, {pixel.var, channel.var}),
                                                 workload.out_dtype, {pixel, channel},
                                                 LinearIndex::Of(channel), compute.inputs));
  compute.stages.push_back(std::move(output));
  return compute;
}

}  // namespace tilewright
