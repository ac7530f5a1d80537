#pragma once

#include "src/base/random.h"
#include "src/schedule/schedule.h"
#include "src/tensor/compute/compute.h"
#include "src/tensor/tensor.h"

namespace tilewright {

/// Small hand-written compute definitions, so that schedules are tested without the operators.

struct ConvCase {
  std::int64_t channel_blocks = 1, channel_block = 2;  // input
  std::int64_t output_blocks = 2, output_block = 4;
  std::int64_t height = 6, width = 7, kernel = 3;
  std::int64_t stride = 1, pad = 1, dilation = 1;
};

/// NCHWc convolution: stages "pad" (if pad > 0), "conv" and "output" (bias and relu).
Compute MakeConv(const ConvCase& c);
/// "matmul" C[m, n] = sum A[m, k] * B[k, n].
Compute MakeMatmul(std::int64_t m, std::int64_t n, std::int64_t k);
/// Row maximum, difference to it, row sum of that, and difference plus sum: the shape of a softmax.
Compute MakeSoftmaxLike(std::int64_t rows, std::int64_t columns);
/// [m, n] from uint8 [m, k] and int8 [k/4, n, 4], k a multiple of 4: stage "dense".
Compute MakeDenseU8S8(std::int64_t m, std::int64_t n, std::int64_t k);
/// out[i] = sum over k of in[k, i] by 8 threads. The rows of `in` are staged in shared memory
/// ("in.shared", not yet distributed to threads) in pairs, by steps in an inner loop and rounds in
/// an outer one.
Schedule MakeStagedSum(std::int64_t rounds, std::int64_t steps, DataType dtype = kFloat32);
/// Returns small integers for every input, so that sums are exact in any order.
std::vector<Tensor> RandomInputs(const Compute& compute, Random* random);

}  // namespace tilewright
