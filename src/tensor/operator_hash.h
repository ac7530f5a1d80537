#pragma once

#include <cstdint>
#include <span>

#include "src/tensor/operator.h"

namespace tilewright {

/// Returns a hash of an operator applied to the values of these numbers. Equal ones have equal
/// hashes, each attribute counts, and hashes are the same in every process.
std::uint64_t HashOf(const Operator& op, std::span<const int> inputs);

}  // namespace tilewright
