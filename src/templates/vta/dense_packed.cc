#include "src/templates/vta/dense_packed.h"

#include <fmt/format.h>

#include <utility>

#include "src/templates/space_values.h"
#include "src/templates/vta/packed_workload.h"

namespace tilewright {

Result<vta::PackedDense> PackedDenseOperator::ShapeOf(const vta::Design& design,
                                                      const Workload& workload) {
  if (workload.op != OpKind::kDense) return Unsupported("expected a matrix product");
  TW_RETURN_IF_ERROR(CheckPackedOperands(design, workload,
                                         fmt::format("MK{}m{}k", design.batch(), design.block()),
                                         fmt::format("NK{0}n{0}k", design.block())));
  return vta::PackedDense{.batch = workload.data.shape[0],
                          .ci = workload.data.shape[1],
                          .co = workload.weight.shape[0]};
}

Result<ConfigSpace> PackedDenseOperator::Space(const Shape& dense) {
  std::vector<Result<Knob>> knobs;
  knobs.push_back(Knob::Split("tile_b", dense.batch, 2));
  knobs.push_back(Knob::Split("tile_ci", dense.ci, 2));
  knobs.push_back(Knob::Split("tile_co", dense.co, 2));
  knobs.push_back(Knob::Other("oc_nthread", {1, 2}));
  return MakeSpace(std::move(knobs));
}

Result<vta::PackedOperator> PackedDenseOperator::Schedule(const Shape& dense,
                                                          const Config& config) {
  return vta::SchedulePackedDense(dense, {.b = config.Factors("tile_b")[1],
                                          .ci = config.Factors("tile_ci")[1],
                                          .co = config.Factors("tile_co")[1],
                                          .oc_threads = config.Integer("oc_nthread")});
}

}  // namespace tilewright
