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

/// What a metadata section holds.
struct Metadata {
  std::map<std::int64_t, Tensor> constants;  ///< of meta[relay.Constant][i], by i
  /// By the number or the name that they have in the text; scales are finite and positive.
  QuantizationMap values;
  std::int64_t synthetic_constants = 0;  ///< of these constants
};

/// The metadata section behind a module, "#[metadata]" included, with these tensors as the contents
/// of meta[relay.Constant][0], [1], …, and as attributes of our own the table of values and, unless
/// it is 0, how many constants have made-up contents.
std::string WriteMetadata(const std::vector<const Tensor*>& constants,
                          const QuantizationMap& values, std::int64_t synthetic_constants);

/// section: from "#[metadata]" on; an empty one holds nothing.
/// Errors: kInvalidArgument with what is no such section, or if constants that share arrays would
///         become many times as large as the text.
/// Source: the JSON of TVM's SaveJSON (a list of nodes that name each other by position, and arrays
/// in base64), with the binary form of its NDArray inside.
Result<Metadata> ReadMetadata(std::string_view section);

}  // namespace tilewright::relay
