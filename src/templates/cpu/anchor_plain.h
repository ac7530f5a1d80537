#pragma once

#include "src/templates/registry.h"

namespace tilewright {

/// `anchor_plain.cpu`: any anchor in the workload's own layouts (grouped and transposed
/// convolutions, NHWC, every integer type). The innermost axis of the result is the vector, the
/// axis before it is cut into tiles. Knobs: lanes, tile, unroll (of the innermost reduction).
struct AnchorPlainCpu {
  static std::string Refuses(const Workload& workload, const Target& target);
  static Result<ConfigSpace> DefineSpace(const Workload& workload, const Target& target);
  static Result<Config> DefaultConfig(const Workload& workload, const Target& target);
  static Result<Kernel> Apply(const Workload& workload, const Epilogue& epilogue,
                              const Target& target, const Config& config);
};

}  // namespace tilewright
