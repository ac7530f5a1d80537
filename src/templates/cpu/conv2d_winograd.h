#pragma once

#include <string>

#include "src/templates/registry.h"

namespace tilewright {

/// Winograd's convolution with channels in blocks of one vector. All data are transformed first;
/// then, for a group of output channels and a run of tiles in one row of them, the products are
/// summed in registers, kept in the nearest cache and transformed back, with the epilogue.
struct Conv2dWinogradCpu {
  static std::string Refuses(const Workload& w, const Target& target);
  static Result<ConfigSpace> DefineSpace(const Workload& w, const Target& target);
  static Result<Config> DefaultConfig(const Workload& w, const Target& target);
  static Result<Kernel> Apply(const Workload& w, const Epilogue& epilogue, const Target& target,
                              const Config& config);
  /// Whether its default config is faster than a direct convolution's; of a workload that it
  /// serves.
  static bool IsPreferred(const Workload& w, const Target& target);
};

/// The same of 8-bit integers, exactly: data and weights are transformed to 16 bits by whole
/// numbers, pairs of products summed in 32 bits modulo 2^32 and the result divided by what the
/// transforms multiplied it with (src/tensor/compute/winograd_integer.h).
struct Conv2dWinogradInt8Cpu {
  static std::string Refuses(const Workload& w, const Target& target);
  static Result<ConfigSpace> DefineSpace(const Workload& w, const Target& target);
  static Result<Config> DefaultConfig(const Workload& w, const Target& target);
  static Result<Kernel> Apply(const Workload& w, const Epilogue& epilogue, const Target& target,
                              const Config& config);
  static bool IsPreferred(const Workload& w, const Target& target);
};

}  // namespace tilewright
