// Matrix products on tensor cores: blocks of rows and columns distributed over warps, prefetched
// copies in shared memory, fragments in registers.

#include "src/templates/cuda/mma.h"

#include <algorithm>
#include <utility>

#include "src/base/math.h"
#include "src/schedule/async_copy.h"
#include "src/target/gpu.h"
#include "src/templates/cuda/block_tiles.h"
#include "src/templates/space_values.h"
#include "src/templates/stages.h"
#include "src/templates/workload_kind.h"

namespace tilewright {
namespace {

constexpr std::int64_t kX = MmaIntrinsic::kThreadsX, kY = MmaIntrinsic::kThreadsY;
/// Bytes of the longest load or store of a thread.
constexpr std::int64_t kAccessBytes = 16;

constexpr KnobDoc kMmaKnobs[] = {
    {"warps_m", "Warps of a block along the rows."},
    {"warps_n", "Warps of a block along the columns."},
    {"tiles_m", "Tensor-core products of a warp along the rows."},
    {"tiles_n", "Tensor-core products of a warp along the columns."},
    {"steps_k",
     "Tensor-core products along the sum whose operands are copied to shared memory at once."},
    {"copy_bytes", "Bytes of one access of a thread that copies an operand to shared memory."},
    {"stages",
     "Copies of each operand in shared memory. 1 copies before each step; more are filled "
     "asynchronously for the steps that follow (sm_80 and later)."},
    {"pad_bytes",
     "Bytes left free in shared memory after the rows or columns of one thread, so that those "
     "of the next thread are in other banks."},
    kUnrollStepsDoc,
};

/// Returns the powers of two up to `most` with which `unit` fits into the extent; without `partial`
/// only those that divide it.
std::vector<std::int64_t> Powers(std::int64_t extent, std::int64_t unit, std::int64_t most,
                                 bool partial = false) {
  std::vector<std::int64_t> powers;
  for (std::int64_t power = 1; power <= most && power * unit <= extent; power *= 2) {
    if (partial || extent % (power * unit) == 0) powers.push_back(power);
  }
  return powers;
}

/// Values of one config.
struct Tile {
  std::int64_t warps_m, warps_n;
  std::int64_t rows, columns;  ///< of one thread
  std::int64_t block_rows() const { return warps_m * kY * rows; }
  std::int64_t block_columns() const { return warps_n * kX * columns; }
  BlockThreads threads() const { return {warps_m * warps_n, kY, kX}; }
};

Tile TileOf(const MmaIntrinsic& mma, const Config& config) {
  return {config.Integer("warps_m"), config.Integer("warps_n"),
          config.Integer("tiles_m") * mma.rows(),
          config.Integer("tiles_n") * MmaIntrinsic::kColumns};
}

/// Splits the result in blocks, warps and threads. Rows and columns of a thread are neighbours;
/// those of a warp are the rows of eight threads and the columns of four. Returns the innermost
/// thread loop.
LoopId BindResult(Schedule& s, const MmaProduct& product, const Tile& tile, const Config& config) {
  const StageId result = product.result;
  const LoopId row = s.SpatialAxis(result, product.row);
  const LoopId column = s.SpatialAxis(result, product.column);
  std::vector<LoopId> grid;
  for (int i = 0; i < static_cast<int>(s.stage(result).op.axes.size()); ++i) {
    if (i != product.row && i != product.column) grid.push_back(s.SpatialAxis(result, i));
  }
  // The condition of the last block is inside the products: it depends on the rows of a thread.
  const auto [row_block, inside] = s.Split(result, row, tile.block_rows());
  const std::vector<LoopId> y = s.SplitBy(result, inside, {tile.warps_m, kY, tile.rows});
  const std::int64_t blocks = s.Extent(column) / tile.block_columns();
  const std::vector<LoopId> x = s.SplitBy(result, column, {blocks, tile.warps_n, kX, tile.columns});
  std::vector<LoopId> order = grid;
  order.insert(order.end(), {row_block, x[0], y[0], x[1], y[1], x[2], y[2], x[3]});
  s.Reorder(result, order);
  LoopId rows = row_block;
  if (product.grid_along_x) {
    grid.push_back(row_block);
    rows = FuseAll(s, result, grid);
  } else if (!grid.empty()) {
    s.Bind(result, FuseAll(s, result, grid), LoopKind::kBlockZ);
  }
  // There may be as many rows as pixels of a batch: only the x axis of a grid is that long.
  s.Bind(result, rows, LoopKind::kBlockX);
  s.Bind(result, x[0], LoopKind::kBlockY);
  BindThreadLoops(s, result, {s.Fuse(result, y[0], x[1]), y[1], x[2]});
  s.Pragma(result, rows, "auto_unroll_max_step", config.Integer("auto_unroll_max_step"));
  if (!product.vectorize) return x[2];
  const std::int64_t lanes = kAccessBytes / s.stage(result).op.output->dtype.bytes();
  s.Vectorize(result, s.Split(result, x[3], LargestDivisor(tile.columns, lanes)).second);
  return x[2];
}

/// Returns possible numbers of copies in shared memory: one; also more if the target copies
/// asynchronously, up to the number of steps of one instruction each.
Result<std::vector<std::int64_t>> StagesOf(const MmaIntrinsic& mma, const MmaSizes& sizes,
                                           const Target& target) {
  constexpr std::int64_t kMax = 4;
  TW_ASSIGN_OR_RETURN(const auto capability, ComputeCapabilityOf(target));
  const std::int64_t steps = sizes.runs * CeilDiv(sizes.k, mma.k);
  std::vector<std::int64_t> stages{1};
  while (capability >= kAsyncCopyCapability && stages.back() < std::min(kMax, steps)) {
    stages.push_back(stages.back() + 1);
  }
  return stages;
}

}  // namespace

std::string RefusesMmaTypes(const Workload& w, const Target& target) {
  const bool bytes = w.data.dtype == kInt8 && w.weight.dtype == kInt8 && w.out_dtype == kInt32;
  if (bytes || IsFloat16(w) || (IsFloat32(w) && AllowsTf32(target))) return "";
  return "only int8 summed in int32 and float16, and float32 where the target says -tf32";
}

Result<const MmaIntrinsic*> ChooseMma(const Workload& w, const Target& target,
                                      const MmaSizes& sizes) {
  if (std::string reason = RefusesMmaTypes(w, target); !reason.empty()) return Unsupported(reason);
  TW_ASSIGN_OR_RETURN(const auto capability, ComputeCapabilityOf(target));
  const auto waste = [&](const MmaIntrinsic& mma) {
    return std::pair(RoundUp(sizes.k, mma.k), -mma.m * mma.k);
  };
  const MmaIntrinsic* best = nullptr;
  for (const MmaIntrinsic& mma : MmaIntrinsics()) {
    const bool has = mma.operand == w.data.dtype && mma.capability <= capability;
    const bool rows = sizes.partial_rows ? sizes.m >= mma.m : sizes.m % mma.m == 0;
    const bool run = sizes.partial_rows || sizes.k % mma.k == 0;
    if (!has || !rows || !run || sizes.n % mma.n != 0) continue;
    if (best == nullptr || waste(mma) < waste(*best)) best = &mma;
  }
  if (best != nullptr) return best;
  return Unsupported("tensor cores of sm_" + std::to_string(capability) +
                     " have no product for these types that fits " + std::to_string(sizes.m) +
                     " x " + std::to_string(sizes.n) + " sums of " + std::to_string(sizes.k));
}

std::span<const KnobDoc> MmaKnobs() { return kMmaKnobs; }

Result<ConfigSpace> MmaSpace(const MmaIntrinsic& mma, const MmaSizes& sizes, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto stages, StagesOf(mma, sizes, target));
  const bool partial = sizes.partial_rows;
  return MakeSpace({Knob::Other("warps_m", Powers(sizes.m, mma.m, 4, partial)),
                    Knob::Other("warps_n", Powers(sizes.n, mma.n, 4)),
                    Knob::Other("tiles_m", Powers(sizes.m, mma.m, 8, partial)),
                    Knob::Other("tiles_n", Powers(sizes.n, mma.n, 8)),
                    Knob::Other("steps_k", Powers(RoundUp(sizes.k, mma.k), mma.k, 8)),
                    Knob::Other("copy_bytes", {4, 8, kAccessBytes}),
                    Knob::Other("stages", std::move(stages)), Knob::Other("pad_bytes", {0, 16, 32}),
                    Knob::Other("auto_unroll_max_step", {0, 512, 1500})});
}

