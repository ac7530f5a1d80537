#pragma once

#include <string>

#include "src/templates/registry.h"

namespace tilewright {

/// AutoTVM's `group_conv2d_nchw.cuda`. Knobs: tile_n, tile_g (blocks, virtual threads), tile_f,
/// tile_y, tile_x (block, virtual thread, thread, inner), tile_rc, tile_ry, tile_rx (steps, staged
/// at once; tile_rx cuts the rows and tile_ry the columns, as in the original),
/// auto_unroll_max_step, unroll_explicit, fuse_yx (threads: z = n and f, y, x; or z = n, y = f,
/// x = y and x).
struct GroupConv2dNchwCuda {
  static std::string Refuses(const Workload& workload, const Target& target);
  static Result<ConfigSpace> DefineSpace(const Workload& workload, const Target& target);
  static Result<Config> DefaultConfig(const Workload& workload, const Target& target);
  static Result<Kernel> Apply(const Workload& workload, const Epilogue& epilogue,
                              const Target& target, const Config& config);
};

}  // namespace tilewright
