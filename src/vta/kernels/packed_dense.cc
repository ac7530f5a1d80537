#include "src/vta/kernels/packed_dense.h"

#include "src/vta/kernels/copy_pattern.h"

namespace tilewright::vta {
Result<PackedOperator> SchedulePackedDense(const PackedDense& dense,
                                           const PackedDenseTiles& tiles) {
  const NamedExtent extents[] = {{"batch", dense.batch}, {"ci", dense.ci}, {"co", dense.co}};
  TW_RETURN_IF_ERROR(CheckExtents(extents));
  const AxisSplit splits[] = {{"tile_b", dense.batch, tiles.b, 1},
                              {"tile_ci", dense.ci, tiles.ci, 1},
                              {"tile_co", dense.co, tiles.co, tiles.oc_threads}};
  TW_RETURN_IF_ERROR(CheckSplits(splits));
  const KernelBlocks kernel = {dense.ci, 1, tiles.co, tiles.ci};
  PackedOperator op;
  op.tiles.blocks = {
      .batch = dense.batch, .co = dense.co, .block_co = tiles.co, .block_batch = tiles.b};
  op.tiles.oc_threads = tiles.oc_threads;
  op.inp_entries = tiles.ci;
  op.wgt_entries = kernel.entries();
  op.slices = dense.ci / tiles.ci;
  for (std::int64_t b = 0; b < tiles.b; ++b) {
    op.parts.push_back({{.loops = {{tiles.ci, 0, 1, 1}, {tiles.co, 1, 0, U32(tiles.ci)}},
                         .uops = {{U32(b * tiles.co), 0, 0}}}});
  }
  op.load_inp = [dense, tiles](const BlockIndex& tile, const StepIndex& step) {
    const CopyDimension row[] = {{tiles.ci, 1}};
    auto transfer = CopyPattern(row);
    if (transfer.ok()) {
      transfer->dram_base =
          U32((tile.batch * tiles.b + step.part) * dense.ci + step.slice * tiles.ci);
    }
    return transfer;
  };
  op.load_wgt = [kernel](const BlockIndex& tile, const StepIndex& step) {
    return KernelTransfer(kernel, tile.channel, step.slice);
  };
  return op;
}

}  // namespace tilewright::vta
