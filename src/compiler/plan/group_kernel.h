#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "src/compiler/plan/physical_layout.h"
#include "src/graph/passes/passes.h"
#include "src/tensor/operator_list.h"

namespace tilewright {

/// Value that a group without an anchor reads from memory.
struct GroupInput {
  int node = -1;
  std::vector<std::int64_t> shape;  ///< in memory
  PhysicalLayout layouts;           ///< required; logical if the value broadcasts without channels
  bool elementwise = false;         ///< read only at the position that is written
};

/// Operators of the kernel of a group without an anchor, for given layouts of the values on the
/// network's main path. Scalar constants become part of the code; `inputs` are the other inputs, in
/// the order of the kernel's parameters. The result's type in memory is the list's.
struct GroupKernel {
  OperatorList operators;
  std::vector<GroupInput> inputs;
};

/// tables: names of constants that are never part of the code, also with one element.
/// Errors: kUnsupported if the group cannot work in these layouts (every group can in the logical
/// one).
Result<GroupKernel> ListGroup(const Graph& graph, const FusedGroup& group,
                              const PhysicalLayout& layouts, const std::set<std::string>& tables);

/// Group of operators as a workload.
struct GroupTask {
  Workload workload;        ///< a kExpression
  std::vector<int> inputs;  ///< numbers of the kernel's inputs, in the workload's order
};
/// Errors: kUnsupported if expressions cannot state the group's operators.
Result<GroupTask> TaskOfGroup(const GroupKernel& kernel);

}  // namespace tilewright
