#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "src/graph/passes/passes.h"
#include "src/tensor/epilogue.h"
#include "src/tensor/workload.h"

namespace tilewright {

/// One distinct tunable workload of a graph.
struct ExtractedTask {
  Workload workload;
  std::vector<std::string> sites;  ///< value names of the uses, in graph order
  std::vector<int> nodes;          ///< the anchors, in graph order; none without an anchor
  /// The most frequent one of its uses (first on ties); by the rules of the VTA, of those with the
  /// most tensor operands.
  Epilogue epilogue;
  std::int64_t occurrences() const { return static_cast<std::int64_t>(sites.size()); }
};
/// In order of first use, on the graph as imported (before folding, so that every anchor of the
/// source is there); epilogues come from the folded and fused graph. By the rules of the VTA,
/// groups without an anchor that its ALU can execute (src/graph/passes/alu_group.h) come behind
/// them. Needs no contents of large constants and makes none.
Result<std::vector<ExtractedTask>> ExtractTasks(const Graph& graph,
                                                FuseRule rule = FuseRule::kUnrestricted);
/// The tuple by which AutoTVM knows a workload; empty if it has no such task.
using TupleOf = std::function<std::string(const Workload&)>;
/// The JSON of `tilewright tasks --json`: network, totals, tasks with the fields of
/// expected/tasks_*.json and "key", "autotvm" (null where that has no such task), "epilogue".
std::string TasksToJson(const std::string& network, const std::vector<ExtractedTask>& tasks,
                        const TupleOf& autotvm);

}  // namespace tilewright
