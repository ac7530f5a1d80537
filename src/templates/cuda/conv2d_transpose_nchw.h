#pragma once

#include <string>

#include "src/templates/registry.h"

namespace tilewright {

/// AutoTVM's `conv2d_transpose_nchw.cuda`: the kernel turned around over the data with zeros
/// between its elements; what is staged in shared memory has the zeros already. Knobs: tile_n,
/// tile_f, tile_y, tile_x (block, virtual thread, thread, inner), tile_rc (steps, steps per staging
/// outside the kernel loops, staged at once), auto_unroll_max_step, unroll_explicit, fuse_yx.
struct Conv2dTransposeNchwCuda {
  static std::string Refuses(const Workload& workload, const Target& target);
  static Result<ConfigSpace> DefineSpace(const Workload& workload, const Target& target);
  static Result<Config> DefaultConfig(const Workload& workload, const Target& target);
  static Result<Kernel> Apply(const Workload& workload, const Epilogue& epilogue,
                              const Target& target, const Config& config);
};

}  // namespace tilewright
