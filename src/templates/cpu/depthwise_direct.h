#pragma once

#include "src/templates/registry.h"

namespace tilewright {

/// `depthwise_direct.cpu`: depthwise convolutions, float32 or 8-bit, activations in blocks of the
/// target's vector lanes. Knobs: register_tile [rows, columns], pass_tiles (rows of tiles per
/// pass), unroll_kh, pad.
struct DepthwiseDirectCpu {
  static std::string Refuses(const Workload& workload, const Target& target);
  static Result<ConfigSpace> DefineSpace(const Workload& workload, const Target& target);
  static Result<Config> DefaultConfig(const Workload& workload, const Target& target);
  static Result<Kernel> Apply(const Workload& workload, const Epilogue& epilogue,
                              const Target& target, const Config& config);
};

}  // namespace tilewright
