#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"

namespace tilewright {

/// Dimension of an input or output of a model file.
struct SymbolPlace {
  std::string value;  ///< name of the input or output
  std::int64_t dimension = 0;
};

/// Named dimension that a model file leaves open.
struct Symbol {
  std::string name;
  std::vector<SymbolPlace> inputs, outputs;
};

/// Returns the open dimensions of an ONNX file in the order of their first place; those without a
/// name have no symbol. Other texts have none: what is wrong with a file, its import says.
std::vector<Symbol> SymbolsOf(std::string_view bytes);

}  // namespace tilewright
