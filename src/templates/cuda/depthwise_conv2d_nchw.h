#pragma once

#include <string>

#include "src/templates/registry.h"

namespace tilewright {

/// AutoTVM's `depthwise_conv2d_nchw.cuda`: what a block needs of data and weight is staged once in
/// shared memory, what a thread needs of it in registers. Knobs: tile_f, tile_y, tile_x (block,
/// virtual thread, thread, inner), auto_unroll_max_step, unroll_explicit.
struct DepthwiseConv2dNchwCuda {
  static std::string Refuses(const Workload& workload, const Target& target);
  static Result<ConfigSpace> DefineSpace(const Workload& workload, const Target& target);
  static Result<Config> DefaultConfig(const Workload& workload, const Target& target);
  static Result<Kernel> Apply(const Workload& workload, const Epilogue& epilogue,
                              const Target& target, const Config& config);
};

}  // namespace tilewright
