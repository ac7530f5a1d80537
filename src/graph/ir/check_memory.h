#pragma once

#include "src/base/memory.h"
#include "src/graph/ir/graph.h"

namespace tilewright {

/// Checks that a graph from a file, whose types may have any size, fits into memory. Call it before
/// contents are created or operators run. Counts inputs, constants (filled ones take no memory),
/// operators on constants (which folding turns into constants) and the largest other result.
/// Errors: kUnsupported, naming the value at which the sum exceeds `available` bytes.
Status CheckMemory(const Graph& graph, std::int64_t available = MachineMemoryBytes());

}  // namespace tilewright
