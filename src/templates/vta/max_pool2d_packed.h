#pragma once

#include "src/templates/registry.h"

namespace tilewright {

/// `max_pool2d_packed.vta`: the maximum of each window of a packed int8 tensor, on the ALU
/// (vta::BuildPackedPool). Knobs: tile_co, tile_h, tile_w of the result, as in `add.vta`. No
/// epilogue. Buffers: data, output. Layout NCHW<batch>n<block>c.
struct MaxPool2dPackedVta {
  static std::string Refuses(const Workload& workload, const Target& target);
  static Result<ConfigSpace> DefineSpace(const Workload& workload, const Target& target);
  static Result<Config> DefaultConfig(const Workload& workload, const Target& target);
  static Result<vta::Stream> BuildStream(const Workload& workload, const Epilogue& epilogue,
                                         const Target& target, const Config& config);
};

}  // namespace tilewright
