// Convolutions and matrix products share one form of definition: an optional "pad" stage that gives
// the data the sizes and the type of the reduction, the "reduce" stage (a sum of products over
// blocked operands), and an "output" stage with the compensation and the epilogue. They differ in
// the primal indices of data and weight for an output position and a reduction step; that is a
// Contraction.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "src/base/math.h"
#include "src/tensor/compute/internal.h"
#include "src/tensor/compute/linear_index.h"
#include "src/tensor/compute/spatial_pack.h"
#include "src/tensor/compute/winograd.h"
#include "src/tensor/layout.h"
#include "src/tensor/operator_table.h"

namespace tilewright {
namespace {

using Sizes = std::map<char, std::int64_t>;

/// Mapping of one dimension in the "pad" stage: source = index - before, where defined.
struct Padding {
  std::int64_t before = 0;
  std::int64_t size = 0;  // of the padded dimension; 0: as the source
  std::int64_t step = 1;  // only every step-th position has a source (transposed convolution)
};

struct Contraction {
  Layout data, weight, output;
  Sizes data_sizes, weight_sizes, output_sizes;  // logical
  LayoutAxes out;
  std::vector<Axis> reduce_axes;
  PrimalIndices data_index, weight_index;  // data_index is in the padded data
  std::map<char, Padding> padding;
  char channel = 'C';  // of output: the dimension that indexes channel operands
};

std::vector<std::int64_t> InOrder(const Layout& layout, const Sizes& sizes) {
  std::vector<std::int64_t> ordered;
  for (char c : layout.primal()) ordered.push_back(sizes.at(c));
  return ordered;
}

std::vector<std::int64_t> PackedShape(const Layout& layout, const Sizes& sizes) {
  return layout.Pack(InOrder(layout, sizes));
}

/// Returns the size of a dimension in memory, with padded blocks.
std::int64_t RoundedSize(const Layout& layout, const Sizes& sizes, char dimension) {
  return RoundUp(sizes.at(dimension), layout.BlockOf(dimension));
}

Result<Layout> ParseLayout(std::string_view what, std::string_view physical, std::string_view own,
                           std::string_view dimensions) {
  TW_ASSIGN_OR_RETURN(auto layout, Layout::Parse(physical.empty() ? own : physical));
  const std::string letters = layout.primal();
  const bool fits =
      letters.size() == dimensions.size() && std::ranges::is_permutation(letters, dimensions);
  // Spatial dimensions of data are never blocked: windows slide over them. Taps of a kernel may be.
  const bool rows = layout.BlockOf('H') != 1;
  if (!fits || rows || (what != "weight" && layout.BlockOf('W') != 1)) {
    return Unsupported(
        fmt::format("{} layout {}, expected the dimensions {} with blocks of channels", what,
                    layout.text(), dimensions));
  }
  return layout;
}

Status ParseLayouts(const Workload& w, const KernelLayouts& physical, std::string_view data,
                    std::string_view weight, std::string_view output, Contraction& c) {
  TW_ASSIGN_OR_RETURN(auto own_output, w.OutputLayout());
  TW_ASSIGN_OR_RETURN(auto data_layout, ParseLayout("data", physical.data, w.data_layout, data));
  TW_ASSIGN_OR_RETURN(auto weight_layout,
                      ParseLayout("weight", physical.weight, w.kernel_layout, weight));
  TW_ASSIGN_OR_RETURN(auto output_layout,
                      ParseLayout("output", physical.output, own_output, output));
  c.data = std::move(data_layout);
  c.weight = std::move(weight_layout);
  c.output = std::move(output_layout);
  return {};
}

Axis ReduceAxis(std::string name, std::int64_t extent) {
  return {MakeVar(std::move(name)), extent, true};
}

/// Returns the index of a reduced dimension, blocked like the weight, and adds its axes: the outer
/// one to the front of the reduction, the blocks (outermost first) to `inner`.
LinearIndex MakeReduction(const Layout& weight, const Sizes& weight_sizes, char dimension,
                          std::string name, Contraction& c, std::vector<Axis>& inner) {
  std::int64_t stride = weight.BlockOf(dimension);
  const std::int64_t blocks = CeilDiv(weight_sizes.at(dimension), stride);
  c.reduce_axes.push_back(ReduceAxis(name, blocks));
  LinearIndex index = LinearIndex::Of(c.reduce_axes.back()).Times(stride);
  for (const Layout::Part& part : weight.parts()) {
    if (part.dimension != dimension || part.block == 0) continue;
    name += "i";
    stride /= part.block;
    inner.push_back(ReduceAxis(name, part.block));
    index = index.Plus(LinearIndex::Of(inner.back()).Times(stride));
  }
  return index;
}

/// Extends the padded data to the indices that padded blocks reach.
void CoverIndex(Contraction& c, char dimension) {
  const std::int64_t reached = c.data_index.at(dimension).Max() + 1;
  if (reached > RoundedSize(c.data, c.data_sizes, dimension)) c.padding[dimension].size = reached;
}

Result<Contraction> ConvolutionOf(const Workload& w, const KernelLayouts& physical) {
  TW_ASSIGN_OR_RETURN(auto shape, ConvShapeOf(w));
  const ConvShape& s = shape;
  Contraction c;
  TW_RETURN_IF_ERROR(ParseLayouts(w, physical, "NCHW", "OIHW", "NCHW", c));
  const bool transposed = w.op == OpKind::kConv2dTranspose;
  const std::int64_t in_per_group = s.c / s.groups, out_per_group = s.k / s.groups;
  const bool depthwise = s.groups > 1 && in_per_group == 1;
  c.data_sizes = {{'N', s.n}, {'C', s.c}, {'H', s.h}, {'W', s.w}};
  c.weight_sizes = {{'O', transposed ? out_per_group : s.k},
                    {'I', transposed ? s.c : in_per_group},
                    {'H', s.r},
                    {'W', s.s}};
  c.output_sizes = {{'N', s.n}, {'C', s.k}, {'H', s.oh}, {'W', s.ow}};
  const bool grouped = s.groups > 1 && !(depthwise && out_per_group == 1);
  if (grouped && (s.k % c.output.BlockOf('C') != 0 || in_per_group % c.weight.BlockOf('I') != 0)) {
    return Unsupported(
        fmt::format("{} groups of {} to {} channels with weight layout {} and output "
                    "layout {}, expected blocks that divide them",
                    s.groups, in_per_group, out_per_group, c.weight.text(), c.output.text()));
  }
  c.out = MakeLayoutAxes(c.output, PackedShape(c.output, c.output_sizes),
                         {{'N', "n"}, {'C', "oc"}, {'H', "oh"}, {'W', "ow"}});
  const LinearIndex k = c.out.primal.at('C');

  if (transposed && c.weight.BlockOf('W') != 1) {
    return Unsupported("weight layout " + c.weight.text() +
                       " of a transposed convolution, expected single columns");
  }
  std::vector<Axis> inner;
  LinearIndex ic;
  if (!depthwise && transposed && s.groups > 1) {
    c.reduce_axes.push_back(ReduceAxis("ic", in_per_group));
    ic = LinearIndex::Of(c.reduce_axes.back());
  } else if (!depthwise) {
    ic = MakeReduction(c.weight, c.weight_sizes, 'I', "ic", c, inner);
  }
  c.reduce_axes.push_back(ReduceAxis("kh", s.r));
  const LinearIndex kh = LinearIndex::Of(c.reduce_axes.back());
  const LinearIndex kw = MakeReduction(c.weight, c.weight_sizes, 'W', "kw", c, inner);
  c.reduce_axes.insert(c.reduce_axes.end(), inner.begin(), inner.end());

  const LinearIndex group = s.groups > 1 ? k.DivMod(out_per_group).first : LinearIndex();
  const LinearIndex in_channel = group.Times(in_per_group).Plus(ic);
  const std::int64_t step_h = transposed ? 1 : s.stride_h, step_w = transposed ? 1 : s.stride_w;
  c.data_index = {{'N', c.out.primal.at('N')},
                  {'C', in_channel},
                  {'H', c.out.primal.at('H').Times(step_h).Plus(kh.Times(s.dilation_h))},
                  {'W', c.out.primal.at('W').Times(step_w).Plus(kw.Times(s.dilation_w))}};
  CoverIndex(c, 'C');
  if (transposed) {
    // The data with stride - 1 zeros between its elements, under the reversed kernel.
    const std::int64_t reach_h = s.dilation_h * (s.r - 1), reach_w = s.dilation_w * (s.s - 1);
    c.padding['H'] = {reach_h - s.pad_top, s.oh + reach_h, s.stride_h};
    c.padding['W'] = {reach_w - s.pad_left, s.ow + reach_w, s.stride_w};
    c.weight_index = {{'O', s.groups > 1 ? k.DivMod(out_per_group).second : k},
                      {'I', in_channel},
                      {'H', kh.Times(-1).Plus(s.r - 1)},
                      {'W', kw.Times(-1).Plus(s.s - 1)}};
    return c;
  }
  if (s.pad_top + s.pad_bottom > 0) {
    c.padding['H'] = {s.pad_top, s.h + s.pad_top + s.pad_bottom, 1};
  }
  if (s.pad_left + s.pad_right > 0) {
    c.padding['W'] = {s.pad_left, s.w + s.pad_left + s.pad_right, 1};
  }
  if (c.weight.BlockOf('W') > 1) {  // zeros under the taps that pad the last block
    Padding& columns = c.padding['W'];
    columns.size = std::max(c.data_index.at('W').Max() + 1, s.w + s.pad_left + s.pad_right);
    if (columns.before == 0 && columns.size == s.w) c.padding.erase('W');
  }
  c.weight_index = {{'O', k}, {'I', ic}, {'H', kh}, {'W', kw}};
  return c;
}

Result<Contraction> MatmulOf(const Workload& w, const KernelLayouts& physical) {
  const AnchorLayouts& layouts = RowOf(w.op).layouts;
  Contraction c;
  TW_RETURN_IF_ERROR(ParseLayouts(w, physical, layouts.data, layouts.weight, layouts.result, c));
  c.channel = 'N';
  TW_ASSIGN_OR_RETURN(auto own_data, Layout::Parse(w.data_layout));
  TW_ASSIGN_OR_RETURN(auto own_weight, Layout::Parse(w.kernel_layout));
  const std::vector<std::int64_t> data = own_data.Unpack(w.data.shape);
  const std::vector<std::int64_t> weight = own_weight.Unpack(w.weight.shape);
  for (std::size_t i = 0; i < data.size(); ++i) c.data_sizes[own_data.primal()[i]] = data[i];
  for (std::size_t i = 0; i < weight.size(); ++i) {
    c.weight_sizes[own_weight.primal()[i]] = weight[i];
  }
  c.output_sizes = {{'M', c.data_sizes.at('M')}, {'N', c.weight_sizes.at('N')}};
  const bool batched = layouts.data.starts_with('B');
  if (batched) c.output_sizes['B'] = c.data_sizes.at('B');
  c.out = MakeLayoutAxes(c.output, PackedShape(c.output, c.output_sizes),
                         {{'B', "b"}, {'M', "m"}, {'N', "n"}});
  std::vector<Axis> inner;
  const LinearIndex k = MakeReduction(c.weight, c.weight_sizes, 'K', "k", c, inner);
  c.reduce_axes.insert(c.reduce_axes.end(), inner.begin(), inner.end());
  c.data_index = {{'M', c.out.primal.at('M')}, {'K', k}};
  c.weight_index = {{'N', c.out.primal.at('N')}, {'K', k}};
  if (batched) c.data_index['B'] = c.out.primal.at('B');
  if (layouts.weight.starts_with('B')) c.weight_index['B'] = c.out.primal.at('B');
  CoverIndex(c, 'M');
  CoverIndex(c, 'K');
  return c;
}

Status CheckKernelLayouts(const Workload& w, const KernelLayouts& physical) {
  if (physical.shift_data) {
    const bool bytes = w.data.dtype == kInt8 && w.weight.dtype == kInt8;
    if (bytes && !physical.multiply_dtype && w.op != OpKind::kBatchMatmul) return {};
    return Unsupported(
        fmt::format("shifted data of {}, expected int8 data and constant int8 weights", w.Key()));
  }
  if (!physical.multiply_dtype) return {};
  const DataType wide = *physical.multiply_dtype;
  const auto fits = [&](DataType narrow) {
    if (narrow.is_half()) return wide == kFloat32;
    const bool sign_fits = wide.code == narrow.code || wide.bits > narrow.bits;
    return narrow.is_integer() && wide.code == TypeCode::kInt && narrow.bits <= wide.bits &&
           sign_fits;
  };
  if (fits(w.data.dtype) && fits(w.weight.dtype)) return {};
  return Unsupported(fmt::format("multiplying {} x {} as {}, expected a type that holds both",
                                 DataTypeName(w.data.dtype), DataTypeName(w.weight.dtype),
                                 DataTypeName(wide)));
}

/// Extends the padding to the data that all Winograd tiles read.
void GrowForTiles(const ConvShape& s, std::int64_t m, Contraction& c) {
  const WinogradTiles tiles = WinogradTilesOf(s, m);
  const std::int64_t rows = (tiles.rows - 1) * m + tiles.window;
  const std::int64_t cols = (tiles.cols - 1) * m + tiles.window;
  if (s.pad_top > 0 || rows > s.h) c.padding['H'] = {s.pad_top, std::max(rows, s.pad_top + s.h), 1};
  if (s.pad_left > 0 || cols > s.w)
    c.padding['W'] = {s.pad_left, std::max(cols, s.pad_left + s.w), 1};
}

Expr ConvertData(const KernelLayouts& physical, Expr value) {
  if (physical.shift_data) {
    return MakeCast(kUInt8, MakeCast(kInt32, value) + MakeInt(kInt32, 128));
  }
  return physical.multiply_dtype ? MakeCast(*physical.multiply_dtype, value) : value;
}

/// Returns the stage of the data as the reduction reads it.
ComputeOp PadStage(const Contraction& c, const KernelLayouts& physical, const Buffer& data) {
  Sizes padded = c.data_sizes;
  for (const auto& [dimension, padding] : c.padding) {
    if (padding.size > 0) padded[dimension] = padding.size;
  }
  LayoutAxes axes = MakeLayoutAxes(
      c.data, PackedShape(c.data, padded),
      {{'N', "n"}, {'C', "c"}, {'H', "h"}, {'W', "w"}, {'B', "b"}, {'M', "m"}, {'K', "k"}});
  PrimalIndices source = axes.primal;
  Expr inside = MakeInt(kBool, 1);
  for (const auto& [dimension, padding] : c.padding) {
    LinearIndex& index = source.at(dimension);
    const std::int64_t size = RoundedSize(c.data, c.data_sizes, dimension);
    if (padding.step == 1) {
      inside = And(inside, Inside(index, padding.before, size));
      index = index.Plus(-padding.before);
      continue;
    }
    const std::int64_t span = (size - 1) * padding.step + 1;
    inside = And(inside, Inside(index, padding.before, span));
    const Expr position = index.Plus(-padding.before).ToExpr();
    inside = And(inside, Eq(FloorMod(position, Expr(padding.step)), Expr(0)));
    index = LinearIndex::Atom(FloorDiv(position, Expr(padding.step)), size);
  }
  const Expr value = ConvertData(physical, MakeLoad(data, MemoryIndices(c.data, source)));
  const DataType dtype = value.dtype();
  // With one source position an atom of extent 1 folds to index 0, which is right wherever the
  // condition holds.
  ComputeOp stage;
  stage.name = "pad";
  stage.output = MakeBuffer("pad", dtype, PackedShape(c.data, padded));
  stage.axes = std::move(axes.axes);
  stage.body = MakeSelect(inside, value, MakeConst(dtype, physical.shift_data ? 128 : 0));
  return stage;
}

ComputeOp ReduceStage(const Contraction& c, const Buffer& data, const Buffer& weight,
                      DataType accumulator) {
  const Expr a = MakeLoad(data, MemoryIndices(c.data, c.data_index));
  const Expr b = MakeLoad(weight, MemoryIndices(c.weight, c.weight_index));
  ComputeOp stage;
  stage.name = "reduce";
  stage.output = MakeBuffer("reduce", accumulator, PackedShape(c.output, c.output_sizes));
  stage.axes = c.out.axes;
  stage.reduce_axes = c.reduce_axes;
  stage.combiner = Combiner::kSum;
  stage.body = MakeCast(accumulator, a) * MakeCast(accumulator, b);
  return stage;
}

/// Returns the stage of compensation and epilogue on the sums of `reduce`; `result` is their type
/// in the workload.
Result<ComputeOp> OutputStage(const Contraction& c, const Epilogue& epilogue,
                              const KernelLayouts& physical, const ComputeOp& reduce,
                              DataType result, std::vector<Buffer>& inputs) {
  LayoutAxes axes =
      MakeLayoutAxes(c.output, reduce.output->shape,
                     {{'N', "n"}, {'C', "oc"}, {'H', "oh"}, {'W', "ow"}, {'B', "b"}, {'M', "m"}});
  const LinearIndex& channel = axes.primal.at(c.channel);
  Expr current = MakeLoad(reduce.output, axes.vars());
  if (physical.shift_data) {
    const Buffer compensation = MakeBuffer("compensation", kInt32, {channel.Max() + 1});
    current = current + MakeLoad(compensation, {channel.ToExpr()});
    inputs.push_back(compensation);
  }
  return EpilogueStage(epilogue, std::move(current), result, std::move(axes.axes), channel, inputs);
}

}  // namespace

Result<Compute> DefineAnchor(const Workload& workload, const Epilogue& epilogue,
                             const KernelLayouts& physical) {
  const std::string_view name = OpName(workload.op);
  if (!IsAnchor(workload.op)) return InvalidArgument(fmt::format("{} is not an anchor", name));
  if (auto type = workload.OutputType(); !type.ok()) return type.status().WithContext(name);
  TW_RETURN_IF_ERROR(CheckKernelLayouts(workload, physical));
  TW_RETURN_IF_ERROR(CheckSpatialPack(workload, physical));
  TW_RETURN_IF_ERROR(CheckWinograd(workload, physical));
  TW_ASSIGN_OR_RETURN(auto contraction, IsMatrixProduct(workload.op)
                                            ? MatmulOf(workload, physical)
                                            : ConvolutionOf(workload, physical));
  Contraction& c = contraction;
  const DataType weight_dtype = physical.multiply_dtype.value_or(workload.weight.dtype);
  BufferNode weight{"weight", weight_dtype, PackedShape(c.weight, c.weight_sizes)};
  weight.narrow =
      workload.reduced_range_weights && physical.winograd_tile == 0 && weight_dtype == kInt8;
  Compute compute;
  compute.macs = workload.macs();
  compute.inputs = {MakeBuffer("data", workload.data.dtype, PackedShape(c.data, c.data_sizes)),
                    std::make_shared<const BufferNode>(std::move(weight))};
  std::optional<ConvShape> tiled;  // by Winograd
  if (physical.winograd_tile > 0) {
    tiled = *ConvShapeOf(workload);
    GrowForTiles(*tiled, physical.winograd_tile, c);
    compute.inputs[1] = MakeBuffer("weight", weight_dtype,
                                   WinogradWeightShape(*tiled, WinogradKindOf(workload, physical)));
  }
  Buffer data = compute.inputs[0];
  if (!c.padding.empty() || physical.shift_data ||
      physical.multiply_dtype.value_or(data->dtype) != data->dtype) {
    compute.stages.push_back(PadStage(c, physical, data));
    data = compute.stages.back().output;
  }
  if (tiled) {
    for (ComputeOp& stage :
         WinogradStages(data, compute.inputs[1], *tiled, WinogradKindOf(workload, physical))) {
      compute.stages.push_back(std::move(stage));
    }
  } else if (physical.spatial_pack != SpatialPack()) {
    for (ComputeOp& stage : SpatialPackStages(data, compute.inputs[1], workload,
                                              physical.spatial_pack, SumType(workload))) {
      compute.stages.push_back(std::move(stage));
    }
  } else {
    compute.stages.push_back(ReduceStage(c, data, compute.inputs[1], SumType(workload)));
  }
  if (physical.shift_data || !epilogue.steps.empty() || SumType(workload) != workload.out_dtype) {
    TW_ASSIGN_OR_RETURN(auto output, OutputStage(c, epilogue, physical, compute.stages.back(),
                                                 workload.out_dtype, compute.inputs));
    compute.stages.push_back(std::move(output));
  }
  return compute;
}

}  // namespace tilewright
