#pragma once

#include <string>

#include "src/templates/registry.h"

namespace tilewright {

/// AutoTVM's `dense_small_batch.cuda`: one block per output element, its threads share the
/// reduction. Knob: tile_k (steps of each thread, threads).
struct DenseSmallBatchCuda {
  static std::string Refuses(const Workload& workload, const Target& target);
  static Result<ConfigSpace> DefineSpace(const Workload& workload, const Target& target);
  static Result<Config> DefaultConfig(const Workload& workload, const Target& target);
  static Result<Kernel> Apply(const Workload& workload, const Epilogue& epilogue,
                              const Target& target, const Config& config);
};

/// AutoTVM's `dense_large_batch.cuda`: tiles of rows and columns, both operands staged in shared
/// memory and then in registers. Knobs: tile_x (rows: block, virtual thread, thread, inner), tile_y
/// (columns, alike), tile_k (steps, register steps, depth of each).
struct DenseLargeBatchCuda {
  static std::string Refuses(const Workload& workload, const Target& target);
  static Result<ConfigSpace> DefineSpace(const Workload& workload, const Target& target);
  static Result<Config> DefaultConfig(const Workload& workload, const Target& target);
  static Result<Kernel> Apply(const Workload& workload, const Epilogue& epilogue,
                              const Target& target, const Config& config);
};

/// AutoTVM's `batch_matmul.cuda`. Knobs: tile_y, tile_x (block, thread, inner), tile_k (staging
/// steps, depth), auto_unroll_max_step, unroll_explicit.
struct BatchMatmulCuda {
  static std::string Refuses(const Workload& workload, const Target& target);
  static Result<ConfigSpace> DefineSpace(const Workload& workload, const Target& target);
  static Result<Config> DefaultConfig(const Workload& workload, const Target& target);
  static Result<Kernel> Apply(const Workload& workload, const Epilogue& epilogue,
                              const Target& target, const Config& config);
};

}  // namespace tilewright
