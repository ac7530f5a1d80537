#pragma once

#include <string>
#include <vector>

#include "src/compiler/options/options.h"
#include "src/graph/partition/partition.h"
#include "src/tensor/workload.h"

namespace tilewright {

/// Workload of groups of operators without an anchor, as the compiler would build them.
struct GroupUses {
  Workload workload;                ///< a kExpression
  std::vector<std::string> values;  ///< names of the computed values: one for each use
  double seconds = 0;  ///< of all uses together, by a rough count of bytes and operations
};

/// Returns the workloads of a network's groups without an anchor, in order of first use, with the
/// layouts that Compile chooses with these options. network: partitioned for options.target.
/// all_seconds: gets the estimate of the whole network, anchors included. Errors: those of
/// Compile's plan; kUnsupported for targets that are not machine code.
Result<std::vector<GroupUses>> TasksOfGroups(PartitionedGraph network,
                                             const CompileOptions& options, double* all_seconds);

}  // namespace tilewright
