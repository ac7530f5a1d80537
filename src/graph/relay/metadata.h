#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/graph/ir/graph.h"
#include "src/tensor/tensor.h"

namespace tilewright::relay {

/// Contents of a metadata section.
struct Metadata {
  std::map<std::int64_t, Tensor> constants;  ///< contents of meta[relay.Constant][i], by i
  /// Quantization parameters by the number or name of the value in the text; scales are finite and
  /// positive.
  QuantizationMap values;
  std::int64_t synthetic_constants = 0;  ///< number of constants with synthetic contents
};

/// Writes the metadata section that follows a module, including "#[metadata]". The tensors become
/// the contents of meta[relay.Constant][0], [1], …. Attributes of this project contain the
/// quantization map and, unless it is 0, the number of constants with synthetic contents.
std::string WriteMetadata(const std::vector<const Tensor*>& constants,
                          const QuantizationMap& values, std::int64_t synthetic_constants);

/// Reads a metadata section. section: begins with "#[metadata]"; an empty string gives empty
/// contents.
/// Returns kInvalidArgument for anything that is not such a section, or if constants that share
/// arrays would expand to many times the size of the text.
/// Source: the JSON of TVM's SaveJSON (a list of nodes that refer to each other by position, and
/// arrays in base64), with the binary form of its NDArray inside.
Result<Metadata> ReadMetadata(std::string_view section);

}  // namespace tilewright::relay
