#pragma once

#include "src/templates/registry.h"

namespace tilewright {

/// AutoTVM's templates `add.vta` and `multiply.vta` for two packed integer tensors, and, of the
/// same kind, `elementwise_packed.vta` for one (kIdentity) that only goes through its epilogue:
/// shifts, clips, relu, additions of constants. Knobs: tile_co, tile_h, tile_w. A block is loaded,
/// computed in place and stored; the stream is the original compiler's, instruction by instruction.
/// Buffers: data, output, the second tensor (if there is one), operands. Layout
/// NCHW<batch>n<block>c.
template <OpKind kOp>
struct ElementwisePackedVta {
  static std::string Refuses(const Workload& workload, const Target& target);
  static Result<ConfigSpace> DefineSpace(const Workload& workload, const Target& target);
  static Result<Config> DefaultConfig(const Workload& workload, const Target& target);
  static Result<vta::Stream> BuildStream(const Workload& workload, const Epilogue& epilogue,
                                         const Target& target, const Config& config);
};

extern template struct ElementwisePackedVta<OpKind::kAdd>;
extern template struct ElementwisePackedVta<OpKind::kMul>;
extern template struct ElementwisePackedVta<OpKind::kIdentity>;

}  // namespace tilewright
