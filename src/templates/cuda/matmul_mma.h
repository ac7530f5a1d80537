#pragma once

#include <string>

#include "src/templates/registry.h"

namespace tilewright {

/// `dense_mma.cuda`, `batch_matmul_mma.cuda`: tensor cores for the types of RefusesMmaTypes.
/// Sizes are multiples of the instruction's. Knobs: those of MmaSpace
/// (mma_cuda.h).
template <OpKind kOp>
struct MatmulMmaCuda {
  static std::string Refuses(const Workload& workload, const Target& target);
  static Result<ConfigSpace> DefineSpace(const Workload& workload, const Target& target);
  static Result<Config> DefaultConfig(const Workload& workload, const Target& target);
  static Result<Kernel> Apply(const Workload& workload, const Epilogue& epilogue,
                              const Target& target, const Config& config);
};
extern template struct MatmulMmaCuda<OpKind::kDense>;
extern template struct MatmulMmaCuda<OpKind::kBatchMatmul>;

}  // namespace tilewright
