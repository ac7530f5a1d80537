// AutoTVM's matrix product for Mali. Each work-item sums a tile of the result in registers and
// reads both operands from memory: Mali has no memory of a work-group that is nearer.

#include <algorithm>

#include "src/templates/annotations.h"
#include "src/templates/opencl/templates.h"
#include "src/templates/opencl/work_items.h"
#include "src/templates/space_values.h"
#include "src/templates/stages.h"
#include "src/templates/workload_kind.h"

namespace tilewright {
namespace dense_mali {
namespace {

constexpr std::int64_t kMaxRowsUnrolled = 31;  // AutoTVM's limit
constexpr std::int64_t kMaxStep = 64;

constexpr KnobDoc kKnobs[] = {
    {"tile_y",
     "Rows of the result: work-groups, work-items of a group, rows of one item. Up to 31 are"
     " unrolled."},
    {"tile_x",
     "Columns of the result: work-groups, work-items of a group, columns of one item, which are a"
     " vector if they are 2, 4, 8 or 16."},
    {"c_unroll", "Products of one sum: steps, products of one step, which are unrolled."},
};

std::string Refuses(const Workload& w, const Target& target) {
  if (std::string reason = RefusesDense(w); !reason.empty()) return reason;
  return RefusesForMali(w, target);
}

Result<ConfigSpace> DefineSpace(const Workload& w, const Target&) {
  const MatmulSizes s = MatmulSizesOf(w);
  return MakeSpace({Knob::Split("tile_y", s.m, 3), Knob::Split("tile_x", s.n, 3),
                    Knob::Split("c_unroll", s.k, 2, {.max_factor = kMaxStep})});
}

Result<Config> DefaultConfig(const Workload& w, const Target& target) {
  constexpr std::int64_t kRows = 4, kItems = 16, kStep = 16;
  TW_ASSIGN_OR_RETURN(auto space, DefineSpace(w, target));
  const MatmulSizes s = MatmulSizesOf(w);
  return LocateValues(space, {{"tile_y", ItemsAndInner(s.m, 1, kRows)},
                              {"tile_x", ItemsAndInner(s.n, kItems, 1)},
                              {"c_unroll", InnerFactor(s.k, LargestDivisor(s.k, kStep))}});
}

/// Unrolls the rows of an item and makes its columns a vector.
void AnnotateItem(Schedule& s, StageId stage, LoopId row, LoopId column, const Config& config) {
  if (config.Factors("tile_y").back() <= kMaxRowsUnrolled) s.Unroll(stage, row);
  const std::int64_t columns = config.Factors("tile_x").back();
  if (columns > 1 && std::ranges::count(kVectorLengths, columns) > 0) s.Vectorize(stage, column);
}

Result<Kernel> Apply(const Workload& w, const Epilogue& epilogue, const Target&,
                     const Config& config) {
  TW_ASSIGN_OR_RETURN(auto compute, DefineAnchor(w, epilogue));
  Schedule s(std::move(compute));
  const AnchorStages stages = PrepareStages(s);
  const StageId result = stages.result, sum = stages.sum;
  TW_ASSIGN_OR_RETURN(const auto loops,
                      TileItems(s, result,
                                {{s.SpatialAxis(result, 0), config.Factors("tile_y")},
                                 {s.SpatialAxis(result, 1), config.Factors("tile_x")}}));
  AnnotateItem(s, result, loops.inner[0], loops.inner[1], config);
  s.ComputeAt(sum, result, loops.item);
  const std::vector<LoopId> k = s.SplitBy(sum, s.ReductionAxis(sum, 0), config.Factors("c_unroll"));
  const LoopId row = s.SpatialAxis(sum, 0), column = s.SpatialAxis(sum, 1);
  s.Reorder(sum, {k[0], k[1], row, column});
  s.Unroll(sum, k[1]);
  AnnotateItem(s, sum, row, column, config);
  return FinishKernel(std::move(s));
}

}  // namespace
}  // namespace dense_mali

TemplateEntry DenseMaliEntry() {
  using namespace dense_mali;
  return LoopTemplate("dense.mali", 1, "opencl", kKnobs, &Refuses, &DefineSpace, &DefaultConfig,
                      &Apply);
}

}  // namespace tilewright
