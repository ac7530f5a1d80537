#pragma once

#include "src/templates/registry.h"

namespace tilewright {

// Templates that call oneDNN for the anchor and generate code for what follows it. They are asked
// only for targets that name the library (-libs=dnnl), and refuse what could differ from the exact
// result: without VNNI instructions its 8-bit products saturate, and its convolutions give
// sums of integers by way of float32.

/// conv2d, depthwise_conv2d and group_conv2d, knob `layout`: of data and result.
struct Conv2dDnnl {
  static std::string Refuses(const Workload& workload, const Target& target);
  static Result<ConfigSpace> DefineSpace(const Workload& workload, const Target& target);
  static Result<Config> DefaultConfig(const Workload& workload, const Target& target);
  static Result<Kernel> Apply(const Workload& workload, const Epilogue& epilogue,
                              const Target& target, const Config& config);
};

/// dense and batch_matmul, without knobs. The second operand of a batch_matmul is no constant.
template <OpKind kOp>
struct MatmulDnnl {
  static std::string Refuses(const Workload& workload, const Target& target);
  static Result<ConfigSpace> DefineSpace(const Workload& workload, const Target& target);
  static Result<Config> DefaultConfig(const Workload& workload, const Target& target);
  static Result<Kernel> Apply(const Workload& workload, const Epilogue& epilogue,
                              const Target& target, const Config& config);
};
using DenseDnnl = MatmulDnnl<OpKind::kDense>;
using BatchMatmulDnnl = MatmulDnnl<OpKind::kBatchMatmul>;

}  // namespace tilewright
