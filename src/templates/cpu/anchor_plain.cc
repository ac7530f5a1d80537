#include "src/templates/cpu/templates.h"

#include <algorithm>
#include <vector>

#include "src/target/cpu.h"
#include "src/templates/space_values.h"
#include "src/templates/stages.h"

namespace tilewright {
namespace anchor_plain_cpu {
namespace {

/// The innermost axis of the result that has more than one element, or the last one.
int VectorAxis(const std::vector<std::int64_t>& shape) {
  int axis = static_cast<int>(shape.size()) - 1;
  while (axis > 0 && shape[static_cast<std::size_t>(axis)] == 1) --axis;
  return axis;
}

constexpr KnobDoc kKnobs[] = {
    {"lanes",
     "Elements of one vector, along the innermost axis of the result that has more than one "
     "element. 1 makes scalar code."},
    {"tile",
     "Iterations of the axis before the vector axis that are unrolled, each with its own sum. "
     "Without effect if there is no such axis."},
    {"unroll", "true unrolls the innermost reduction axis if it has at most 16 iterations."},
};

Result<ConfigSpace> SpaceOf(const Target& target) {
  TW_ASSIGN_OR_RETURN(auto features, FeaturesOf(target));
  const std::int64_t lanes = features.float_lanes();
  return MakeSpace({Knob::Other("lanes", {1, lanes, 2 * lanes}),
                    Knob::Other("tile", {1, 2, 4, 7, 8}), Knob::Bool("unroll", {false, true})});
}

std::string Refuses(const Workload& w, const Target& target) {
  if (!IsAnchor(w.op)) return "only anchors";
  const auto features = FeaturesOf(target);
  if (!features.ok()) return features.status().message();
  const auto type = w.OutputType();
  return type.ok() ? "" : type.status().message();
}

Result<ConfigSpace> DefineSpace(const Workload&, const Target& target) { return SpaceOf(target); }

Result<Config> DefaultConfig(const Workload&, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto space, SpaceOf(target));
  return LocateValues(space, {{"lanes", space.knobs()[0][1]},
                              {"tile", KnobValue{std::int64_t{4}}},
                              {"unroll", KnobValue{false}}});
}

Result<Kernel> Apply(const Workload& w, const Epilogue& epilogue, const Target& target,
                     const Config& config) {
  TW_ASSIGN_OR_RETURN(auto type, w.OutputType());
  TW_ASSIGN_OR_RETURN(auto compute, DefineAnchor(w, epilogue));
  Schedule s(std::move(compute));
  const AnchorStages stages = PrepareStages(s);
  const StageId result = stages.result, sum = stages.sum;
  const int vector_axis = VectorAxis(type.shape);
  const std::int64_t lanes = config.Integer("lanes");

  std::vector<LoopId> outer;
  LoopId tiled;
  for (int axis = 0; axis < static_cast<int>(type.shape.size()); ++axis) {
    if (axis == vector_axis - 1) {
      const auto [tile, inside] =
          s.Split(result, s.SpatialAxis(result, axis), config.Integer("tile"), Tail::kPeel);
      outer.push_back(tile);
      tiled = inside;
    } else if (axis != vector_axis) {
      outer.push_back(s.SpatialAxis(result, axis));
    }
  }
  const auto [chunk, lane] =
      s.Split(result, s.SpatialAxis(result, vector_axis), lanes, Tail::kPeel);
  outer.push_back(chunk);
  std::vector<LoopId> order = outer;
  if (tiled.index >= 0) order.push_back(tiled);
  order.push_back(lane);
  s.Reorder(result, order);
  if (tiled.index >= 0) s.Unroll(result, tiled);
  if (lanes > 1) s.Vectorize(result, lane);
  const LoopId fused = FuseAll(s, result, outer);
  ParallelFor(s, result, fused, target);

  s.ComputeAt(sum, result, fused);
  order.clear();
  const int reductions = static_cast<int>(s.stage(sum).op.reduce_axes.size());
  for (int i = 0; i < reductions; ++i) order.push_back(s.ReductionAxis(sum, i));
  if (tiled.index >= 0) order.push_back(s.SpatialAxis(sum, vector_axis - 1));
  order.push_back(s.SpatialAxis(sum, vector_axis));
  s.Reorder(sum, order);
  constexpr std::int64_t kMaxUnrolled = 16;
  if (config.Integer("unroll") != 0 && reductions > 0) {
    const LoopId last = s.ReductionAxis(sum, reductions - 1);
    if (s.Extent(last) <= kMaxUnrolled) s.Unroll(sum, last);
  }
  if (tiled.index >= 0) s.Unroll(sum, s.SpatialAxis(sum, vector_axis - 1));
  if (lanes > 1) s.Vectorize(sum, s.SpatialAxis(sum, vector_axis));
  if (stages.has_pad) ScheduleFlat(s, stages.pad, std::max<std::int64_t>(lanes, 1), target);
  return FinishKernel(std::move(s));
}

}  // namespace
}  // namespace anchor_plain_cpu

TemplateEntry AnchorPlainCpuEntry() {
  using namespace anchor_plain_cpu;
  return LoopTemplate("anchor_plain.cpu", 1, "llvm", kKnobs, &Refuses, &DefineSpace, &DefaultConfig,
                      &Apply);
}

}  // namespace tilewright
