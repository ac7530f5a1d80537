#pragma once

#include <optional>
#include <string_view>

#include "src/tensor/operator.h"

namespace tilewright {

/// The kind OpName gives this name, if there is one.
std::optional<OpKind> OpKindNamed(std::string_view name);
/// Elementwise of two inputs.
bool IsBinary(OpKind kind);

}  // namespace tilewright
