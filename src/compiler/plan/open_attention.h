#pragma once

#include <cstdint>
#include <vector>

#include "src/base/status.h"
#include "src/compiler/plan/group_kernel.h"
#include "src/graph/open/sequence.h"
#include "src/ir/stmt.h"
#include "src/target/target.h"
#include "src/tensor/compute/define_list.h"

namespace tilewright {

/// Kernel of attention for any number of positions.
struct OpenAttentionKernel {
  /// Its first parameter is the number of positions, one int64. The other tensors have the shapes
  /// of the most positions, padded to OpenAttentionBlock.
  Program program;
  std::int64_t macs_of_position = 0;  ///< with the most positions
};

/// Makes the kernel from programs for several padded lengths: where they differ, the kernel
/// computes a number of iterations or an integer from the number of blocks.
///
/// group: attention of the network. inputs: those of its kernel for one position.
/// Errors: kUnsupported if the group is not attention that OpenAttentionSchedule takes, if it moves
/// elements from one position to another, or if the programs differ in more than integers that are
/// linear in the number of blocks.
Result<OpenAttentionKernel> OpenAttention(const SequenceNetwork& network, const FusedGroup& group,
                                          const std::vector<GroupInput>& inputs,
                                          const Target& target);

/// Defines the computation of a group for a number of positions. group: of the network. inputs:
/// those of its kernel for one position. Errors: kUnsupported, as the end of a sentence about the
/// group, if it reads other values then.
Result<Compute> DefineForLength(const SequenceNetwork& network, const FusedGroup& group,
                                const std::vector<GroupInput>& inputs, std::int64_t positions);

/// Returns the program that is `few` with `few_blocks` blocks and `many` with `many_blocks`, for
/// any number of them up to the latter. length: the parameter with the number of positions, of
/// which `block` are a block. Errors: kUnsupported as OpenAttention.
Result<Program> OpenBlocks(const Program& few, std::int64_t few_blocks, const Program& many,
                           std::int64_t many_blocks, std::int64_t block);

}  // namespace tilewright
