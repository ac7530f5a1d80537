#include "src/templates/cpu/templates.h"

#include "src/base/math.h"
#include "src/target/cpu.h"
#include "src/templates/matmul_tile.h"
#include "src/templates/plan_functions.h"
#include "src/templates/space_values.h"
#include "src/templates/stages.h"
#include "src/templates/workload_kind.h"

namespace tilewright {
namespace batch_matmul_packed_cpu {
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
  // Without a dot product of bytes, even and odd bytes are in registers of their own.
  if (IsInt8(w) && !features.has_int8_dot()) sizes.registers -= 4;
  sizes.blocks = CeilDiv(w.weight.shape[1], sizes.lanes);
  return sizes;
}

constexpr KnobDoc kKnobs[] = {
    {"register_tile",
     "Rows and blocks of columns whose sums stay in registers. A block is as many columns as a"
     " vector has elements."},
    {"k_unroll", "Products of one sum that are unrolled; for bfloat16, pairs of them."},
};

Result<ConfigSpace> SpaceOf(const Sizes& sizes) {
  return MakeSpace(
      {Knob::Lists("register_tile", MatmulTiles(sizes.rows, sizes.blocks, sizes.registers)),
       Knob::Other("k_unroll", {1, 2, 4, 8, 16})});
}

std::string RefusesShape(const Workload& w) {
  if (w.op != OpKind::kBatchMatmul) return "only batch_matmul";
  if (w.data_layout != "BMK" || w.kernel_layout != "BNK") return "only BMK and BNK layouts";
  return w.data.shape[1] < kFewestRows ? "only 8 rows or more" : "";
}

std::string Refuses(const Workload& w, const Target& target) {
  if (std::string reason = RefusesShape(w); !reason.empty()) return reason;
  if (!IsFloat32(w) && !w.data.dtype.is_half()) return "only floats of 16 and 32 bits";
  const auto sizes = SizesOf(w, target);
  return sizes.ok() ? "" : sizes.status().message();
}

/// Returns the dot product of the bytes; empty without a fast one. AVX2 multiplies even and odd
/// bytes as 16-bit words, so all forms are exact.
std::string_view DotOfBytes(const Workload& w, const CpuFeatures& features) {
  if (w.data.dtype == kInt8) return features.arm_dotprod ? "dot4.s8s8" : "";
  return features.has_int8_dot() || features.avx2 ? "dot4.u8s8" : "";
}

std::string RefusesInt8(const Workload& w, const Target& target) {
  if (std::string reason = RefusesShape(w); !reason.empty()) return reason;
  if (!IsInt8(w)) return "only 8-bit data summed in int32";
  const auto features = FeaturesOf(target);
  if (!features.ok()) return features.status().message();
  if (DotOfBytes(w, *features).empty()) return "only bytes that an instruction multiplies";
  return w.data.shape[2] % 4 == 0 ? "" : "only sums of a multiple of 4 products";
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
  const StageId result = stages.result, columns = s.Stage("columns");

  const bool pairs = HasPairs(w.weight.dtype, w.weight.shape[2]);
  const BatchedTiles tiles =
      ScheduleBatchedProduct(s, stages, config, target, sizes.lanes, pairs ? "dot2.bf16" : "");

  ScheduleColumns(s, columns, result, tiles.outer, sizes.lanes);
  return FinishKernel(std::move(s), {}, {"turned_columns"});
}

Result<Kernel> ApplyInt8(const Workload& w, const Epilogue& epilogue, const Target& target,
                         const Config& config) {
  TW_ASSIGN_OR_RETURN(auto sizes, SizesOf(w, target));
  TW_ASSIGN_OR_RETURN(auto features, FeaturesOf(target));
  KernelLayouts layouts;
  layouts.weight = "BNK4k";  // the bytes of BNK
  TW_ASSIGN_OR_RETURN(auto compute, DefineAnchor(w, epilogue, layouts));
  TransposeColumns(compute, "reduce", "columns");
  Schedule s(std::move(compute));
  const AnchorStages stages = PrepareStages(s);
  const StageId result = stages.result;

  const BatchedTiles tiles = ScheduleBatchedProduct(s, stages, config, target, sizes.lanes,
                                                    std::string(DotOfBytes(w, features)));
  ScheduleColumnsOfBytes(s, s.Stage("columns"), result, tiles.outer);
  return FinishKernel(std::move(s), layouts, {"turned_columns"});
}

}  // namespace
}  // namespace batch_matmul_packed_cpu

TemplateEntry BatchMatmulPackedInt8CpuEntry() {
  using namespace batch_matmul_packed_cpu;
  return LoopTemplate("batch_matmul_packed_int8.cpu", 1, "llvm", kKnobs, &RefusesInt8,
                      &SpaceByPlan<&SizesOf, &SpaceOf>, &DefaultConfig, &ApplyInt8);
}

TemplateEntry BatchMatmulPackedCpuEntry() {
  using namespace batch_matmul_packed_cpu;
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
