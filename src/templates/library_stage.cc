#include "src/templates/library_stage.h"

#include "src/target/device.h"
#include "src/target/library.h"
#include "src/templates/fixed_grid_schedule.h"
#include "src/templates/stages.h"
#include "src/templates/workload_kind.h"

namespace tilewright {
namespace {

std::int64_t TypeOf(DataType dtype) {
  if (dtype == kFloat32) return TW_LIBRARY_F32;
  if (dtype == kInt32) return TW_LIBRARY_S32;
  return dtype == kInt8 ? TW_LIBRARY_S8 : TW_LIBRARY_U8;
}

TwLibraryShape ShapeOf(const Workload& w, std::int64_t kind) {
  TwLibraryShape shape{};
  shape.kind = kind;
  shape.data_type = TypeOf(w.data.dtype);
  shape.weight_type = TypeOf(w.weight.dtype);
  shape.result_type = TypeOf(w.out_dtype);
  shape.n = shape.r = shape.s = shape.groups = shape.h = shape.w = shape.oh = shape.ow = 1;
  return shape;
}

Status ScheduleRest(Schedule& s, const Target& target) {
  if (DeviceTraitsOf(target).launches_grids) {
    ScheduleFixedGrid(s, StageId());
    return {};
  }
  TW_ASSIGN_OR_RETURN(auto features, FeaturesOf(target));
  ScheduleFlat(s, s.Stage("output"), features.float_lanes(), target);
  return {};
}

}  // namespace

Result<Kernel> LibraryCallWithEpilogue(const Workload& w, const Epilogue& epilogue,
                                       const Target& target, const KernelLayouts& layouts,
                                       std::string_view library, TwLibraryShape shape) {
  if (!IsFloat32(w) && !IsInt8(w)) return Unsupported("no library is called for these types");
  // GPU libraries read weights unpacked.
  if (DeviceTraitsOf(target).launches_grids) shape.constant_weight = 0;
  TW_ASSIGN_OR_RETURN(auto compute, DefineAnchor(w, epilogue, layouts));
  Schedule s(std::move(compute));
  const StageId sum = s.Stage("reduce");
  if (s.HasStage("pad")) s.ComputeInline(s.Stage("pad"));
  std::string operation = w.Key();
  if (!layouts.data.empty()) operation += " " + layouts.data + "->" + layouts.output;
  s.CallLibrary(sum, {std::string(FileOf(*FindLibrary(library))), std::move(operation), shape});
  if (s.HasStage("output")) TW_RETURN_IF_ERROR(ScheduleRest(s, target));
  return FinishKernel(std::move(s), layouts);
}

TwLibraryShape ConvolutionCall(const Workload& w) {
  const auto c = ConvShapeOf(w);
  TW_CHECK(c.ok(), c.status().message());
  TwLibraryShape shape = ShapeOf(w, TW_LIBRARY_CONVOLUTION);
  shape.constant_weight = 1;
  shape.n = c->n, shape.c = c->c, shape.h = c->h, shape.w = c->w;
  shape.k = c->k, shape.r = c->r, shape.s = c->s, shape.oh = c->oh, shape.ow = c->ow;
  shape.groups = c->groups;
  shape.stride_h = c->stride_h, shape.stride_w = c->stride_w;
  shape.dilation_h = c->dilation_h, shape.dilation_w = c->dilation_w;
  shape.pad_top = c->pad_top, shape.pad_left = c->pad_left;
  shape.pad_bottom = c->pad_bottom, shape.pad_right = c->pad_right;
  return shape;
}

std::string RefusesProducts(const Workload& w, OpKind op) {
  const bool batched = op == OpKind::kBatchMatmul;
  if (w.op != op) return batched ? "only batch_matmul" : "only dense";
  const bool columns = batched && w.kernel_layout == "BKN";
  const bool rows = w.kernel_layout == (batched ? "BNK" : "NK");
  if (w.data_layout != (batched ? "BMK" : "MK") || (!rows && !columns)) {
    return batched ? "only BMK data and BNK or BKN weights" : "only rows of both operands";
  }
  if (batched && w.data.shape[0] != w.weight.shape[0]) return "only as many matrices of both";
  return "";
}

Result<Kernel> CallProducts(const Workload& w, const Epilogue& epilogue, const Target& target,
                            std::string_view library) {
  TwLibraryShape shape = ShapeOf(w, TW_LIBRARY_MATMUL);
  const std::size_t first = w.op == OpKind::kBatchMatmul ? 1 : 0;
  if (first == 1) shape.n = w.data.shape[0];
  const MatmulSizes sizes = MatmulSizesOf(w);
  shape.h = sizes.m, shape.c = sizes.k, shape.k = sizes.n;
  shape.weight_columns = w.kernel_layout == "BKN" ? 1 : 0;
  shape.constant_weight = first == 0 ? 1 : 0;
  return LibraryCallWithEpilogue(w, epilogue, target, KernelLayouts(), library, shape);
}

Result<ConfigSpace> NoKnobs(const Workload&, const Target&) { return ConfigSpace(); }

Result<Config> OnlyConfig(const Workload&, const Target&) { return ConfigSpace().At(0); }

}  // namespace tilewright
