#pragma once

#include <cstdint>
#include <string>

namespace tilewright {

/// The text of an expression that is right by construction, of sizes that take no time: one to four
/// stages of products, reductions, windows, moves and functions, read by affine indices, quotients,
/// remainders, clamped gathers and guarded ones. A function of the seed.
std::string RandomExpressionText(std::uint64_t seed);

/// The text of a product of matrices, a batch of them or a convolution, of float32, float16 or
/// int8, in sizes that tensor cores take (most of them), factors in any order of dimensions, with
/// what follows it element by element or without. A function of the seed.
std::string RandomProductText(std::uint64_t seed);

/// A text that computes the same under other names, with reduced axes, operands that commute,
/// inputs and statements in another order where that changes nothing. text: of
/// RandomExpressionText.
std::string RenamedExpressionText(const std::string& text, std::uint64_t seed);

}  // namespace tilewright
