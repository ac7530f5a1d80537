#pragma once

#include "src/templates/registry.h"

namespace tilewright {

/// `dense_packed.cpu`: matrix products with constant weights, float32 or 8-bit. Weights are packed
/// in blocks of as many columns as the register tile has, so that they are read in one stream.
/// Knobs: register_tile [rows, blocks of columns], k_unroll.
struct DensePackedCpu {
  static std::string Refuses(const Workload& workload, const Target& target);
  static Result<ConfigSpace> DefineSpace(const Workload& workload, const Target& target);
  static Result<Config> DefaultConfig(const Workload& workload, const Target& target);
  static Result<Kernel> Apply(const Workload& workload, const Epilogue& epilogue,
                              const Target& target, const Config& config);
};

}  // namespace tilewright
