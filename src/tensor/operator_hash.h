#pragma once

#include <cstdint>
#include <span>

#include "src/tensor/operator.h"

namespace tilewright {

/// Hash of an operator applied to the values of these numbers. Equal ones have equal hashes, and
/// each attribute counts. The same in every process.
std::uint64_t HashOf(const Operator& op, std::span<const int> inputs);

}  // namespace tilewright
