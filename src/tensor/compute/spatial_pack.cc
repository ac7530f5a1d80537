// Convolutions in blocks of the result, as AutoTVM's templates for Arm CPUs compute them. Each
// block reads its own copy of the data, so that the loops inside a block read neighbouring memory.

#include "src/tensor/compute/spatial_pack.h"

#include <fmt/format.h>

#include "src/tensor/compute/internal.h"
#include "src/tensor/layout.h"

namespace tilewright {
namespace {

/// Builder of the stages. Each stage has axes of its own.
class PackedStages {
 public:
  PackedStages(const Workload& workload, const SpatialPack& pack, DataType sum_type)
      : shape_(*ConvShapeOf(workload)), pack_(pack), sum_type_(sum_type) {
    transposed_ = workload.op == OpKind::kConv2dTranspose;
    if (transposed_) shape_.stride_h = shape_.stride_w = 1;
  }

  std::vector<ComputeOp> Make(const Buffer& data, const Buffer& weight) {
    if (pack_.rows == 0) {
      MakePlaces(MakeChannelSums(PackChannels(data), weight));
    } else {
      MakePlaces(MakeBlockSums(dilated() ? PackTaps(data) : PackWindows(data), weight));
    }
    return std::move(stages_);
  }

 private:
  bool dilated() const { return shape_.dilation_h != 1 || shape_.dilation_w != 1; }
  Axis Images() const { return NewAxis("n", shape_.n); }
  Axis RowBlocks() const { return NewAxis("bh", shape_.oh / pack_.rows); }
  Axis ColumnBlocks() const { return NewAxis("bw", shape_.ow / pack_.columns); }

  Buffer Add(const char* name, std::vector<Axis> axes, const Expr& body) {
    stages_.push_back(PlainStage(name, body.dtype(), std::move(axes), body));
    return stages_.back().output;
  }
  Buffer AddSums(std::vector<Axis> axes, std::vector<Axis> reduce, const Expr& data,
                 const Expr& weight) {
    stages_.push_back(ReductionStage("sums", std::move(axes), std::move(reduce), Combiner::kSum,
                                     MakeCast(sum_type_, data) * MakeCast(sum_type_, weight)));
    return stages_.back().output;
  }
  /// Returns a position in the padded data of tap `k` of result `y` in block `block`.
  static Expr Position(const Axis& block, std::int64_t rows, const Expr& y, std::int64_t stride,
                       const Expr& k, std::int64_t dilation) {
    return (block.var * Expr(rows) + y) * Expr(stride) + k * Expr(dilation);
  }

  Buffer PackWindows(const Buffer& data) {
    const Axis n = Images(), bh = RowBlocks(), bw = ColumnBlocks(), ci = NewAxis("ci", shape_.c),
               y = NewAxis("y", (pack_.rows - 1) * shape_.stride_h + shape_.r),
               x = NewAxis("x", (pack_.columns - 1) * shape_.stride_w + shape_.s);
    return Add("pack", {n, bh, bw, ci, y, x},
               MakeLoad(data, {n.var, ci.var, bh.var * Expr(pack_.rows * shape_.stride_h) + y.var,
                               bw.var * Expr(pack_.columns * shape_.stride_w) + x.var}));
  }

  Buffer PackTaps(const Buffer& data) {
    const Axis n = Images(), bh = RowBlocks(), bw = ColumnBlocks(), ci = NewAxis("ci", shape_.c),
               kh = NewAxis("kh", shape_.r), kw = NewAxis("kw", shape_.s),
               vh = NewAxis("vh", pack_.rows), vw = NewAxis("vw", pack_.columns);
    return Add(
        "pack", {n, bh, bw, ci, kh, kw, vh, vw},
        MakeLoad(
            data,
            {n.var, ci.var,
             Position(bh, pack_.rows, vh.var, shape_.stride_h, kh.var, shape_.dilation_h),
             Position(bw, pack_.columns, vw.var, shape_.stride_w, kw.var, shape_.dilation_w)}));
  }

  Buffer MakeBlockSums(const Buffer& packed, const Buffer& weight) {
    const Axis n = Images(), bk = NewAxis("bk", shape_.k / pack_.channels), bh = RowBlocks(),
               bw = ColumnBlocks(), vh = NewAxis("vh", pack_.rows),
               vw = NewAxis("vw", pack_.columns), vc = NewAxis("vc", pack_.channels);
    const Axis ci = NewAxis("ci", shape_.c, true), kh = NewAxis("kh", shape_.r, true),
               kw = NewAxis("kw", shape_.s, true);
    std::vector<Expr> at = {n.var, bh.var, bw.var, ci.var};
    if (dilated()) {
      at.insert(at.end(), {kh.var, kw.var, vh.var, vw.var});
    } else {
      at.insert(at.end(),
                {vh.var * Expr(shape_.stride_h) + kh.var, vw.var * Expr(shape_.stride_w) + kw.var});
    }
    const Expr row = transposed_ ? Expr(shape_.r - 1) - kh.var : kh.var;
    const Expr column = transposed_ ? Expr(shape_.s - 1) - kw.var : kw.var;
    const Expr factor = transposed_ ? MakeLoad(weight, {ci.var, bk.var, row, column, vc.var})
                                    : MakeLoad(weight, {bk.var, ci.var, row, column, vc.var});
    const Buffer sums =
        AddSums({n, bk, bh, bw, vh, vw, vc}, {ci, kh, kw}, MakeLoad(packed, at), factor);
    return sums;
  }

