#pragma once

#include <string>

#include "src/templates/registry.h"

namespace tilewright {

/// AutoTVM's `conv2d_NCHWc_int8.cuda`: channels in blocks of 4, whose products one dp4a sums.
/// Knobs: tile_n, tile_f (blocks of channels), tile_y, tile_x (block, virtual thread, thread,
/// inner), fuse_yx (threads: z = n and f, y, x; or z = n, y = f, x = y and x), tile_rc (blocks of
/// channels), tile_ry, tile_rx (steps, staged at once), reorder_inner (order of the steps),
/// AA_double_buffer, WW_double_buffer (without effect), auto_unroll_max_step.
struct Conv2dNchwcInt8Cuda {
  static std::string Refuses(const Workload& workload, const Target& target);
  static Result<ConfigSpace> DefineSpace(const Workload& workload, const Target& target);
  static Result<Config> DefaultConfig(const Workload& workload, const Target& target);
  static Result<Kernel> Apply(const Workload& workload, const Epilogue& epilogue,
                              const Target& target, const Config& config);
};

/// AutoTVM's `dense_int8.cuda`: dp4a on rows of both operands. Knobs: tile_y, tile_x (block,
/// virtual thread, thread, inner), tile_k (steps, vectors of 16 or 4 bytes staged at once),
/// auto_unroll_max_step.
struct DenseInt8Cuda {
  static std::string Refuses(const Workload& workload, const Target& target);
  static Result<ConfigSpace> DefineSpace(const Workload& workload, const Target& target);
  static Result<Config> DefaultConfig(const Workload& workload, const Target& target);
  static Result<Kernel> Apply(const Workload& workload, const Epilogue& epilogue,
                              const Target& target, const Config& config);
};

}  // namespace tilewright
