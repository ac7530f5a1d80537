// Values of elementwise operators, computed in the type they have, without the loops of compute/.

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "src/tensor/reference/internal.h"

namespace tilewright::reference {
namespace {

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

template <typename T>
T ShiftRight(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return a;
  } else {
    constexpr int kBits = 8 * static_cast<int>(sizeof(T));
    const bool out_of_range = std::cmp_less(b, 0) || std::cmp_greater_equal(b, kBits);
    return static_cast<T>(a >> (out_of_range ? kBits - 1 : static_cast<int>(b)));
  }
}

template <typename T>
T Binary(OpKind kind, T a, T b) {
  switch (kind) {
    case OpKind::kAdd:
      return WrapAdd(a, b);
    case OpKind::kSub:
      return WrapSub(a, b);
    case OpKind::kMul:
      return WrapMul(a, b);
    case OpKind::kDiv:
      return Divide(a, b);
    case OpKind::kMax:
      return std::max(a, b);
    case OpKind::kMin:
      return std::min(a, b);
    case OpKind::kShiftRight:
      return ShiftRight(a, b);
    default:
      if constexpr (std::is_floating_point_v<T>) return std::pow(a, b);
      return a;
  }
}

template <typename T>
T HardSigmoid(T x, double alpha, double beta) {
  const T line = static_cast<T>(alpha) * x + static_cast<T>(beta);
  return std::max(T{0}, std::min(T{1}, line));
}

template <typename T>
T UnaryFloat(const Operator& op, T x) {
  const OpAttributes& a = op.attributes;
  switch (op.kind) {
    case OpKind::kRelu:
      return std::max(x, T{0});
    case OpKind::kClip:
      return std::min(std::max(x, static_cast<T>(a.a_min)), static_cast<T>(a.a_max));
    case OpKind::kLeakyRelu:
      return x < 0 ? x * static_cast<T>(a.alpha) : x;
    case OpKind::kSigmoid:
      return T{1} / (T{1} + std::exp(-x));
    case OpKind::kHardSigmoid:
      return HardSigmoid(x, a.alpha, a.beta);
    case OpKind::kHardSwish:
      return x * HardSigmoid(x, 1.0 / 6.0, 0.5);
    case OpKind::kTanh:
      return std::tanh(x);
    case OpKind::kExp:
      return std::exp(x);
    case OpKind::kLog:
      return std::log(x);
    case OpKind::kSqrt:
      return std::sqrt(x);
    case OpKind::kErf:
      return std::erf(x);
    case OpKind::kNegate:
      return -x;
    case OpKind::kAbs:
      return std::fabs(x);
    case OpKind::kRound:
      return std::round(x);
    case OpKind::kRoundEven:
      return std::nearbyint(x);
    case OpKind::kFloor:
      return std::floor(x);
    case OpKind::kCeil:
      return std::ceil(x);
    default:
      return x;
  }
}

/// Whole number nearest to `bound` towards the inside of the interval, cut to the type.
template <typename T>
T IntegerBound(double bound) {
  constexpr double kLow = static_cast<double>(std::numeric_limits<T>::min());
  constexpr double kHigh = static_cast<double>(std::numeric_limits<T>::max());
  if (bound <= kLow) return std::numeric_limits<T>::min();
  if (bound >= kHigh) return std::numeric_limits<T>::max();
  return static_cast<T>(bound);
}

/// x * multiplier * 2^(shift - 31), rounded half upwards.
std::int32_t FixedPoint(std::int32_t x, std::int64_t multiplier, std::int64_t shift) {
  if (multiplier == std::int64_t{1} << 30) {
    const auto bits = static_cast<std::uint32_t>(x);
    if (shift >= 1) return static_cast<std::int32_t>(bits << (shift - 1));
    const std::uint32_t rounded = bits + (std::uint32_t{1} << -shift);
    return static_cast<std::int32_t>(rounded) >> (1 - shift);
  }
  const std::int64_t left = std::max<std::int64_t>(shift, 0);
  const std::int64_t right = 31 + std::max<std::int64_t>(-shift, 0);
  const std::uint64_t product = (static_cast<std::uint64_t>(static_cast<std::int64_t>(x)) << left) *
                                static_cast<std::uint64_t>(multiplier);
  const std::uint64_t rounded = product + (std::uint64_t{1} << (right - 1));
  return static_cast<std::int32_t>(static_cast<std::int64_t>(rounded) >> right);
}

template <typename T>
T UnaryInteger(const Operator& op, T x) {
  switch (op.kind) {
    case OpKind::kRelu:
      return std::max(x, T{0});
    case OpKind::kClip:
      return std::min(std::max(x, IntegerBound<T>(std::ceil(op.attributes.a_min))),
                      IntegerBound<T>(std::floor(op.attributes.a_max)));
    case OpKind::kNegate:
      return WrapSub<T>(0, x);
    case OpKind::kAbs:
      return std::cmp_less(x, 0) ? WrapSub<T>(0, x) : x;
    case OpKind::kFixedPointMultiply:
      if constexpr (std::is_same_v<T, std::int32_t>) {
        return FixedPoint(x, op.attributes.multiplier, op.attributes.shift);
      }
      return x;
    default:
      return x;
  }
}

/// A float to an integer: truncated, values out of range cut to it, NaN to 0.
template <typename To>
To Truncate(double value) {
  if (std::isnan(value)) return 0;
  if (value <= static_cast<double>(std::numeric_limits<To>::min())) {
    return std::numeric_limits<To>::min();
  }
  if (value >= static_cast<double>(std::numeric_limits<To>::max())) {
    return std::numeric_limits<To>::max();
  }
  return static_cast<To>(value);
}

template <typename From, typename To>
To SaturateInteger(From value) {
  if (std::cmp_less(value, std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
  if (std::cmp_greater(value, std::numeric_limits<To>::max())) {
    return std::numeric_limits<To>::max();
  }
  return static_cast<To>(value);
}

template <typename From, typename To>
To Convert(From value, bool saturate) {
  if constexpr (std::is_floating_point_v<To>) {
    return static_cast<To>(value);
  } else if constexpr (std::is_floating_point_v<From>) {
    return Truncate<To>(saturate ? std::nearbyint(static_cast<double>(value))
                                 : static_cast<double>(value));
  } else {
    return saturate ? SaturateInteger<From, To>(value) : static_cast<To>(value);
  }
}

void ConvertAll(const Tensor& input, bool saturate, Tensor& out) {
  const std::int64_t count = input.elements();
  if (input.dtype() == kFloat16 || out.dtype() == kFloat16) {
    for (std::int64_t i = 0; i < count; ++i) {
      const double value = input.At(i);
      const bool truncates = !saturate && out.dtype().is_integer();
      out.Set(i, truncates ? std::trunc(value) : value);
    }
    return;
  }
  VisitType(input.dtype(), [&]<typename From>() {
    const auto from = input.As<From>();
    VisitType(out.dtype(), [&]<typename To>() {
      const auto to = out.As<To>();
      for (std::size_t i = 0; i < to.size(); ++i) {
        if (out.dtype().is_bool()) {
          to[i] = from[i] != From{0} ? 1 : 0;
        } else {
          to[i] = Convert<From, To>(from[i], saturate);
        }
      }
    });
  });
}

}  // namespace

Tensor CastTensor(const Tensor& source, DataType dtype) {
  Tensor out(TensorType{source.shape(), dtype});
  ConvertAll(source, false, out);
  return out;
}

void EvaluateUnary(const Operator& op, const Tensor& input, Tensor& out) {
  if (op.kind == OpKind::kCast || op.kind == OpKind::kSaturateCast) {
    return ConvertAll(input, op.kind == OpKind::kSaturateCast, out);
  }
  VisitType(input.dtype(), [&]<typename T>() {
    const auto from = input.As<T>();
    const auto to = out.As<T>();
    for (std::size_t i = 0; i < to.size(); ++i) {
      if constexpr (std::is_floating_point_v<T>) {
        to[i] = UnaryFloat(op, from[i]);
      } else {
        to[i] = UnaryInteger(op, from[i]);
      }
    }
  });
}

void EvaluateBinary(const Operator& op, const Tensor& a, const Tensor& b, Tensor& out) {
  const std::vector<std::int64_t>& shape = out.shape();
  const std::vector<std::int64_t> a_steps = BroadcastSteps(a, shape);
  const std::vector<std::int64_t> b_steps = BroadcastSteps(b, shape);
  const std::int64_t inner = shape.empty() ? 1 : shape.back();
  const std::int64_t a_step = shape.empty() ? 0 : a_steps.back();
  const std::int64_t b_step = shape.empty() ? 0 : b_steps.back();
  std::vector<std::int64_t> outer = shape;
  if (!outer.empty()) outer.pop_back();
  VisitType(a.dtype(), [&]<typename T>() {
    const auto from_a = a.As<T>(), from_b = b.As<T>();
    const auto to = out.As<T>();
    ForEachIndex(outer, [&](std::int64_t row, const std::vector<std::int64_t>& index) {
      std::int64_t at_a = 0, at_b = 0;
      for (std::size_t i = 0; i < index.size(); ++i) {
        at_a += index[i] * a_steps[i];
        at_b += index[i] * b_steps[i];
      }
      for (std::int64_t i = 0; i < inner; ++i) {
        to[static_cast<std::size_t>(row * inner + i)] =
            Binary<T>(op.kind, from_a[static_cast<std::size_t>(at_a + i * a_step)],
                      from_b[static_cast<std::size_t>(at_b + i * b_step)]);
      }
    });
  });
}

}  // namespace tilewright::reference
