#pragma once

#include "src/templates/library_stage.h"

namespace tilewright {

// Templates that call cuDNN or cuBLAS for the anchor, in float32 without tf32 (cuBLAS also in int8,
// exactly), and generate a kernel for what follows it. They are asked only for targets that name
// the library (-libs=cudnn,cublas).

struct Cublas {
  static constexpr std::string_view kName = "cublas";
  static std::string Refuses(const Workload& workload, const Target& target);
};
using DenseCublas = LibraryProducts<OpKind::kDense, Cublas>;
using BatchMatmulCublas = LibraryProducts<OpKind::kBatchMatmul, Cublas>;

/// conv2d, depthwise_conv2d and group_conv2d in NCHW, without knobs: the library measures its
/// algorithms itself.
struct Conv2dCudnn {
  static std::string Refuses(const Workload& workload, const Target& target);
  static Result<ConfigSpace> DefineSpace(const Workload& workload, const Target& target);
  static Result<Config> DefaultConfig(const Workload& workload, const Target& target);
  static Result<Kernel> Apply(const Workload& workload, const Epilogue& epilogue,
                              const Target& target, const Config& config);
};

}  // namespace tilewright
