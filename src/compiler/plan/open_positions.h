#pragma once

#include "src/base/status.h"
#include "src/compiler/options/options.h"
#include "src/compiler/plan/plan.h"

namespace tilewright {

/// Makes the kernels of plan.open for positions that windows read (PositionsOf(options)): those of
/// `plan`, the network of a block, each with loops over blocks around it. Pads have no step:
/// tensors in the arena have room around their positions. The first step that reads an input of the
/// model copies it into the arena, and the last one that writes a result of the model copies it
/// out. Errors: kUnsupported naming the operator whose kernel cannot have those loops.
Status MakePositionPlan(Plan& plan, const CompileOptions& options);

/// Returns the type of a value of a plan's graph with an open dimension, with a size.
TensorType OpenTypeOf(const Graph& graph, const CompileOptions& options, int node,
                      std::int64_t size);

}  // namespace tilewright
