#pragma once

#include "src/templates/registry.h"

namespace tilewright {

/// `depthwise_pixels.cpu`: depthwise convolutions in NCHW, float32, whose windows move by one
/// column: the vector runs over the columns of a row. For networks that keep NCHW around them, of
/// grouped convolutions that no block of channels fits. Knobs: register_tile [rows, vectors of
/// columns], unroll_kh, pad.
struct DepthwisePixelsCpu {
  static std::string Refuses(const Workload& workload, const Target& target);
  static Result<ConfigSpace> DefineSpace(const Workload& workload, const Target& target);
  static Result<Config> DefaultConfig(const Workload& workload, const Target& target);
  static Result<std::vector<Config>> LayoutConfigs(const Workload& workload, const Target& target);
  static Result<Kernel> Apply(const Workload& workload, const Epilogue& epilogue,
                              const Target& target, const Config& config);
};

}  // namespace tilewright
