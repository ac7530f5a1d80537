#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/graph/graph.h"
#include "src/tensor/tensor.h"

namespace tilewright::relay {

/// What values are, by the number or the name that they have in the text.
using ValueTable = std::map<std::string, Quantization, std::less<>>;

/// What a metadata section holds.
struct Metadata {
  std::map<std::int64_t, Tensor> constants;  ///< of meta[relay.Constant][i], by i
  ValueTable values;                         ///< scales are finite and positive
};

/// The metadata section behind a module, "#[metadata]" included, with these tensors as the contents
/// of meta[relay.Constant][0], [1], …, and the table of values as an attribute of our own.
std::string WriteMetadata(const std::vector<const Tensor*>& constants, const ValueTable& values);

/// section: from "#[metadata]" on; an empty one holds nothing.
/// Errors: kInvalidArgument with what is no such section, or if constants that share arrays would
///         become many times as large as the text.
/// Source: the JSON of TVM's SaveJSON (a list of nodes that name each other by position, and arrays
/// in base64), with the binary form of its NDArray inside.
Result<Metadata> ReadMetadata(std::string_view section);

}  // namespace tilewright::relay
