#pragma once

#include <string>

#include "src/templates/registry.h"

namespace tilewright {

/// `dense_mma.cuda`, ours: a dense layer of int8 on tensor cores. Warps share a block's
/// tile; both operands are staged in shared memory. Knobs: warps_m, warps_n (of a block), tiles_m,
/// tiles_n (products of the instruction's size per warp, along rows and columns), steps_k (... that
/// are staged at once), auto_unroll_max_step. Sizes must be multiples of the instruction's.
struct DenseMmaCuda {
  static std::string Refuses(const Workload& workload, const Target& target);
  static Result<ConfigSpace> DefineSpace(const Workload& workload, const Target& target);
  static Result<Config> DefaultConfig(const Workload& workload, const Target& target);
  static Result<Kernel> Apply(const Workload& workload, const Epilogue& epilogue,
                              const Target& target, const Config& config);
};

}  // namespace tilewright
