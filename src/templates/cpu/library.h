#pragma once

#include "src/templates/library_stage.h"

namespace tilewright {

// Templates that call oneDNN for the anchor and generate code for what follows it. They are asked
// only for targets that name the library (-libs=dnnl), and refuse what could differ from the exact
// result: without VNNI instructions its 8-bit products saturate, and some of its convolutions give
// sums of integers by way of float32.

struct Dnnl {
  static constexpr std::string_view kName = "dnnl";
  static std::string Refuses(const Workload& workload, const Target& target);
};
using DenseDnnl = LibraryProducts<OpKind::kDense, Dnnl>;
using BatchMatmulDnnl = LibraryProducts<OpKind::kBatchMatmul, Dnnl>;

/// conv2d, depthwise_conv2d and group_conv2d, knob `layout`: of data and result.
struct Conv2dDnnl {
  static std::string Refuses(const Workload& workload, const Target& target);
  static Result<ConfigSpace> DefineSpace(const Workload& workload, const Target& target);
  static Result<Config> DefaultConfig(const Workload& workload, const Target& target);
  static Result<Kernel> Apply(const Workload& workload, const Epilogue& epilogue,
                              const Target& target, const Config& config);
};

}  // namespace tilewright
