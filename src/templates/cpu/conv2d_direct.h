#pragma once

#include "src/templates/registry.h"

namespace tilewright {

// Direct convolutions in the one layout a whole network can keep: activations in blocks of the
// target's vector lanes (NCHW16c or NCHW8c), so that no two kernels need a transform between them.

/// `conv2d_direct.cpu`: float32. Knobs: register_tile [blocks of output channels, rows, columns],
/// row_tiles (rows of tiles per pass over the output channels), ic_unroll, unroll_kw, pad, order.
/// Data of fewer channels than lanes (first layers) stay in NCHW. Groups of channels: whole blocks,
/// or several in one, as many channels out as in.
struct Conv2dDirectCpu {
  static std::string Refuses(const Workload& workload, const Target& target);
  static Result<ConfigSpace> DefineSpace(const Workload& workload, const Target& target);
  static Result<Config> DefaultConfig(const Workload& workload, const Target& target);
  static Result<Kernel> Apply(const Workload& workload, const Epilogue& epilogue,
                              const Target& target, const Config& config);
};

/// `conv2d_direct_int8.cpu`: the same for 8-bit data with the dot product of the target: bytes in
/// fours, or int16 in pairs where there is no fast product of bytes.
struct Conv2dDirectInt8Cpu {
  static std::string Refuses(const Workload& workload, const Target& target);
  static Result<ConfigSpace> DefineSpace(const Workload& workload, const Target& target);
  static Result<Config> DefaultConfig(const Workload& workload, const Target& target);
  static Result<Kernel> Apply(const Workload& workload, const Epilogue& epilogue,
                              const Target& target, const Config& config);
};

/// `conv2d_half_blocks.cpu`: both on 512-bit vectors, in blocks of 8 channels on each side that has
/// 1 to 8 channels more than whole vectors hold: 24 are three half vectors, not two of which 8
/// lanes multiply zeros. That is faster where a processor executes a vector in two halves
/// (CpuFeatures::double_pumped_512), and a choice of layouts for what reads and writes the tensor.
struct Conv2dHalfBlocksCpu {
  static std::string Refuses(const Workload& workload, const Target& target);
  static Result<ConfigSpace> DefineSpace(const Workload& workload, const Target& target);
  static Result<Config> DefaultConfig(const Workload& workload, const Target& target);
  static Result<std::vector<Config>> LayoutConfigs(const Workload& workload, const Target& target);
  static Result<Kernel> Apply(const Workload& workload, const Epilogue& epilogue,
                              const Target& target, const Config& config);
};

}  // namespace tilewright