Result<Config> MmaDefault(const MmaIntrinsic& mma, const MmaSizes& sizes, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto space, MmaSpace(mma, sizes, target));
  // For each axis the tiles of a warp first, then up to two warps.
  const bool partial = sizes.partial_rows;
  constexpr std::int64_t kWarpSide = 32, kWarps = 2, kSteps = 2, kStages = 3;
  const std::int64_t tiles_m = Powers(sizes.m, mma.m, kWarpSide / mma.m, partial).back();
  const std::int64_t tiles_n = Powers(sizes.n, mma.n, kWarpSide / mma.n).back();
  const std::int64_t steps = Powers(RoundUp(sizes.k, mma.k), mma.k, kSteps).back();
  TW_ASSIGN_OR_RETURN(const auto capability, ComputeCapabilityOf(target));
  const std::int64_t copies = sizes.runs * CeilDiv(sizes.k, steps * mma.k);
  const std::int64_t stages = capability < kAsyncCopyCapability ? 1 : std::min(copies, kStages);
  const auto number = [](std::int64_t value) { return KnobValue{value}; };
  return LocateValues(
      space, {{"warps_m", number(Powers(sizes.m, mma.m * tiles_m, kWarps, partial).back())},
              {"warps_n", number(Powers(sizes.n, mma.n * tiles_n, kWarps).back())},
              {"tiles_m", number(tiles_m)},
              {"tiles_n", number(tiles_n)},
              {"steps_k", number(steps)},
              {"copy_bytes", number(kAccessBytes)},
              {"stages", number(stages)},
              {"pad_bytes", number(32)},
              {"auto_unroll_max_step", number(512)}});
}

