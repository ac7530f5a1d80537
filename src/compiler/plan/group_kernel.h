#pragma once

#include <optional>
#include <vector>

#include "src/compiler/plan/physical_layout.h"
#include "src/graph/passes/passes.h"
#include "src/tensor/operator_list.h"

namespace tilewright {

/// A value that a group without anchor reads from memory.
struct GroupInput {
  int node = -1;
  std::vector<std::int64_t> shape;  ///< in memory
  PhysicalLayout layouts;           ///< wanted; native if the value broadcasts without channels
  bool elementwise = false;         ///< read only at the position that is written
};

/// What the kernel of a group without anchor computes when the values of the network's main path
/// are in `form`. Scalar constants become part of the code; the other inputs are `inputs`, in the
/// order of the kernel's parameters. The result lies in memory as the list has it.
struct GroupKernel {
  OperatorList operators;
  std::vector<GroupInput> inputs;
};

/// Errors: kUnsupported if the group cannot work in this form (any group can in the native one).
Result<GroupKernel> ListGroup(const Graph& graph, const FusedGroup& group,
                              const PhysicalLayout& layouts);

/// A group as a workload of its own.
struct GroupTask {
  Workload workload;        ///< a kExpression
  std::vector<int> inputs;  ///< those of the kernel, by number, in the workload's order
};
/// Errors: kUnsupported if no expression says what the group computes.
Result<GroupTask> TaskOfGroup(const GroupKernel& kernel);

}  // namespace tilewright
