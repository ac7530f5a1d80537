#pragma once

#include "src/templates/registry.h"

namespace tilewright {

/// `batch_matmul_packed.cpu`: float32 products of computed matrices. The columns of a register tile
/// are turned into a buffer [K, columns] first, which all rows of their matrix are multiplied with.
/// Knobs: register_tile [rows, blocks of columns], k_unroll.
struct BatchMatmulPackedCpu {
  static std::string Refuses(const Workload& workload, const Target& target);
  static Result<ConfigSpace> DefineSpace(const Workload& workload, const Target& target);
  static Result<Config> DefaultConfig(const Workload& workload, const Target& target);
  static Result<Kernel> Apply(const Workload& workload, const Epilogue& epilogue,
                              const Target& target, const Config& config);
};

}  // namespace tilewright
