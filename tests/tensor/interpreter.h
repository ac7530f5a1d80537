#pragma once

#include <span>

#include "src/tensor/compute/compute.h"
#include "src/tensor/tensor.h"

namespace tilewright {

/// Runs a compute definition as it is written: every stage, every axis, one scalar after the other.
/// Slow and obvious. Loads out of bounds in an arm that a select does not choose are not executed;
/// elsewhere they fail the test.
Tensor Interpret(const Compute& compute, std::span<const Tensor* const> inputs);

/// Small seeded contents: integers in [-limit, limit] (from 0 for unsigned types), floats in
/// [-1, 1).
Tensor RandomTensor(TensorType type, std::uint64_t seed, std::int64_t limit = 127);

}  // namespace tilewright
