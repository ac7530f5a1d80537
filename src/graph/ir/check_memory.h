#pragma once

#include "src/base/memory.h"
#include "src/graph/ir/graph.h"

namespace tilewright {

/// For graphs from files, whose types may claim any size, before contents are made or operators
/// run. Counted are inputs, constants (what is only filled takes none) and operators on constants,
/// which folding makes constants, and beside them the largest other result.
/// Errors: kUnsupported, naming the value with which they are more than `available` bytes.
Status CheckMemory(const Graph& graph, std::int64_t available = MachineMemoryBytes());

}  // namespace tilewright
