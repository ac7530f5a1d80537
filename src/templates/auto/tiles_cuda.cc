// `auto.cuda/tiles`: a contraction in tiles of blocks, virtual threads and threads, with the
// elementwise stages after it. Each thread has its sums in registers. The operands of a step of the
// reduction are copied to shared memory by all threads of a block together, or read from global
// memory.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "src/base/math.h"
#include "src/ir/visit.h"
#include "src/schedule/async_copy.h"
#include "src/target/gpu.h"
#include "src/templates/auto/contraction.h"
#include "src/templates/auto/grid_stages.h"
#include "src/templates/auto/rules.h"
#include "src/templates/auto/templates.h"
#include "src/templates/auto/tile_stages.h"
#include "src/templates/cuda/block_tiles.h"
#include "src/templates/limits.h"
#include "src/templates/space_values.h"
#include "src/templates/stages.h"

namespace tilewright {
namespace tiles_cuda_auto {
namespace {

constexpr std::size_t kMaxTiledAxes = 4;  // other axes are distributed over blocks only
constexpr std::size_t kMaxCutSums = 4;    // split reduction axes; others are steps
constexpr std::size_t kMaxCopied = 4;     // operands

std::string TileName(int axis) { return fmt::format("tile_{}", axis); }
std::string ReduceName(int axis) { return fmt::format("reduce_{}", axis); }
std::string SharedName(int operand) { return fmt::format("shared_{}", operand); }

/// Contraction with the axes and operands that the knobs are about.
struct GridContraction {
  Contraction contraction;
  std::vector<int> tiled;     ///< axes of the result that are tiled, ascending
  std::vector<int> reduced;   ///< the longest reduction axes, which are split, ascending
  std::vector<int> operands;  ///< first loads of the buffers that may be copied to shared memory
  bool makes_operand = false;

