#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "src/templates/registry.h"
#include "src/templates/vta/alu_epilogue.h"
#include "src/templates/vta/vta_target.h"
#include "src/vta/kernels/packed_conv2d.h"
#include "src/vta/kernels/packed_operator.h"

namespace tilewright {

// What AutoTVM's templates for packed tensors on a VTA have in common.

/// The knobs of a convolution: tile_b (without effect), tile_h, tile_w, tile_ci, tile_co,
/// oc_nthread and h_nthread. out_h, out_w: of the result; channels count blocks.
Result<ConfigSpace> PackedConvSpace(std::int64_t batch, std::int64_t out_h, std::int64_t out_w,
                                    std::int64_t ci, std::int64_t co);
vta::PackedConv2dTiles PackedConvTiles(const Config& config);

/// The config of a space that loads the fewest bytes with two virtual threads, so that loads run
/// beside products, or with one if none of two is legal; with room for a bias and a residual, or
/// without if no config has it.
Config MinTrafficConfig(
    const vta::Design& design, const ConfigSpace& space,
    const std::function<Result<vta::PackedOperator>(const Config& config)>& schedule);

/// The four functions of a template whose operator `Op` has
///   Shape                                                        in blocks
///   static Result<Shape> ShapeOf(const vta::Design&, const Workload&)
///   static Result<ConfigSpace> Space(const Shape&)
///   static Result<vta::PackedOperator> Schedule(const Shape&, const Config&).
template <typename Op>
struct PackedVta {
  static std::string Refuses(const Workload& workload, const Target& target) {
    const auto vta = VtaTargetOf(target);
    if (!vta.ok()) return vta.status().message();
    return Op::ShapeOf(vta->design, workload).status().message();
  }

  static Result<ConfigSpace> DefineSpace(const Workload& workload, const Target& target) {
    TW_ASSIGN_OR_RETURN(const auto vta, VtaTargetOf(target));
    TW_ASSIGN_OR_RETURN(const auto shape, Op::ShapeOf(vta.design, workload));
    return Op::Space(shape);
  }

  static Result<Config> DefaultConfig(const Workload& workload, const Target& target) {
    TW_ASSIGN_OR_RETURN(const auto space, DefineSpace(workload, target));
    const vta::Design design = VtaTargetOf(target)->design;
    const auto shape = *Op::ShapeOf(design, workload);
    return MinTrafficConfig(design, space,
                            [&](const Config& config) { return Op::Schedule(shape, config); });
  }

  static Result<vta::Stream> BuildStream(const Workload& workload, const Epilogue& epilogue,
                                         const Target& target, const Config& config) {
    const auto vta = VtaTargetOf(target);
    TW_RETURN_IF_ERROR(vta);
    TW_ASSIGN_OR_RETURN(const auto shape, Op::ShapeOf(vta->design, workload));
    TW_ASSIGN_OR_RETURN(const auto steps, VtaEpilogueOf(vta->design, epilogue));
    TW_ASSIGN_OR_RETURN(const auto op, Op::Schedule(shape, config));
    return vta::BuildPackedOperator(vta->design, op, steps.steps);
  }
};

}  // namespace tilewright
