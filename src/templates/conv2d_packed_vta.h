#pragma once

#include "src/templates/registry.h"

namespace tilewright {

/// `conv2d_packed.vta`: AutoTVM's template for convolutions on packed tensors, with its knobs, so
/// that its records apply: tile_b (without effect), tile_h, tile_w, tile_ci, tile_co, oc_nthread
/// and h_nthread. The stream is the original compiler's, instruction by instruction. Layouts: data
/// and output NCHW<batch>n<block>c, weight OIHW<block>o<block>i.
struct Conv2dPackedVta {
  static std::string Refuses(const Workload& workload, const Target& target);
  static Result<ConfigSpace> DefineSpace(const Workload& workload, const Target& target);
  static Result<Config> DefaultConfig(const Workload& workload, const Target& target);
  static Result<vta::Stream> BuildStream(const Workload& workload, const Epilogue& epilogue,
                                         const Target& target, const Config& config);
};

}  // namespace tilewright