  const Axis& reduction(int axis) const {
    return contraction.op().reduce_axes[static_cast<std::size_t>(axis)];
  }
  const Contraction::Operand& operand(int number) const {
    return contraction.operands[static_cast<std::size_t>(number)];
  }
  bool IsReused(int number) const {
    const Contraction::Operand& read = operand(number);
    for (int axis = 0; axis < static_cast<int>(read.has_axis.size()); ++axis) {
      if (contraction.extent(axis) > 1 && !read.has_axis[static_cast<std::size_t>(axis)]) {
        return true;
      }
    }
    return false;
  }
};

/// Returns the stages that compute operands element by element.
std::vector<StageId> MakersOf(const Schedule& s, StageId main) {
  std::vector<StageId> makers;
  for (const StageId id : s.order()) {
    bool as_it_is = true;
    if (s.stage(id).op.combiner != Combiner::kNone || id == main) continue;
    if (ReadsBuffer(s, main, s.stage(id).op.output, &as_it_is)) makers.push_back(id);
  }
  return makers;
}

/// Returns the buffers that are read under a condition: if it does not hold, a copy may have no
/// element.
std::vector<Buffer> ReadUnderConditions(const Expr& body) {
  std::vector<Buffer> buffers;
  ForEachNode(body, [&](const Expr& node) {
    if (node->kind != ExprKind::kSelect) return;
    for (std::size_t arm = 1; arm < node->args.size(); ++arm) {
      ForEachNode(node->args[arm], [&](const Expr& part) {
        if (part->kind == ExprKind::kLoad) buffers.push_back(part->buffer);
      });
    }
  });
  return buffers;
}

Result<GridContraction> FindGridContraction(const Workload& w) {
  TW_ASSIGN_OR_RETURN(auto found, FindContraction(w.expression));
  GridContraction grid{std::move(found), {}, {}, {}};
  const Contraction& c = grid.contraction;
  for (int i = static_cast<int>(c.op().axes.size()) - 1; i >= 0; --i) {
    if (c.extent(i) > 1 && grid.tiled.size() < kMaxTiledAxes) grid.tiled.push_back(i);
  }
  std::ranges::reverse(grid.tiled);
  for (int i = 0; i < static_cast<int>(c.op().reduce_axes.size()); ++i) {
    if (grid.reduction(i).extent > 1) grid.reduced.push_back(i);
  }
  while (grid.reduced.size() > kMaxCutSums) {
    grid.reduced.erase(std::ranges::min_element(
        grid.reduced, {}, [&](int axis) { return grid.reduction(axis).extent; }));
  }
  const std::vector<Buffer> guarded = ReadUnderConditions(c.op().body);
  for (int i = 0; i < static_cast<int>(c.operands.size()); ++i) {
    const Buffer& buffer = grid.operand(i).buffer;
    const bool known = std::ranges::any_of(
        grid.operands, [&](int other) { return grid.operand(other).buffer == buffer; });
    const bool copied =
        !known && !buffer->shape.empty() && std::ranges::find(guarded, buffer) == guarded.end();
    if (copied && grid.operands.size() < kMaxCopied) grid.operands.push_back(i);
    grid.makes_operand =
        grid.makes_operand || std::ranges::any_of(c.compute.stages, [&](const ComputeOp& op) {
          return op.output == grid.operand(i).buffer && op.combiner == Combiner::kNone;
        });
  }
  return grid;
}

/// Returns possible numbers of copies of an operand in shared memory: those of later steps are
/// filled asynchronously if the target can; else two copies alternate.
std::vector<std::int64_t> CopiesOf(int capability) {
  if (capability < kAsyncCopyCapability) return {1, 2};
  return {1, 2, 3, 4};
}

constexpr KnobDoc kKnobs[] = {
    {"tile_<axis>",
     "Iterations of this axis of the result: blocks, virtual threads, threads of a block, sums"
     " of one thread."},
    {"reduce_<axis>", "Iterations of this reduction axis: steps, iterations of one step."},
    {"shared_<operand>",
     "true copies the part of this operand that a step reads to shared memory."},
    {"copy_bytes",
     "Bytes of one access of a thread that copies to shared memory. Without effect if no "
     "operand is copied."},
    {"copies",
     "Copies of each operand in shared memory. 1 copies before each step; more are filled "
     "ahead of their use, asynchronously on sm_80 and later. Without effect if no operand is "
     "copied."},
    {"made_before",
     "true computes the operands that a stage makes in a launch of their own, false where they"
     " are read. Only with such operands."},
    kUnrollStepsDoc,
    kUnrollExplicitDoc,
};

Result<ConfigSpace> GridSpace(const GridContraction& grid, const Target& target) {
  TW_ASSIGN_OR_RETURN(const auto capability, ComputeCapabilityOf(target));
  std::vector<Result<Knob>> knobs;
  for (const int axis : grid.tiled) {
    knobs.push_back(Knob::Split(TileName(axis), grid.contraction.extent(axis), 4));
  }
  for (const int axis : grid.reduced) {
    knobs.push_back(Knob::Split(ReduceName(axis), grid.reduction(axis).extent, 2));
  }
  for (const int operand : grid.operands) {
    knobs.push_back(Knob::Bool(SharedName(operand), {true, false}));
  }
  knobs.push_back(Knob::Other("copy_bytes", {4, 8, 16}));
  knobs.push_back(Knob::Other("copies", CopiesOf(capability)));
  if (grid.makes_operand) knobs.push_back(Knob::Bool("made_before", {false, true}));
  return SpaceWithUnroll(std::move(knobs), target, {0, 64, 512, 1500});
}

/// Binds the loops of the writer: blocks as one, threads as up to three. Returns the innermost
/// thread loop. threads: receives the threads. block: receives the loop of blocks.
LoopId BindWriter(Schedule& s, StageId writer, const GridContraction& grid, const Config& config,
                  BlockThreads& threads, LoopId& block) {
  std::vector<TiledAxis> axes;
  const int count = static_cast<int>(grid.contraction.op().axes.size());
  for (int i = 0; i < count; ++i) {
    const bool tiled = std::ranges::find(grid.tiled, i) != grid.tiled.end();
    std::vector<std::int64_t> whole = {grid.contraction.extent(i), 1, 1, 1};
    axes.push_back(
        TileAxis(s, writer, s.SpatialAxis(writer, i), tiled ? config.Factors(TileName(i)) : whole));
  }
  OrderTiles(s, writer, axes);
  std::vector<LoopId> blocks;
  for (const TiledAxis& axis : axes) blocks.push_back(axis.block);
  block = FuseAll(s, writer, blocks);
  s.Bind(writer, block, LoopKind::kBlockX);
  // The last tiled axis is x, the one before it y, all others z.
  constexpr std::array kKinds = {LoopKind::kThreadZ, LoopKind::kThreadY, LoopKind::kThreadX};
  threads = {1, 1, 1};
  LoopId innermost;
  int end = count;
  for (std::size_t i = kKinds.size(); i-- > 0 && end > 0;) {
    const std::size_t behind = kKinds.size() - i;  // axes with an index so far
    int first = 0;
    if (i > 0 && grid.tiled.size() > behind) first = grid.tiled[grid.tiled.size() - behind];
    std::vector<LoopId> loops;
    for (int a = first; a < end; ++a) loops.push_back(axes[static_cast<std::size_t>(a)].thread);
    const LoopId loop = FuseAll(s, writer, loops);
    threads[i] = s.Extent(loop);
    s.Bind(writer, loop, kKinds[i]);
    if (innermost.index < 0) innermost = loop;
    end = first;
  }
  return innermost;
}

/// Orders the reduction: steps outside, iterations of one step inside. Returns the loop of the
/// steps.
LoopId OrderSums(Schedule& s, StageId sum, const GridContraction& grid, const Config& config) {
  std::vector<LoopId> steps, order;
  const int reductions = static_cast<int>(grid.contraction.op().reduce_axes.size());
  for (int i = 0; i < reductions; ++i) {
    const LoopId axis = s.ReductionAxis(sum, i);
    const bool cut = std::ranges::find(grid.reduced, i) != grid.reduced.end();
    const std::int64_t inner = cut ? config.Factors(ReduceName(i))[1] : 1;
    const auto [step, inside] = s.Split(sum, axis, inner);
    steps.push_back(step);
    order.push_back(inside);
  }
  for (int i = 0; i < static_cast<int>(grid.contraction.op().axes.size()); ++i) {
    order.push_back(s.SpatialAxis(sum, i));
  }
  order.insert(order.begin(), steps.begin(), steps.end());
  s.Reorder(sum, order);
  // Fuses all steps to one loop, so that prefetched copies start and end once.
  return config.Integer("copies") > 1 ? FuseAll(s, sum, steps) : steps.back();
}

void CopyTogether(Schedule& s, StageId copy, const BlockThreads& threads, std::int64_t bytes) {
  const BufferNode& buffer = *s.stage(copy).op.output;
  std::int64_t lanes = std::max<std::int64_t>(1, bytes / buffer.dtype.bytes());
  if (!HasUniformConditions(s.stage(copy).op)) lanes = 1;
  while (buffer.shape.back() % lanes != 0) lanes /= 2;
  if (lanes > 1) {
    FetchVectors(s, copy, threads, lanes);
  } else {
    FetchInterleaved(s, copy, threads);
  }
}

Result<Kernel> ScheduleGrid(const GridContraction& grid, const Target& target,
                            const Config& config) {
  const Contraction& c = grid.contraction;
  Schedule s(c.compute);
  const StageId main = s.Stage(c.op().name);
  const std::vector<StageId> makers = MakersOf(s, main);
  InlineElementwise(s, makers);
  const auto [sum, writer] = SumInRegisters(s, main);
  std::vector<StageId> copies;
  for (const int operand : grid.operands) {
    if (config.Integer(SharedName(operand)) == 0) continue;
    copies.push_back(s.CacheRead(grid.operand(operand).buffer->name, Scope::kShared, sum));
  }
  const bool before = grid.makes_operand && config.Integer("made_before") != 0;
  for (const StageId maker : makers) {
    if (!before) s.ComputeInline(maker);
  }
  BlockThreads threads;
  LoopId block;
  const LoopId thread = BindWriter(s, writer, grid, config, threads, block);
  TW_RETURN_IF_ERROR(CheckBlock(threads));
  PragmaUnroll(s, writer, block, config);
  s.ComputeAt(sum, writer, thread);
  const LoopId step = OrderSums(s, sum, grid, config);
  TW_ASSIGN_OR_RETURN(const auto capability, ComputeCapabilityOf(target));
  const std::int64_t ahead = config.Integer("copies");
  for (const StageId copy : copies) {
    s.ComputeAt(copy, sum, step);
    CopyTogether(s, copy, threads, config.Integer("copy_bytes"));
    if (ahead == 1) continue;
    if (capability < kAsyncCopyCapability) {
      s.DoubleBuffer(copy);
    } else {
      s.Pipeline(copy, static_cast<int>(ahead));
    }
  }
  DistributeStages(s, {writer}, {.row_threads = 32});
  return FinishKernel(std::move(s), {}, {"contraction"});
}

/// Threads and sums of a thread along an axis.
struct AxisTile {
  std::int64_t threads = 1, sums = 1;
};

/// For each operand: whether it is read again along the axis.
std::vector<bool> ReadAgain(const Contraction& c, int axis) {
  std::vector<bool> again;
  for (const Contraction::Operand& read : c.operands) {
    again.push_back(!read.has_axis[static_cast<std::size_t>(axis)]);
  }
  return again;
}

/// Returns a row of threads along the last axis, rows of them along an axis along which other
/// operands are read again, then along the rest until there are enough threads; and a few sums of
/// each thread along those two axes.
std::vector<AxisTile> DefaultTiles(const GridContraction& grid) {
  constexpr std::int64_t kRow = 16, kThreads = 256, kSums = 4, kWholeRow = 256;
  const Contraction& c = grid.contraction;
  std::vector<AxisTile> tiles(grid.tiled.size());
  std::vector<std::size_t> order;
  for (std::size_t i = tiles.size(); i-- > 0;) order.push_back(i);
  const std::vector<bool> of_last = ReadAgain(c, grid.tiled.back());
  const auto other = std::find_if(order.begin() + 1, order.end(), [&](std::size_t i) {
    const std::vector<bool> again = ReadAgain(c, grid.tiled[i]);
    return again != of_last && std::ranges::find(again, true) != again.end();
  });
  const bool two = other != order.end();
  if (two) std::rotate(order.begin() + 1, other, other + 1);
  std::int64_t all = 1, most_z = LaunchLimits().block[2];
  for (std::size_t place = 0; place < order.size() && all < kThreads; ++place) {
    AxisTile& tile = tiles[order[place]];
    const std::int64_t extent = c.extent(grid.tiled[order[place]]);
    const bool is_z = order[place] + 2 < tiles.size();
    tile.threads = LargestDivisor(extent, std::min({kRow, kThreads / all, is_z ? most_z : kRow}));
    if (is_z) most_z /= tile.threads;
    // An axis with few divisors is a row of threads as a whole.
    if (place == 0 && 2 * tile.threads < kRow && extent <= kWholeRow) tile.threads = extent;
    all *= tile.threads;
    const bool sums = place == 0 || (place == 1 && two);
    if (sums) tile.sums = LargestDivisor(extent / tile.threads, kSums);
  }
  return tiles;
}

Result<Config> DefaultGrid(const GridContraction& grid, const Target& target, bool shared,
                           std::int64_t depth) {
  TW_ASSIGN_OR_RETURN(auto space, GridSpace(grid, target));
  std::vector<std::pair<std::string, KnobValue>> values;
  const std::vector<AxisTile> tiles = DefaultTiles(grid);
  for (std::size_t i = 0; i < grid.tiled.size(); ++i) {
    const int axis = grid.tiled[i];
    values.emplace_back(TileName(axis), ThreadsAndInner(grid.contraction.extent(axis),
                                                        tiles[i].threads, tiles[i].sums));
  }
  // Windows first, as a whole: neighbours read the same elements.
  std::vector<std::int64_t> inner(grid.contraction.op().reduce_axes.size(), 1);
  for (auto axis = grid.reduced.rbegin(); axis != grid.reduced.rend(); ++axis) {
    constexpr std::int64_t kLongestWindow = 7, kMaxOfStep = 128;
    const std::int64_t extent = grid.reduction(*axis).extent;
    const bool window = grid.reduced.size() > 1 && extent <= kLongestWindow;
    std::int64_t& own = inner[static_cast<std::size_t>(*axis)];
    own = LargestDivisor(extent, std::max<std::int64_t>(1, std::min(window ? extent : depth,
                                                                    kMaxOfStep / Product(inner))));
  }
  for (const int axis : grid.reduced) {
    values.emplace_back(ReduceName(axis), InnerFactor(grid.reduction(axis).extent,
                                                      inner[static_cast<std::size_t>(axis)]));
  }
  for (const int operand : grid.operands) {
    values.emplace_back(SharedName(operand), KnobValue{shared && grid.IsReused(operand)});
  }
  values.emplace_back("copy_bytes", KnobValue{std::int64_t{16}});
  values.emplace_back("copies", KnobValue{std::int64_t{1}});
  if (grid.makes_operand) values.emplace_back("made_before", KnobValue{false});
  values.emplace_back("auto_unroll_max_step", KnobValue{std::int64_t{512}});
  values.emplace_back("unroll_explicit", KnobValue{std::int64_t{1}});
  return LocateValues(space, std::move(values));
}

std::string Refuses(const Workload& w, const Target& target) {
  if (std::string why = RefusesAnyExpression(w, target); !why.empty()) return why;
  if (const auto found = FindContraction(w.expression); !found.ok()) {
    return found.status().message();
  }
  return ComputeCapabilityOf(target).status().message();
}

Result<ConfigSpace> DefineSpace(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto grid, FindGridContraction(w));
  return GridSpace(grid, target);
}

Result<Config> DefaultConfig(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto grid, FindGridContraction(w));
  // Operands at unaligned positions may not fit shared memory: then try shorter steps, or no
  // copies.
  for (const std::int64_t depth : {8, 1}) {
    TW_ASSIGN_OR_RETURN(auto config, DefaultGrid(grid, target, true, depth));
    const auto kernel = ScheduleGrid(grid, target, config);
    if (kernel.ok() && Lower(kernel->schedule, "kernel", LowerLimitsFor(target)).ok()) {
      return config;
    }
  }
  return DefaultGrid(grid, target, false, 1);
}

Result<Kernel> Apply(const Workload& w, const Epilogue&, const Target& target,
                     const Config& config) {
  TW_ASSIGN_OR_RETURN(auto grid, FindGridContraction(w));
  return ScheduleGrid(grid, target, config);
}

}  // namespace
}  // namespace tiles_cuda_auto

TemplateEntry AutoTilesCudaEntry() {
  using namespace tiles_cuda_auto;
  return LoopTemplate("auto.cuda/tiles", 1, "cuda", kKnobs, &Refuses, &DefineSpace, &DefaultConfig,
                      &Apply);
}

}  // namespace tilewright
