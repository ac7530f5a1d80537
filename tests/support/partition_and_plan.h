#pragma once

#include <utility>
#include <vector>

#include "src/compiler/plan/plan.h"

namespace tilewright {

/// Partitions a graph for options.target and plans it. Errors: those of Partition and MakePlan.
inline Result<Plan> PartitionAndPlan(Graph graph, const CompileOptions& options,
                           const std::vector<StreamKernel>* streams = nullptr) {
  TW_ASSIGN_OR_RETURN(auto network,
                      Partition(std::move(graph), options.target, options.fuse_residuals));
  return MakePlan(std::move(network), options, streams);
}

}  // namespace tilewright
