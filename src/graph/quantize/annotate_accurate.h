#pragma once

#include <vector>

#include "src/graph/ir/graph.h"
#include "src/graph/quantize/config.h"
#include "src/graph/quantize/float_layer.h"

namespace tilewright::quantize {

/// Annotates by the rules `accurate`.
/// left: gets the anchors that stay float; may be null.
Result<Graph> AnnotateAccurately(Graph graph, const Config& config, std::vector<FloatLayer>* left);

}  // namespace tilewright::quantize
