#pragma once

#include <optional>
#include <vector>

#include "src/graph/onnx/node.h"

namespace tilewright {

/// A reduction or a running sum along one axis that is computed while the network runs, in the
/// words of such along known axes: all that may be meant are computed, and one result is chosen.
/// Those of a reduction are the ones that make the result's declared shape (declared.h). Empty for
/// any other node, and where no axis or the shape alone says what is meant.
std::optional<std::vector<onnx::NodeProto>> ExpandComputedAxis(const onnx::NodeProto& node,
                                                               OnnxImport& import);

}  // namespace tilewright
