#pragma once

#include <array>
#include <cstdint>

#include "src/schedule/intrinsics.h"

namespace tilewright::simt {

/// Computes one matrix product of a warp. words: operands of each thread in the instruction's
/// order; the sums at the end are replaced. Integers wrap; floats are multiplied exactly and summed
/// in float32, in ascending order of the products (the hardware's order is not documented). Factors
/// of tf32 lose their last 13 bits, as in the hardware.
/// Source: "Matrix Fragments for mma" in NVIDIA's description of PTX.
void MultiplyWarp(const MmaIntrinsic& mma, const std::array<std::uint32_t*, 32>& words);

}  // namespace tilewright::simt
