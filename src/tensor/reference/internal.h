#pragma once

// Shared parts of the reference evaluator. Compute definitions and lowering must not use this code:
// verification compares two independent results.
#include <functional>
#include <span>
#include <type_traits>
#include <vector>

#include "src/tensor/operator.h"
#include "src/tensor/tensor.h"
#include "src/tensor/workload.h"

namespace tilewright::reference {

using TensorPointers = std::span<const Tensor* const>;

/// Calls fn.template operator()<T>() with the C++ type of an element; bool is stored as uint8.
/// float16 and bfloat16 have no C++ type: the evaluator computes them in float32.
template <typename Fn>
void VisitType(DataType dtype, Fn&& fn) {
  const int bits = dtype.bits;
  switch (dtype.code) {
    case TypeCode::kFloat:
      return bits == 64 ? fn.template operator()<double>() : fn.template operator()<float>();
    case TypeCode::kBFloat:
      return fn.template operator()<float>();
    case TypeCode::kInt:
      if (bits == 8) return fn.template operator()<std::int8_t>();
      if (bits == 16) return fn.template operator()<std::int16_t>();
      if (bits == 32) return fn.template operator()<std::int32_t>();
      return fn.template operator()<std::int64_t>();
    case TypeCode::kUInt:
      if (bits == 8) return fn.template operator()<std::uint8_t>();
      if (bits == 16) return fn.template operator()<std::uint16_t>();
      if (bits == 32) return fn.template operator()<std::uint32_t>();
      return fn.template operator()<std::uint64_t>();
    case TypeCode::kBool:
      return fn.template operator()<std::uint8_t>();
  }
}

/// Adds or multiplies without undefined overflow: integers wrap.
template <typename T>
T WrapAdd(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return a + b;
  else
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
template <typename T>
T WrapSub(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return a - b;
  else
    return static_cast<T>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}
template <typename T>
T WrapMul(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return a * b;
  else
    return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

/// Returns the larger or smaller one; NaN if one of them is.
template <typename T>
T Larger(T a, T b) {
  return a < b || b != b ? b : a;
}
template <typename T>
T Smaller(T a, T b) {
  return b < a || b != b ? b : a;
}

/// Returns the row-major strides of a shape, in elements.
std::vector<std::int64_t> StridesOf(const std::vector<std::int64_t>& shape);
/// Calls fn(position in the output, index) for every element of `shape` in row-major order.
void ForEachIndex(const std::vector<std::int64_t>& shape,
                  const std::function<void(std::int64_t, const std::vector<std::int64_t>&)>& fn);
/// Returns the distance in `input` between neighbors of each dimension of `shape`, to which it
/// broadcasts; 0 where it repeats.
std::vector<std::int64_t> BroadcastSteps(const Tensor& input,
                                         const std::vector<std::int64_t>& shape);
/// Returns the position of a possibly negative axis.
std::size_t Position(std::int64_t axis, std::size_t rank);
/// Returns the largest distance of neighboring numbers of a type, relative to the smaller one.
/// Integers have that of float32.
double StepOf(DataType dtype);
/// Returns a copy with another element type; see kCast.
Tensor CastTensor(const Tensor& source, DataType dtype);

// Functions for the rows of the operator table. The types are valid; `out` has the result's type
// and zero contents.
void EvaluateContraction(const Workload& workload, const Tensor& data, const Tensor& weight,
                         int threads, Tensor& out);
void ValuesOfEqual(const Operator& op, TensorPointers inputs, Tensor& out);
void ValuesOfLess(const Operator& op, TensorPointers inputs, Tensor& out);
void ValuesOfWhere(const Operator& op, TensorPointers inputs, Tensor& out);
void ValuesOfPool(const Operator& op, TensorPointers inputs, Tensor& out);
void ValuesOfSoftmax(const Operator& op, TensorPointers inputs, Tensor& out);
void ValuesOfLrn(const Operator& op, TensorPointers inputs, Tensor& out);
void ValuesOfBatchNorm(const Operator& op, TensorPointers inputs, Tensor& out);
void ValuesOfReshape(const Operator& op, TensorPointers inputs, Tensor& out);
void ValuesOfTranspose(const Operator& op, TensorPointers inputs, Tensor& out);
void ValuesOfBroadcastTo(const Operator& op, TensorPointers inputs, Tensor& out);
void ValuesOfConcat(const Operator& op, TensorPointers inputs, Tensor& out);
void ValuesOfSlice(const Operator& op, TensorPointers inputs, Tensor& out);
void ValuesOfPad(const Operator& op, TensorPointers inputs, Tensor& out);
void ValuesOfLayoutTransform(const Operator& op, TensorPointers inputs, Tensor& out);
void ValuesOfGather(const Operator& op, TensorPointers inputs, Tensor& out);

}  // namespace tilewright::reference
