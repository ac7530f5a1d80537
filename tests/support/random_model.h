#pragma once

#include <cstdint>
#include <string>

namespace tilewright {

/// Returns the bytes of a valid random ONNX model. Sizes are mostly multiples of 16, and the batch
/// is mostly 1. The model contains values combined with parts of themselves, integer expressions
/// that fold to constants, arithmetic on float constants (including conditions of branches and
/// scales of images), non-maximum suppression and float16 chains. One model of twenty has rows of
/// ten thousand elements and more. Deterministic: a seed gives the same model in each run.
std::string RandomModel(std::uint64_t seed);

}  // namespace tilewright
