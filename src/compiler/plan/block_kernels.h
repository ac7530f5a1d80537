#pragma once

#include <vector>

#include "src/compiler/plan/choose_kernel.h"
#include "src/compiler/plan/plan.h"

namespace tilewright {

/// Returns the kernels of a dense layer for blocks of entries of an open dimension, the fewest
/// entries (one) first. They read one packed weight: that of the kernel for the most entries.
/// workload: of one entry. Returns none for other operators, for layers with enough rows in one
/// entry, and if no template has such kernels.
std::vector<BlockKernel> BlockKernels(const Workload& workload, const Epilogue& epilogue,
                                      bool plain_weight, const CompileOptions& options);

/// Returns the kernel of one entry that belongs to the result of BlockKernels, which must not be
/// empty. Errors: those of ChooseKernel.
Result<KernelChoice> ChooseBlock(const Workload& workload, const Epilogue& epilogue,
                                 const CompileOptions& options);

}  // namespace tilewright
