#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/tensor/tensor.h"

namespace tilewright::relay {

/// The metadata section behind a module, "#[metadata]" included, with these tensors as the contents
/// of meta[relay.Constant][0], [1], ….
std::string WriteMetadata(const std::vector<const Tensor*>& constants);

/// Contents of meta[relay.Constant][i], by i, that a metadata section has.
/// section: from "#[metadata]" on; an empty one has none.
/// Errors: kInvalidArgument with what is no such section, or if constants that share arrays would
///         become many times as large as the text.
/// Source: the JSON of TVM's SaveJSON (a list of nodes that name each other by position, and arrays
/// in base64), with the binary form of its NDArray inside.
Result<std::map<std::int64_t, Tensor>> ReadMetadata(std::string_view section);

}  // namespace tilewright::relay
