#pragma once

#include "src/templates/registry.h"

namespace tilewright {

/// `dense_thin.cpu`: float32 matrix products of few results. Vectors lie along K, so that columns
/// need not fill one, and the weight is read as it is; K may be cut into parts that threads sum
/// side by side, into memory that one of them folds behind. Knobs: parts, step (elements of K that
/// one part takes at a time: vectors of partial sums), register_tile [rows, columns].
struct DenseThinCpu {
  static std::string Refuses(const Workload& workload, const Target& target);
  static Result<ConfigSpace> DefineSpace(const Workload& workload, const Target& target);
  static Result<Config> DefaultConfig(const Workload& workload, const Target& target);
  static Result<Kernel> Apply(const Workload& workload, const Epilogue& epilogue,
                              const Target& target, const Config& config);
  /// Where columns would leave much of the vectors of a packed weight empty, or threads without
  /// work.
  static bool IsPreferred(const Workload& workload, const Target& target);
};

}  // namespace tilewright
