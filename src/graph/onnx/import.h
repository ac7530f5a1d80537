#pragma once

#include <string>
#include <string_view>

#include "src/graph/ir/graph.h"

namespace tilewright {

/// Imports an ONNX file like ImportOnnx. `folder` contains the files of external data
/// (external_data.h).
Result<Graph> ImportOnnxIn(const std::string& folder, std::string_view bytes, std::string name,
                           const LoadOptions& options = {});

}  // namespace tilewright
