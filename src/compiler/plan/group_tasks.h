#pragma once

#include <string>
#include <vector>

#include "src/compiler/options/options.h"
#include "src/graph/partition/partition.h"
#include "src/tensor/workload.h"

namespace tilewright {

/// A workload that groups of operators without an anchor are, as the compiler would make them.
struct GroupUses {
  Workload workload;                ///< a kExpression
  std::vector<std::string> values;  ///< what they compute, by name: one for each use
  double seconds = 0;  ///< of all uses together, by a rough count of bytes and operations
};

/// Returns those of a network (partitioned for options.target), in order of first use, with the
/// layouts that Compile chooses with these options. all_seconds: gets the estimate of the whole
/// network, anchors included. Errors: those of Compile's plan; kUnsupported for targets that are
/// not machine code.
Result<std::vector<GroupUses>> TasksOfGroups(PartitionedGraph network,
                                             const CompileOptions& options, double* all_seconds);

}  // namespace tilewright
