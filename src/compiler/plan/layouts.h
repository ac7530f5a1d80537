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

/// Memory layout of one group of a graph.
struct GroupLayout {
  PhysicalLayout layouts;              ///< of a group without an anchor
  std::optional<KernelOption> kernel;  ///< of an anchor with several candidates
  bool changed = false;                ///< differs from the rule's layout
};

struct LayoutChoice {
  std::vector<GroupLayout> groups;  ///< one for each group
  LayoutReport report;
};

/// Chooses the layouts of all values together, so that kernels and the layout changes between them
/// take the least time. Times are estimates (layout_costs.h) or, if a store has records of a
/// kernel, measurements. Candidates of an anchor are the layouts of its templates or of its
/// records. Candidates of other groups are all of those and the graph's own, if the group can work
/// in them. The search starts from the rule that anchors take their preferred kernel and every
/// other group the layout of its largest input. The rule's choice stays if nothing is cheaper.
/// Inputs and outputs of the graph have the graph's layouts.
/// Errors: those of KernelOptions.
Result<LayoutChoice> ChooseLayouts(const Graph& graph, std::span<const FusedGroup> groups,
                                   const CompileOptions& options);

}  // namespace tilewright
