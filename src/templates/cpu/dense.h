#pragma once

#include "src/templates/registry.h"

namespace tilewright {

// AutoTVM's templates for matrix products on x86, with its knobs.
// Source: reference of AutoTVM records, sections 9.4, 12.8 and 13.

/// `dense_nopack.x86`: tile_y (M), tile_x (N), tile_k; weight as it is, the inner part of K is a
/// vector of partial sums.
struct DenseNopackX86 {
  static std::string Refuses(const Workload& workload, const Target& target);
  static Result<ConfigSpace> DefineSpace(const Workload& workload, const Target& target);
  static Result<Config> DefaultConfig(const Workload& workload, const Target& target);
  static Result<Kernel> Apply(const Workload& workload, const Epilogue& epilogue,
                              const Target& target, const Config& config);
};

/// `dense_pack.x86`: tile_y, tile_x (3 parts), tile_k; weight NK<x>n, packed by the innermost x.
struct DensePackX86 {
  static std::string Refuses(const Workload& workload, const Target& target);
  static Result<ConfigSpace> DefineSpace(const Workload& workload, const Target& target);
  static Result<Config> DefaultConfig(const Workload& workload, const Target& target);
  static Result<Kernel> Apply(const Workload& workload, const Epilogue& epilogue,
                              const Target& target, const Config& config);
};

/// `batch_matmul.x86`: tile_y (M), tile_x (N), tile_k; as dense_nopack.x86, for each batch.
struct BatchMatmulX86 {
  static std::string Refuses(const Workload& workload, const Target& target);
  static Result<ConfigSpace> DefineSpace(const Workload& workload, const Target& target);
  static Result<Config> DefaultConfig(const Workload& workload, const Target& target);
  static Result<Kernel> Apply(const Workload& workload, const Epilogue& epilogue,
                              const Target& target, const Config& config);
};

}  // namespace tilewright
