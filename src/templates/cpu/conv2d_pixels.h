#pragma once

#include "src/templates/registry.h"

namespace tilewright {

/// `conv2d_pixels.cpu`: convolutions of any number of groups, whose channels no block needs to
/// divide. Activations stay in NCHW and the vector runs over pixels; each weight is broadcast.
/// Knobs: register_tile [output channels, rows, vectors of columns], ic_unroll, unroll_kw,
/// pixels_first.
struct Conv2dPixelsCpu {
  static std::string Refuses(const Workload& workload, const Target& target);
  static Result<ConfigSpace> DefineSpace(const Workload& workload, const Target& target);
  static Result<Config> DefaultConfig(const Workload& workload, const Target& target);
  /// The default config, but for int8, where pixels have no dot product.
  static Result<std::vector<Config>> LayoutConfigs(const Workload& workload, const Target& target);
  static Result<Kernel> Apply(const Workload& workload, const Epilogue& epilogue,
                              const Target& target, const Config& config);
};

/// `group_conv2d_shuffled.cpu`: the same kernel, which leaves its channels in the order of a
/// channel shuffle behind it: the first of each group, then the second of each, …; output layout
/// "N34cCHW" of groups of 34 channels. Then the shuffle (reshape, transpose, reshape) has nothing
/// left to do.
struct GroupConv2dShuffledCpu {
  static std::string Refuses(const Workload& workload, const Target& target);
  static Result<ConfigSpace> DefineSpace(const Workload& workload, const Target& target);
  static Result<Config> DefaultConfig(const Workload& workload, const Target& target);
  static Result<std::vector<Config>> LayoutConfigs(const Workload& workload, const Target& target);
  static Result<Kernel> Apply(const Workload& workload, const Epilogue& epilogue,
                              const Target& target, const Config& config);
};

}  // namespace tilewright
