#pragma once

#include "src/templates/registry.h"

namespace tilewright {

// AutoTVM's templates for blocked convolutions on x86, with its knobs, so that its records apply.
// Layouts: data NCHW<ic>c, weight OIHW<ic>i<oc>o, output NCHW<oc>c.
// Source: reference of AutoTVM records, sections 9.4, 12.7 and 13.

/// `conv2d_NCHWc.x86`: tile_ic, tile_oc, tile_ow, and tile_oh (1x1 kernels) or unroll_kw.
struct Conv2dNchwcX86 {
  static std::string Refuses(const Workload& workload, const Target& target);
  static Result<ConfigSpace> DefineSpace(const Workload& workload, const Target& target);
  static Result<Config> DefaultConfig(const Workload& workload, const Target& target);
  static Result<Kernel> Apply(const Workload& workload, const Epilogue& epilogue,
                              const Target& target, const Config& config);
};

/// `conv2d_NCHWc_int8.x86`: the same with blocks of 4 input and 16 output channels for the dot
/// product of AVX-512.
struct Conv2dNchwcInt8X86 {
  static std::string Refuses(const Workload& workload, const Target& target);
  static Result<ConfigSpace> DefineSpace(const Workload& workload, const Target& target);
  static Result<Config> DefaultConfig(const Workload& workload, const Target& target);
  static Result<Kernel> Apply(const Workload& workload, const Epilogue& epilogue,
                              const Target& target, const Config& config);
};

/// `depthwise_conv2d_NCHWc.x86`: tile_ic, tile_oc, tile_ow, unroll_kw; weight OIHW1i<oc>o.
struct DepthwiseNchwcX86 {
  static std::string Refuses(const Workload& workload, const Target& target);
  static Result<ConfigSpace> DefineSpace(const Workload& workload, const Target& target);
  static Result<Config> DefaultConfig(const Workload& workload, const Target& target);
  static Result<Kernel> Apply(const Workload& workload, const Epilogue& epilogue,
                              const Target& target, const Config& config);
};

}  // namespace tilewright
