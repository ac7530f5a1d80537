#pragma once

#include "src/templates/registry.h"

namespace tilewright {

/// `depthwise_taps_int8.cpu`: depthwise convolutions of 8-bit data on CPUs with dot products of
/// bytes, activations in blocks of the target's vector lanes. Each lane sums four taps of a kernel
/// row at once: four pixels of a block are one vector. Knobs: register_tile [rows, columns],
/// pass_tiles (rows of tiles per pass), pad.
struct DepthwiseTapsInt8Cpu {
  static std::string Refuses(const Workload& workload, const Target& target);
  static Result<ConfigSpace> DefineSpace(const Workload& workload, const Target& target);
  static Result<Config> DefaultConfig(const Workload& workload, const Target& target);
  static Result<Kernel> Apply(const Workload& workload, const Epilogue& epilogue,
                              const Target& target, const Config& config);
  /// On uint8 data, and on int8 data unless windows move by two rows and columns: as measured on
  /// Zen 4. Shipped cost models do not know it.
  static bool IsPreferred(const Workload& workload, const Target& target);
};

}  // namespace tilewright
