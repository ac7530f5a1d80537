#pragma once

#include "src/graph/ir/graph.h"

namespace tilewright {

/// Makes reductions read what a transposition reads, if the remaining dimensions have the same
/// order there: the mean of [n, channels] over n for that of [channels, n], and global pools of
/// sequences likewise. Needs no contents.
Result<Graph> ReduceUntransposed(Graph graph);

}  // namespace tilewright
