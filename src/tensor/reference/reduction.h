#pragma once

// Values of reductions, without the loops of compute/.
#include <limits>
#include <vector>

#include "src/tensor/reference/internal.h"

namespace tilewright::reference {

/// Type of sums: double for floats, 64 bits for integers.
template <typename T>
using SumOf = std::conditional_t<std::is_floating_point_v<T>, double, std::int64_t>;

/// Type in which the operator adds: 32 bits for narrow integers.
template <typename T>
SumOf<T> WrapSum(SumOf<T> sum) {
  if constexpr (std::is_integral_v<T> && sizeof(T) <= 4) return static_cast<std::int32_t>(sum);
  return sum;
}

/// Lower or upper bound of the type; of floats the infinities.
template <typename T>
constexpr T LeastOf() {
  using Limits = std::numeric_limits<T>;
  return Limits::has_infinity ? static_cast<T>(-Limits::infinity()) : Limits::lowest();
}
template <typename T>
constexpr T GreatestOf() {
  using Limits = std::numeric_limits<T>;
  return Limits::has_infinity ? Limits::infinity() : Limits::max();
}

/// Position of an index in the kept dimensions: those in `reduced` are set to zero.
class KeptPosition {
 public:
  KeptPosition(const std::vector<std::int64_t>& shape, const std::vector<bool>& reduced)
      : steps_(shape.size(), 0) {
    for (std::size_t i = shape.size(); i-- > 0;) {
      if (reduced[i]) continue;
      steps_[i] = count_;
      count_ *= shape[i];
    }
  }
  std::size_t operator()(const std::vector<std::int64_t>& index) const {
    std::int64_t position = 0;
    for (std::size_t i = 0; i < index.size(); ++i) position += index[i] * steps_[i];
    return static_cast<std::size_t>(position);
  }
  std::size_t count() const { return static_cast<std::size_t>(count_); }

 private:
  std::vector<std::int64_t> steps_;
  std::int64_t count_ = 1;
};

/// Returns which dimensions a reduction combines.
std::vector<bool> ReducedOf(const Operator& op, std::size_t rank);

// Combiners of reductions: Start() is the result of no elements, Step() adds one more element, and
// Finish() makes the result of `count` of them.
template <typename T>
struct SumOfAll {
  static SumOf<T> Start() { return 0; }
  static SumOf<T> Step(SumOf<T> sum, T value) {
    return WrapAdd<SumOf<T>>(sum, static_cast<SumOf<T>>(value));
  }
  static T Finish(SumOf<T> sum, std::int64_t) { return static_cast<T>(sum); }
};
template <typename T>
struct MeanOfAll : SumOfAll<T> {
  static T Finish(SumOf<T> sum, std::int64_t count) {
    return static_cast<T>(WrapSum<T>(sum) / static_cast<SumOf<T>>(count));
  }
};
template <typename T>
struct LargestOfAll {
  static T Start() { return LeastOf<T>(); }
  static T Step(T largest, T value) { return Larger(largest, value); }
  static T Finish(T largest, std::int64_t) { return largest; }
};
template <typename T>
struct SmallestOfAll {
  static T Start() { return GreatestOf<T>(); }
  static T Step(T smallest, T value) { return Smaller(smallest, value); }
  static T Finish(T smallest, std::int64_t) { return smallest; }
};

template <template <typename> typename Rule>
void ValuesOfReduction(const Operator& op, TensorPointers inputs, Tensor& out) {
  const Tensor& input = *inputs[0];
  const KeptPosition kept(input.shape(), ReducedOf(op, input.shape().size()));
  const std::int64_t count =
      std::max<std::int64_t>(input.elements() / static_cast<std::int64_t>(kept.count()), 1);
  VisitType(input.dtype(), [&]<typename T>() {
    const auto from = input.As<T>();
    const auto to = out.As<T>();
    std::vector<decltype(Rule<T>::Start())> made(kept.count(), Rule<T>::Start());
    ForEachIndex(input.shape(), [&](std::int64_t position, const std::vector<std::int64_t>& index) {
      auto& result = made[kept(index)];
      result = Rule<T>::Step(result, from[static_cast<std::size_t>(position)]);
    });
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = Rule<T>::Finish(made[i], count);
  });
}

}  // namespace tilewright::reference
