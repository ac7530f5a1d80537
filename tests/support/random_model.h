#pragma once

#include <cstdint>
#include <string>

namespace tilewright {

/// Bytes of a valid ONNX model drawn at random: sizes that are multiples of 16 more often than not,
/// batch 1 mostly, values combined with parts of themselves, integer expressions that fold to
/// constants, arithmetic on float constants (conditions of branches and scales of pictures among
/// them), suppressed boxes, float16 chains and, in one model of twenty, rows of
/// ten thousand elements and more. Deterministic: a seed gives the same model in each run of a
/// program.
std::string RandomModel(std::uint64_t seed);

}  // namespace tilewright
