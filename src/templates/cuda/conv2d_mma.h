#pragma once

#include <string>

#include "src/templates/registry.h"

namespace tilewright {

/// `conv2d_mma.cuda`: tensor cores for the types of RefusesMmaTypes (mma_cuda.h), as an implicit
/// matrix product (src/tensor/compute/implicit_gemm.h). Activations are NHWC, so that a pixel's
/// channels are one run: they are read by 16 bytes at a time, go to the tensor cores without being
/// shuffled, and any number of them can be staged at once. (In NCHW4c, the form of
/// `conv2d_NCHWc_int8.cuda`, a run is the 4 bytes of one dp4a.) Channels of the data are rounded up
/// to the instruction's; those of the result are a multiple of 8. Knobs: those of MmaSpace
/// (mma_cuda.h).
struct Conv2dMmaCuda {
  static std::string Refuses(const Workload& workload, const Target& target);
  static Result<ConfigSpace> DefineSpace(const Workload& workload, const Target& target);
  static Result<Config> DefaultConfig(const Workload& workload, const Target& target);
  static Result<Kernel> Apply(const Workload& workload, const Epilogue& epilogue,
                              const Target& target, const Config& config);
};

}  // namespace tilewright
