#include "src/templates/cpu/templates.h"

#include <vector>

#include "src/base/math.h"
#include "src/target/cpu.h"
#include "src/templates/cpu/matmul_tile.h"
#include "src/templates/plan_functions.h"
#include "src/templates/space_values.h"
#include "src/templates/stages.h"
#include "src/templates/workload_kind.h"

namespace tilewright {
namespace {

constexpr std::int64_t kFewestRows = 8;  // with fewer, transposing takes as long as multiplying

struct Sizes {
  std::int64_t rows = 0, blocks = 0, lanes = 0, registers = 0;
};

Result<Sizes> SizesOf(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto features, FeaturesOf(target));
  Sizes sizes;
  sizes.rows = w.data.shape[1];
  sizes.lanes = features.float_lanes();
  sizes.registers = features.vector_registers();
  sizes.blocks = CeilDiv(w.weight.shape[1], sizes.lanes);
  return sizes;
}

constexpr KnobDoc kKnobs[] = {
    {"register_tile",
     "Rows and blocks of columns whose sums stay in registers. A block is as many columns as a"
     " vector has elements."},
    {"k_unroll", "Products of one sum that are unrolled."},
};

Result<ConfigSpace> SpaceOf(const Sizes& sizes) {
  std::vector<KnobValue> tiles;
  for (MatmulTile& tile : MatmulTiles(sizes.rows, sizes.blocks, sizes.registers)) {
    tiles.emplace_back().value = std::move(tile);
  }
  return MakeSpace({Knob::Candidates("register_tile", KnobKind::kOther, std::move(tiles)),
                    Knob::Other("k_unroll", {1, 2, 4, 8, 16})});
}

std::string Refuses(const Workload& w, const Target& target) {
  if (w.op != OpKind::kBatchMatmul) return "only batch_matmul";
  if (w.data_layout != "BMK" || w.kernel_layout != "BNK") return "only BMK and BNK layouts";
  if (!IsFloat32(w)) return "only float32";
  if (w.data.shape[1] < kFewestRows) return "only 8 rows or more";
  const auto sizes = SizesOf(w, target);
  return sizes.ok() ? "" : sizes.status().message();
}

Result<Config> DefaultConfig(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto sizes, SizesOf(w, target));
  TW_ASSIGN_OR_RETURN(auto space, SpaceOf(sizes));
  MatmulTile tile = DefaultMatmulTile(sizes.rows, sizes.blocks, sizes.registers);
  return LocateValues(space, {{"register_tile", KnobValue{std::move(tile)}},
                              {"k_unroll", KnobValue{std::int64_t{4}}}});
}

Result<Kernel> Apply(const Workload& w, const Epilogue& epilogue, const Target& target,
                     const Config& config) {
  TW_ASSIGN_OR_RETURN(auto sizes, SizesOf(w, target));
  TW_ASSIGN_OR_RETURN(auto compute, DefineAnchor(w, epilogue));
  TransposeColumns(compute, "reduce", "columns");
  Schedule s(std::move(compute));
  const AnchorStages stages = PrepareStages(s);
  const StageId result = stages.result, sum = stages.sum, columns = s.Stage("columns");

  const MatmulLoops loops =
      TileMatmulResult(s, result, true, config.Factors("register_tile"), sizes.lanes);
  const LoopId outer = FuseAll(s, result, {loops.batch, loops.group});
  ParallelFor(s, result, outer, target);
  s.ComputeAt(sum, result, loops.rows);
  TileMatmulSum(s, sum, true, sizes.lanes, config.Integer("k_unroll"), {});

  ScheduleColumns(s, columns, result, outer, sizes.lanes);
  TW_RETURN_IF_ERROR(s.status());
  return Kernel{std::move(s), KernelLayouts(), {"turned_columns"}};
}

}  // namespace

TemplateEntry BatchMatmulPackedCpuEntry() {
  return {"batch_matmul_packed.cpu",
          1,
          "llvm",
          kKnobs,
          &Refuses,
          &SpaceByPlan<&SizesOf, &SpaceOf>,
          &DefaultConfig,
          &Apply};
}

}  // namespace tilewright
