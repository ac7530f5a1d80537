#pragma once

#include <optional>
#include <span>
#include <vector>

#include "src/compiler/options/options.h"
#include "src/compiler/options/report.h"
#include "src/compiler/plan/choose_kernel.h"
#include "src/compiler/plan/physical_layout.h"
#include "src/graph/passes/passes.h"

namespace tilewright {

/// How one group of a graph is to lie in memory.
struct GroupLayout {
  PhysicalLayout layouts;              ///< that a group without anchor works in
  std::optional<KernelOption> kernel;  ///< of an anchor that has a choice
  bool changed = false;                ///< another one than the rule's
};

struct LayoutChoice {
  std::vector<GroupLayout> groups;  ///< one for each group
  LayoutReport report;
};

/// Chooses the layouts of all values together: those for which the kernels and the changes of
/// layout between them take the least time, as estimated (layout_costs.h) or, where a store has
/// records of a kernel, as measured. What to choose from: for an anchor the layouts that its
/// templates work in, or that its records are of, for any other group all of those and the graph's
/// own, as far as it can work in them. The start, which stays where nothing is cheaper, is the rule
/// that anchors take the kernel preferred for them, and every other group works in the form of its
/// largest input. Inputs and outputs of the graph have the graph's layouts.
/// Errors: those of KernelOptions.
Result<LayoutChoice> ChooseLayouts(const Graph& graph, std::span<const FusedGroup> groups,
                                   const CompileOptions& options);

}  // namespace tilewright
