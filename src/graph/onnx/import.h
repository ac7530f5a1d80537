#pragma once

#include <string>
#include <string_view>

#include "src/graph/ir/graph.h"

namespace tilewright {

/// ImportOnnx of a file in `folder`, where contents in other files are looked for (external.h).
Result<Graph> ImportOnnxIn(const std::string& folder, std::string_view bytes, std::string name,
                           const LoadOptions& options = {});

}  // namespace tilewright
