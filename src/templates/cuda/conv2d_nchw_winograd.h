#pragma once

#include <string>

#include "src/templates/registry.h"

namespace tilewright {

/// AutoTVM's `conv2d_nchw_winograd.cuda`: three launches. The data's tiles are transformed, one
/// matrix product is made for each position of the window, and the results are transformed back
/// with the epilogue. The weight is transformed when it is packed. Tiles are 4 x 4 outputs where
/// the data's height is a multiple of 8, else 2 x 2. Knobs, of the matrix product only: tile_b (one
/// value), tile_y (channels) and tile_x (tiles; block, virtual thread, thread, inner), tile_rc
/// (steps, staged at once), auto_unroll_max_step, unroll_explicit.
struct Conv2dNchwWinogradCuda {
  static std::string Refuses(const Workload& workload, const Target& target);
  static Result<ConfigSpace> DefineSpace(const Workload& workload, const Target& target);
  static Result<Config> DefaultConfig(const Workload& workload, const Target& target);
  static Result<Kernel> Apply(const Workload& workload, const Epilogue& epilogue,
                              const Target& target, const Config& config);
};

}  // namespace tilewright
