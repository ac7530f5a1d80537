#pragma once

#include <map>
#include <string>
#include <string_view>

#include "src/base/status.h"
#include "src/tensor/tensor.h"

namespace tilewright {

/// Parses the arrays of a .npz file by name (without ".npy"). The file is a ZIP archive with stored
/// or deflated members. Members with other names are skipped.
/// Returns kInvalidArgument naming the member; kUnsupported for encrypted members and ZIP64.
Result<std::map<std::string, Tensor>> ParseNpz(std::string_view bytes);

}  // namespace tilewright
