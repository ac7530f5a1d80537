#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "src/graph/partition/partition.h"
#include "src/tensor/epilogue.h"
#include "src/tensor/workload.h"

namespace tilewright {

/// One distinct tunable workload of a graph.
struct ExtractedTask {
  Workload workload;
  std::vector<std::string> sites;  ///< value names of the uses, in graph order
  /// Most frequent epilogue of the uses (the first one on ties). By the rules of the VTA, only uses
  /// with the most tensor operands count.
  Epilogue epilogue;
  std::int64_t occurrences() const { return static_cast<std::int64_t>(sites.size()); }
};
/// Returns the distinct workloads of a partition's sites, in order of first use, and of its
/// expressions with a reduction. By the rules of the VTA, groups without an anchor that its ALU can
/// execute (src/graph/passes/alu_group.h) follow them. Errors: the first one of a site's workload.
Result<std::vector<ExtractedTask>> ExtractTasks(const PartitionedGraph& network);
/// Extracts the tasks of the result of UnfusedOperators. Needs no contents of large constants and
/// makes none. Errors: those of PartitionWithoutContents and of the other ExtractTasks.
Result<std::vector<ExtractedTask>> ExtractTasks(const Graph& operators,
                                                const PartitionRule& rule = {});
/// The tuple by which AutoTVM knows a workload; empty if it has no such task.
using TupleOf = std::function<std::string(const Workload&)>;
/// The JSON of `tilewright tasks --json`: network, totals, tasks with the fields of
/// expected/tasks_*.json and "key", "autotvm" (null where that has no such task), "epilogue".
std::string TasksToJson(const std::string& network, const std::vector<ExtractedTask>& tasks,
                        const TupleOf& autotvm);

}  // namespace tilewright