  Buffer PackChannels(const Buffer& data) {
    const Axis n = Images(), bc = NewAxis("bc", shape_.c / pack_.channels),
               y = NewAxis("y", data->shape[2]), x = NewAxis("x", data->shape[3]),
               vc = NewAxis("vc", pack_.channels);
    return Add("pack", {n, bc, y, x, vc},
               MakeLoad(data, {n.var, bc.var * Expr(pack_.channels) + vc.var, y.var, x.var}));
  }

  Buffer MakeChannelSums(const Buffer& packed, const Buffer& weight) {
    const Axis n = Images(), bk = NewAxis("bk", shape_.k / pack_.channels),
               y = NewAxis("oh", shape_.oh), x = NewAxis("ow", shape_.ow),
               vc = NewAxis("vc", pack_.channels);
    const Axis kh = NewAxis("kh", shape_.r, true), kw = NewAxis("kw", shape_.s, true);
    return AddSums(
        {n, bk, y, x, vc}, {kh, kw},
        MakeLoad(packed,
                 {n.var, bk.var, y.var * Expr(shape_.stride_h) + kh.var * Expr(shape_.dilation_h),
                  x.var * Expr(shape_.stride_w) + kw.var * Expr(shape_.dilation_w), vc.var}),
        MakeLoad(weight, {bk.var, Expr(0), kh.var, kw.var, vc.var}));
  }

  void MakePlaces(const Buffer& sums) {
    const Axis n = Images(), k = NewAxis("oc", shape_.k), y = NewAxis("oh", shape_.oh),
               x = NewAxis("ow", shape_.ow);
    const Expr channels(pack_.channels), rows(pack_.rows), columns(pack_.columns);
    const Expr block = FloorDiv(k.var, channels), lane = FloorMod(k.var, channels);
    std::vector<Expr> at = {n.var, block, y.var, x.var, lane};
    if (pack_.rows > 0) {
      at = {n.var,
            block,
            FloorDiv(y.var, rows),
            FloorDiv(x.var, columns),
            FloorMod(y.var, rows),
            FloorMod(x.var, columns),
            lane};
    }
    Add("reduce", {n, k, y, x}, MakeLoad(sums, at));
  }

  ConvShape shape_;
  SpatialPack pack_;
  DataType sum_type_;
  bool transposed_ = false;
  std::vector<ComputeOp> stages_;
};

}  // namespace

Status CheckSpatialPack(const Workload& w, const KernelLayouts& layouts) {
  const SpatialPack& pack = layouts.spatial_pack;
  if (pack == SpatialPack()) return {};
  const bool transposed = w.op == OpKind::kConv2dTranspose;
  const bool plain = (w.op == OpKind::kConv2d || transposed) && w.data_layout == "NCHW" &&
                     w.kernel_layout == (transposed ? "IOHW" : "OIHW") && layouts.data.empty() &&
                     layouts.output.empty() && !layouts.shift_data &&
                     (!layouts.multiply_dtype || layouts.winograd_tile > 0);
  if (!plain || pack.channels < 1 || pack.rows < 0 || pack.columns < 0 ||
      layouts.weight != w.kernel_layout + std::to_string(pack.channels) + "o") {
    return Unsupported(
        fmt::format("spatial packing of {} with weight layout '{}', expected NCHW, blocks of 1 or "
                    "more, and weights in the same blocks of output channels",
                    w.Key(), layouts.weight));
  }
  TW_ASSIGN_OR_RETURN(const auto s, ConvShapeOf(w));
  if (s.k % pack.channels != 0) {
    return Unsupported(fmt::format("{} channels in blocks of {}", s.k, pack.channels));
  }
  if (layouts.winograd_tile > 0) {
    if (pack.rows == 0 && pack.columns > 0) return {};
    return Unsupported(
        fmt::format("Winograd tiles in blocks of {} and {} rows, expected blocks of 1 or more "
                    "tiles and no rows",
                    pack.columns, pack.rows));
  }
  if (pack.rows == 0 && pack.columns == 0 && !transposed && s.groups == s.c && s.groups == s.k &&
      s.groups > 1) {
    return {};
  }
  if (s.groups != 1 || pack.rows == 0 || pack.columns == 0 || s.oh % pack.rows != 0 ||
      s.ow % pack.columns != 0) {
    return Unsupported(fmt::format(
        "{} x {} results in blocks of {} x {}, expected blocks that divide them and one group, or "
        "a depthwise convolution and no blocks of rows and columns",
        s.oh, s.ow, pack.rows, pack.columns));
  }
  return {};
}

std::vector<ComputeOp> SpatialPackStages(const Buffer& data, const Buffer& weight,
                                         const Workload& workload, const SpatialPack& pack,
                                         DataType sum_type) {
  return PackedStages(workload, pack, sum_type).Make(data, weight);
}

}  // namespace tilewright
