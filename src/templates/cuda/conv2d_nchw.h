#pragma once

#include <string>

#include "src/templates/registry.h"

namespace tilewright {

/// AutoTVM's `conv2d_nchw.cuda`: direct convolution, data and weight staged in shared memory for
/// each step of the reduction, a tile of the output per thread in registers. Knobs: tile_f, tile_y,
/// tile_x (block, virtual thread, thread, inner), tile_rc, tile_ry, tile_rx (steps, staged at
/// once), auto_unroll_max_step, unroll_explicit.
struct Conv2dNchwCuda {
  static std::string Refuses(const Workload& workload, const Target& target);
  static Result<ConfigSpace> DefineSpace(const Workload& workload, const Target& target);
  static Result<Config> DefaultConfig(const Workload& workload, const Target& target);
  static Result<Kernel> Apply(const Workload& workload, const Epilogue& epilogue,
                              const Target& target, const Config& config);
};

}  // namespace tilewright
