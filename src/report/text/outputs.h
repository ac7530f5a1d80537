#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "src/compiler/run/run.h"
#include "src/tensor/tensor.h"

namespace tilewright::report {

/// Returns the outputs of a network with all elements, as an array.
nlohmann::ordered_json OutputsJson(const std::vector<ModelValue>& values,
                                   const std::vector<Tensor>& outputs);

/// Returns name, type and the five largest elements of each output, as lines.
std::string OutputsText(const std::vector<ModelValue>& values, const std::vector<Tensor>& outputs);

}  // namespace tilewright::report
