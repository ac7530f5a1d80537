#pragma once

#include <optional>
#include <string_view>

#include "src/tensor/operator.h"

namespace tilewright {

/// Returns the kind with this name (OpName), if it exists.
std::optional<OpKind> OpKindNamed(std::string_view name);
/// Returns true for elementwise operators of two inputs.
bool IsBinary(OpKind kind);

}  // namespace tilewright
