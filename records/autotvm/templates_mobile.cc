// AutoTVM's templates for mali, adreno and Intel graphics (reference: 12.13-12.17, 12.21-12.23).

#include <algorithm>

#include "records/autotvm/templates.h"
#include "src/base/math.h"
#include "src/templates/opencl/adreno_sizes.h"
#include "src/templates/opencl/intel_blocks.h"

namespace tilewright::records {
namespace {

constexpr std::int64_t kFree = std::int64_t{1} << 31;

}  // namespace

Result<AutotvmSpace> SpatialPackMali(const AutotvmTaskArguments& task) {
  TW_ASSIGN_OR_RETURN(auto conv, AutotvmConvolution(task, false));
  AutotvmSpaceBuilder builder;
  builder.Split("tile_co", conv.k, 3).Split("tile_oh", conv.oh, 3).Split("tile_ow", conv.ow, 3);
  AddSpatialPackTail(builder);
  return std::move(builder).Done();
}

Result<AutotvmSpace> WinogradMali(const AutotvmTaskArguments& task) {
  TW_ASSIGN_OR_RETURN(auto conv, AutotvmConvolution(task, false));
  AutotvmSpaceBuilder builder;
  std::vector<std::int64_t> rows;
  for (std::int64_t candidate : {1, 2, 4, 8, 16}) {
    if (conv.k % candidate == 0) rows.push_back(candidate);
  }
  builder.Other("tile_bna", rows).Other("tile_bnb", {1, 2, 4, 8, 16});
  builder.Split("tile_t1", conv.c, 2, {{1, 128}}).Split("tile_t2", conv.k, 2, {{1, 128}});
  builder.Split("c_unroll", conv.c, 2, {{1, 8}}).Other("yt", {1, 2, 4, 8, 16, 32});
  return std::move(builder).Done();
}

Result<AutotvmSpace> DepthwiseMali(const AutotvmTaskArguments& task) {
  TW_ASSIGN_OR_RETURN(auto conv, AutotvmConvolution(task, true));
  AutotvmSpaceBuilder builder;
  builder.Split("tile_c", conv.k, 3).Split("tile_y", conv.oh, 3).Split("tile_x", conv.ow, 3);
  builder.Add(AutotvmKnob::Annotate("ann_spatial", {"none", "unroll", "vec"}, 3));
  return std::move(builder).Done();
}

Result<AutotvmSpace> DenseMali(const AutotvmTaskArguments& task) {
  TW_ASSIGN_OR_RETURN(auto data, AutotvmTensor(task, 0, 2));
  TW_ASSIGN_OR_RETURN(auto weight, AutotvmTensor(task, 1, 2));
  AutotvmSpaceBuilder builder;
  builder.Split("tile_y", data[0], 3).Split("tile_x", weight[0], 3);
  builder.Split("c_unroll", data[1], 2, {{1, 64}});
  return std::move(builder).Done();
}

Result<AutotvmSpace> Conv2dIntelGraphics(const AutotvmTaskArguments& task) {
  TW_ASSIGN_OR_RETURN(auto conv, AutotvmConvolution(task, false));
  std::vector<std::int64_t> oc = DivisorsWithin(conv.k, std::min<std::int64_t>(conv.k, 8), 64);
  if (oc.empty()) oc = {1, conv.k};
  constexpr std::int64_t kLongest = 1 << 20;  // the loop below is linear in the sizes
  if (conv.oh > kLongest || conv.ow > kLongest) {
    return InvalidArgument("conv2d_NCHWc.intel_graphics: output larger than 2^20");
  }
  const IntelBlocks blocks = IntelBlocksOf(conv.oh, conv.ow);
  if (blocks.rows.empty() || blocks.columns.empty()) {
    return InvalidArgument("conv2d_NCHWc.intel_graphics: no block of rows or columns is left");
  }
  AutotvmSpaceBuilder builder;
  builder.Other("tile_ic", DivisorsWithin(conv.c, 1, 32)).Other("tile_oc", oc);
  builder.Other("block_oh", blocks.rows).Other("block_ow", blocks.columns);
  return std::move(builder).Done();
}

Result<AutotvmSpace> Conv2dImage2d(const AutotvmTaskArguments& task) {
  TW_ASSIGN_OR_RETURN(auto conv, AutotvmConvolution(task, false));
  const std::int64_t fc = CeilDiv(conv.k, 4);
  AutotvmSpaceBuilder builder;
  builder.Split("tile_fc", fc, 3, {{1, 8}, {fc % 2 == 0 ? 2 : 1, 255}});
  builder.Split("tile_y", AdrenoExtent(conv.oh), 3, {{1, 8}, {1, 16}});
  builder.Split("tile_x", AdrenoExtent(conv.ow), 3, {{1, 8}, {1, 16}});
  builder.Split("tile_rcc", CeilDiv(conv.c, 4), 2);
  builder.Split("tile_ry", conv.kh, 2).Split("tile_rx", conv.kw, 2);
  builder.Other("auto_unroll_max_step", {0, 512, 1500}).Other("unroll_explicit", {0, 1});
  const std::vector<std::string> tiles = {"tile_fc", "tile_y", "tile_x"};
  builder.Filter({tiles, 1, 1, 24}).Filter({tiles, 2, 32, 1023});
  return std::move(builder).Done();
}

Result<AutotvmSpace> DepthwiseImage2d(const AutotvmTaskArguments& task) {
  TW_ASSIGN_OR_RETURN(auto conv, AutotvmConvolution(task, true));
  AutotvmSpaceBuilder builder;
  builder.Split("tile_fc", CeilDiv(conv.k, 4), 3);
  builder.Split("tile_y", AdrenoExtent(conv.oh), 3).Split("tile_x", AdrenoExtent(conv.ow), 3);
  builder.Split("tile_ry", conv.kh, 2).Split("tile_rx", conv.kw, 2);
  builder.Other("auto_unroll_max_step", {0, 512, 1500}).Other("unroll_explicit", {0, 1});
  const std::vector<std::string> tiles = {"tile_fc", "tile_y", "tile_x"};
  builder.Filter({tiles, 1, 1, 32}).Filter({tiles, 2, 32, 1023});
  return std::move(builder).Done();
}

Result<AutotvmSpace> WinogradImage2d(const AutotvmTaskArguments& task) {
  TW_ASSIGN_OR_RETURN(auto conv, AutotvmConvolution(task, false));
  const std::int64_t m = AdrenoWinogradTile(conv.h);
  const std::int64_t tiles = conv.n * CeilDiv(conv.oh, m) * CeilDiv(conv.ow, m);
  const std::int64_t least = AdrenoLeastTiles(tiles);
  AutotvmSpaceBuilder builder;
  builder.Other("auto_unroll_max_step", {0, 4, 16});
  builder.Split("tile_y", CeilDiv(conv.k, 4), 3, {{1, 16}, {1, 64}});
  builder.Split("tile_x", tiles, 3, {{least, 16}, {1, 64}});
  builder.Split("tile_rc", CeilDiv(conv.c, 4), 2, {{1, kFree}});
  builder.Filter({{"tile_y", "tile_x"}, 2, 32, 1023});
  return std::move(builder).Done();
}

}  // namespace tilewright::records
