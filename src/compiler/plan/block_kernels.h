#pragma once

#include <optional>
#include <vector>

#include "src/compiler/plan/choose_kernel.h"
#include "src/compiler/plan/plan.h"

namespace tilewright {

/// Kernels of a dense layer for blocks of entries of an open dimension.
struct BlockChoice {
  KernelChoice one;                 ///< kernel of one entry
  std::vector<BlockKernel> blocks;  ///< the fewest entries (one) first
};

/// Chooses the kernels of a dense layer for blocks of entries. They read one packed weight: that of
/// the kernel for the most entries.
/// workload: of one entry. Returns none for other operators, for layers with enough rows in one
/// entry, and if no template has such kernels.
std::optional<BlockChoice> ChooseBlocks(const Workload& workload, const Epilogue& epilogue,
                                        bool plain_weight, const CompileOptions& options);

}  // namespace tilewright
