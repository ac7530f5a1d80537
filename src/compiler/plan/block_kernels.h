#pragma once

#include <optional>
#include <vector>

#include "src/compiler/plan/choose_kernel.h"
#include "src/compiler/plan/plan.h"
#include "src/graph/open/size_range.h"
#include "src/tensor/workload.h"

namespace tilewright {

/// Returns the workload that a library for a range of sizes is compiled with. workload: of one
/// entry. Dense layers of few rows work on blocks of several entries.
Workload BlockWorkload(Workload workload, const SizeRange& range);

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
