#pragma once

#include <map>
#include <string>
#include <string_view>

#include "src/base/status.h"
#include "src/tensor/tensor.h"

namespace tilewright {

/// The arrays of a .npz file by name (without ".npy"): a ZIP archive, its members stored or
/// deflated. Members of other names are passed over.
/// Errors: kInvalidArgument naming the member; kUnsupported for encrypted ones, and for ZIP64.
Result<std::map<std::string, Tensor>> ParseNpz(std::string_view bytes);

}  // namespace tilewright
