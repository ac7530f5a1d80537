#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "src/compiler/plan/choose_kernel.h"
#include "src/compiler/plan/plan.h"
#include "src/graph/open/size_range.h"
#include "src/space/trial.h"
#include "src/tensor/workload.h"

namespace tilewright {

/// Returns the workloads that a library for a range of sizes is compiled with. workload: of one
/// entry. Dense layers of few rows have one workload for each of a few sizes of the range
/// (SizesToTune); others have that of one entry.
std::vector<Workload> RangeWorkloads(const Workload& workload, const SizeRange& range);

/// Returns configs of a layer whose times would show which tile is the fastest for which size:
/// tiles of its records, with the numbers of rows of RangeWorkloads for which they have no record.
/// workload: of one entry. Errors: those of the stores.
Result<std::vector<Candidate>> TilesToMeasure(const Workload& workload, const Epilogue& epilogue,
                                              const CompileOptions& options);

/// Returns true for candidates of one kernel.
inline bool SameKernel(const Candidate& a, const Candidate& b) {
  return a.task.workload == b.task.workload && a.epilogue == b.epilogue &&
         a.template_key == b.template_key && a.config == b.config;
}

/// Kernels of a dense layer for blocks of entries of an open dimension.
struct BlockChoice {
  KernelChoice one;                  ///< kernel of one entry
  std::vector<BlockKernel> blocks;   ///< empty: the kernel of one entry serves all
  std::vector<std::uint8_t> choice;  ///< by size - 1: position in `blocks`
};

/// Chooses the kernels of a dense layer for blocks of entries, and the one for each size, by the
/// records of the layer with any number of rows. All read one packed weight. Without records it
/// takes the tile of the config that ChooseKernel chooses for a few rows.
///
/// workload: of one entry. Returns none for other operators, for layers with enough rows in one
/// entry, and if no template has such kernels. Errors: those of the stores.
Result<std::optional<BlockChoice>> ChooseBlocks(const Workload& workload, const Epilogue& epilogue,
                                                bool plain_weight, const CompileOptions& options);

}  // namespace tilewright
