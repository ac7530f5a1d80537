#pragma once

#include <cstdint>
#include <string>

namespace tilewright {

/// Returns the text of a valid expression that is small enough to compute fast: one to four stages
/// of products, reductions, windows, data movement and functions, read by affine indices,
/// quotients, remainders, clamped gathers and guarded ones. Depends only on the seed.
std::string RandomExpressionText(std::uint64_t seed);

/// Returns the text of a matrix product, a batch of them or a convolution, of float32, float16 or
/// int8. Tensor cores support most of the sizes. The factors have any order of dimensions, with or
/// without an elementwise epilogue. Depends only on the seed.
std::string RandomProductText(std::uint64_t seed);

/// Returns a text that computes the same result with other names, and with reduced axes,
/// commutative operands, inputs and statements in another order if that changes nothing. text: from
/// RandomExpressionText.
std::string RenamedExpressionText(const std::string& text, std::uint64_t seed);

}  // namespace tilewright
