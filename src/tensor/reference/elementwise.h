#pragma once

// Values of elementwise operators, computed in their own type, without the loops of compute/.
#include <algorithm>
#include <cmath>
#include <concepts>
#include <functional>
#include <limits>
#include <utility>

#include "src/tensor/reference/internal.h"

namespace tilewright::reference {

/// Computes fn(attributes, x) of every element. If fn does not accept the type, copies the element.
template <auto fn>
void ValuesOfUnary(const Operator& op, TensorPointers inputs, Tensor& out) {
  VisitType(inputs[0]->dtype(), [&]<typename T>() {
    const auto from = inputs[0]->As<T>();
    const auto to = out.As<T>();
    for (std::size_t i = 0; i < to.size(); ++i) {
      if constexpr (std::invocable<decltype(fn), const OpAttributes&, T>) {
        to[i] = static_cast<T>(fn(op.attributes, from[i]));
      } else {
        to[i] = from[i];
      }
    }
  });
}

/// Type in which functions of T are computed before the result is rounded to T.
template <std::floating_point T>
using Wider = std::conditional_t<std::is_same_v<T, float>, double, long double>;

/// Computes fn(x) of every element, in a wider type.
template <auto fn>
void ValuesOfFunction(const Operator& op, TensorPointers inputs, Tensor& out) {
  ValuesOfUnary<[]<std::floating_point T>(const OpAttributes&, T x) {
    return static_cast<T>(fn(static_cast<Wider<T>>(x)));
  }>(op, inputs, out);
}

/// Elements of a row of the result, and positions of those of its operands.
struct BroadcastRow {
  std::int64_t out = 0, count = 0;
  std::int64_t a = 0, a_step = 0, b = 0, b_step = 0;
};
void ForEachRow(const Tensor& a, const Tensor& b, const Tensor& out,
                const std::function<void(const BroadcastRow&)>& fn);

/// Computes fn(x, y) of every pair of elements. If fn does not accept the type, copies x.
template <auto fn>
void ValuesOfBinary(const Operator&, TensorPointers inputs, Tensor& out) {
  VisitType(inputs[0]->dtype(), [&]<typename T>() {
    const T* const a = inputs[0]->As<T>().data();
    const T* const b = inputs[1]->As<T>().data();
    T* const to = out.As<T>().data();
    ForEachRow(*inputs[0], *inputs[1], out, [&](const BroadcastRow& row) {
      for (std::int64_t i = 0; i < row.count; ++i) {
        const T x = a[row.a + i * row.a_step], y = b[row.b + i * row.b_step];
        if constexpr (std::invocable<decltype(fn), T, T>) {
          to[row.out + i] = static_cast<T>(fn(x, y));
        } else {
          to[row.out + i] = x;
        }
      }
    });
  });
}

/// See kCast and kSaturateCast.
void ValuesOfCast(const Operator& op, TensorPointers inputs, Tensor& out);

/// Divides, truncated towards zero; x / 0 is 0, and the lowest number divided by -1 wraps to
/// itself.
template <typename T>
T Divide(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return a / b;
  } else {
    if (b == 0) return 0;
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return WrapSub<T>(0, a);
    }
    return static_cast<T>(a / b);
  }
}

/// Shifts arithmetically; amounts outside of the width count as the width less one.
template <std::integral T>
T Shift(T a, T b) {
  constexpr int kBits = 8 * static_cast<int>(sizeof(T));
  const bool out_of_range = std::cmp_less(b, 0) || std::cmp_greater_equal(b, kBits);
  return static_cast<T>(a >> (out_of_range ? kBits - 1 : static_cast<int>(b)));
}

template <std::floating_point T>
T HardSigmoid(T x, double alpha, double beta) {
  using Wide = Wider<T>;
  const Wide line = Wide{static_cast<T>(alpha)} * Wide{x} + Wide{static_cast<T>(beta)};
  return static_cast<T>(std::max(std::min(line, Wide{1}), Wide{0}));
}

/// Returns the whole number nearest to `bound` towards the inside of the interval, saturated to the
/// type.
template <typename T>
T IntegerBound(double bound) {
  constexpr double kLow = static_cast<double>(std::numeric_limits<T>::min());
  constexpr double kHigh = static_cast<double>(std::numeric_limits<T>::max());
  if (bound <= kLow) return std::numeric_limits<T>::min();
  if (bound >= kHigh) return std::numeric_limits<T>::max();
  return static_cast<T>(bound);
}

template <typename T>
T Clip(T x, double low, double high) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::min(std::max(x, static_cast<T>(low)), static_cast<T>(high));
  } else {
    return std::min(std::max(x, IntegerBound<T>(std::ceil(low))),
                    IntegerBound<T>(std::floor(high)));
  }
}

/// Returns x * multiplier * 2^(shift - 31), rounded half upwards.
std::int32_t FixedPoint(std::int32_t x, std::int64_t multiplier, std::int64_t shift);

}  // namespace tilewright::reference