std::int64_t MmaBlockRows(const MmaIntrinsic& mma, const Config& config) {
  return TileOf(mma, config).block_rows();
}

Status CheckMmaBlock(const MmaIntrinsic& mma, const MmaSizes& sizes, const Target& target,
                     const Config& config) {
  TW_ASSIGN_OR_RETURN(const auto capability, ComputeCapabilityOf(target));
  if (config.Integer("stages") > 1 && capability < kAsyncCopyCapability) {
    return InvalidArgument("asynchronous copies on sm_" + std::to_string(capability) +
                           ", expected at least sm_" + std::to_string(kAsyncCopyCapability));
  }
  const Tile tile = TileOf(mma, config);
  const bool rows =
      sizes.partial_rows ? tile.block_rows() <= sizes.m : sizes.m % tile.block_rows() == 0;
  if (!rows || sizes.n % tile.block_columns() != 0) {
    return InvalidArgument("a block of " + std::to_string(tile.block_rows()) + " x " +
                           std::to_string(tile.block_columns()) + " does not divide " +
                           std::to_string(sizes.m) + " x " + std::to_string(sizes.n));
  }
  return CheckBlock(tile.threads());
}

void ScheduleMmaProduct(Schedule& s, const MmaIntrinsic& mma, const MmaProduct& product,
                        const Config& config) {
  const Tile tile = TileOf(mma, config);
  const StageId sum = product.sum;
  s.ComputeAt(sum, product.result, BindResult(s, product, tile, config));

  const int axes = static_cast<int>(s.stage(sum).op.axes.size());
  const int reductions = static_cast<int>(s.stage(sum).op.reduce_axes.size());
  std::vector<LoopId> order;
  for (int i = 0; i < reductions; ++i) {
    if (i != product.run) order.push_back(s.ReductionAxis(sum, i));
  }
  const LoopId run = s.ReductionAxis(sum, product.run);
  const auto [own_step, inside] = s.Split(sum, run, config.Integer("steps_k") * mma.k);
  const auto [multiplied, depth] = s.Split(sum, inside, mma.k);
  order.insert(order.end(), {own_step, multiplied});
  for (int i = 0; i < axes; ++i) {
    if (i != product.row && i != product.column) order.push_back(s.SpatialAxis(sum, i));
  }
  const auto [tile_row, row] = s.Split(sum, s.SpatialAxis(sum, product.row), mma.rows());
  const auto [tile_column, column] =
      s.Split(sum, s.SpatialAxis(sum, product.column), MmaIntrinsic::kColumns);
  order.insert(order.end(), {tile_row, tile_column, row, column, depth});
  s.Reorder(sum, order);
  s.Tensorize(sum, row, mma.name);
  // Fuses all steps to one loop, so that the pipeline starts and ends once.
  const int copies = static_cast<int>(config.Integer("stages"));
  order.resize(static_cast<std::size_t>(reductions));
  const LoopId step = copies > 1 ? FuseAll(s, sum, order) : order.back();
  for (const auto& [copy, rows] :
       {std::pair(product.data, tile.rows), std::pair(product.weight, tile.columns)}) {
    s.ComputeAt(copy.stage, sum, step);
    if (copy.read_order.empty()) {
      FetchVectors(s, copy.stage, tile.threads(),
                   config.Integer("copy_bytes") / mma.operand.bytes());
    } else {
      // Neighbouring threads read neighbouring elements.
      std::vector<LoopId> read;
      for (const int axis : copy.read_order) read.push_back(s.SpatialAxis(copy.stage, axis));
      s.Reorder(copy.stage, read);
      FetchInterleaved(s, copy.stage, tile.threads());
    }
    s.PadRows(copy.stage, rows, config.Integer("pad_bytes") / mma.operand.bytes());
    if (copies > 1) s.Pipeline(copy.stage, copies);
  }
}

void ScheduleMma(Schedule& s, const MmaIntrinsic& mma, const Config& config) {
  const GpuStages stages = PrepareGpuStages(s);
  const ComputeOp& op = s.stage(stages.sum).op;
  const int axes = static_cast<int>(op.axes.size());
  ScheduleMmaProduct(s, mma,
                     {.sum = stages.sum,
                      .result = stages.result,
                      .row = axes - 2,
                      .column = axes - 1,
                      .run = static_cast<int>(op.reduce_axes.size()) - 1,
                      .data = {stages.data, {}},
                      .weight = {stages.weight, {}}},
                     config);
}

}  // namespace tilewright
