// AutoTVM's templates for cuda, rocm, opencl and vulkan (reference: 12.1-12.6, 12.24).

#include "records/autotvm/templates.h"
#include "src/base/math.h"

namespace tilewright::records {
namespace {

/// Returns the values of unroll_explicit: rocm and nvptx cannot leave unrolling to the device
/// compiler.
std::vector<std::int64_t> Explicit(const AutotvmTaskArguments& task) {
  const bool only = task.target.kind_name() == "rocm" || task.target.kind_name() == "nvptx";
  if (only && task.edition != AutotvmEdition::kOldUnroll) return {1};
  return {0, 1};
}

}  // namespace

Result<AutotvmSpace> Conv2dNchwCuda(const AutotvmTaskArguments& task) {
  TW_ASSIGN_OR_RETURN(auto conv, AutotvmConvolution(task, false));
  AutotvmSpaceBuilder builder;
  builder.Split("tile_f", conv.k, 4).Split("tile_y", conv.oh, 4).Split("tile_x", conv.ow, 4);
  builder.Split("tile_rc", conv.c, 2).Split("tile_ry", conv.kh, 2).Split("tile_rx", conv.kw, 2);
  builder.Other("auto_unroll_max_step", {0, 512, 1500}).Other("unroll_explicit", Explicit(task));
  TW_ASSIGN_OR_RETURN(auto space, std::move(builder).Done());
  space.order = AutotvmSpace::Order::kByPosition;
  return space;
}

Result<AutotvmSpace> Conv2dWinogradCuda(const AutotvmTaskArguments& task) {
  TW_ASSIGN_OR_RETURN(auto conv, AutotvmConvolution(task, false));
  const std::int64_t m = conv.h % 8 == 0 ? 4 : 2;
  const std::int64_t a = m + conv.kh - 1;
  const std::int64_t tiles = conv.n * CeilDiv(conv.oh, m) * CeilDiv(conv.ow, m);
  AutotvmSpaceBuilder builder;
  // All matrices are distributed to blocks: one value.
  builder.Split("tile_b", a * a, 4, {{1, 1}, {1, 1}, {1, 1}});
  builder.Split("tile_y", conv.k, 4).Split("tile_x", tiles, 4).Split("tile_rc", conv.c, 2);
  builder.Other("auto_unroll_max_step", {0, 128, 1500}).Other("unroll_explicit", Explicit(task));
  return std::move(builder).Done();
}

Result<AutotvmSpace> DepthwiseCuda(const AutotvmTaskArguments& task) {
  TW_ASSIGN_OR_RETURN(auto conv, AutotvmConvolution(task, true));
  AutotvmSpaceBuilder builder;
  builder.Split("tile_f", conv.k, 4).Split("tile_y", conv.oh, 4).Split("tile_x", conv.ow, 4);
  builder.Other("auto_unroll_max_step", {0, 256, 1500}).Other("unroll_explicit", Explicit(task));
  return std::move(builder).Done();
}

Result<AutotvmSpace> Conv2dTransposeCuda(const AutotvmTaskArguments& task) {
  TW_ASSIGN_OR_RETURN(auto conv, AutotvmTransposed(task, 4));
  AutotvmSpaceBuilder builder;
  builder.Split("tile_n", conv.n, 4).Split("tile_f", conv.k, 4);
  builder.Split("tile_y", conv.oh, 4).Split("tile_x", conv.ow, 4).Split("tile_rc", conv.c, 3);
  builder.Other("auto_unroll_max_step", {64, 512, 1500}).Other("unroll_explicit", Explicit(task));
  builder.Other("fuse_yx", {0, 1});
  return std::move(builder).Done();
}

Result<AutotvmSpace> Conv1dTransposeCuda(const AutotvmTaskArguments& task) {
  TW_ASSIGN_OR_RETURN(auto conv, AutotvmTransposed(task, 3));
  AutotvmSpaceBuilder builder;
  builder.Split("tile_n", conv.n, 4).Split("tile_f", conv.k, 4);
  builder.Split("tile_x", conv.ow, 4).Split("tile_rc", conv.c, 3);
  builder.Other("auto_unroll_max_step", {64, 512, 1500}).Other("unroll_explicit", Explicit(task));
  return std::move(builder).Done();
}

Result<AutotvmSpace> BatchMatmulCuda(const AutotvmTaskArguments& task) {
  TW_ASSIGN_OR_RETURN(auto x, AutotvmTensor(task, 0, 3));
  TW_ASSIGN_OR_RETURN(auto y, AutotvmTensor(task, 1, 3));
  AutotvmSpaceBuilder builder;
  builder.Split("tile_y", x[1], 3).Split("tile_x", y[1], 3).Split("tile_k", x[2], 2);
  builder.Other("auto_unroll_max_step", {8, 16, 32, 64}).Other("unroll_explicit", Explicit(task));
  return std::move(builder).Done();
}

Result<AutotvmSpace> DenseSmallBatchGpu(const AutotvmTaskArguments& task) {
  TW_ASSIGN_OR_RETURN(auto data, AutotvmTensor(task, 0, 2));
  AutotvmSpaceBuilder builder;
  builder.Split("tile_k", data[1], 2);
  return std::move(builder).Done();
}

}  // namespace tilewright::records
