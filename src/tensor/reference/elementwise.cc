// Casts, and the loop over broadcast operands.
#include "src/tensor/reference/elementwise.h"

#include <limits>
#include <utility>

namespace tilewright::reference {
namespace {

/// Converts a float to an integer: truncated, values out of range saturated, NaN to 0.
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
  if (input.dtype().is_half() || out.dtype().is_half()) {
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

Tensor CastTensor(const Tensor& source, DataType dtype) {
  Tensor out(TensorType{source.shape(), dtype});
  ConvertAll(source, false, out);
  return out;
}

void ValuesOfCast(const Operator& op, TensorPointers inputs, Tensor& out) {
  ConvertAll(*inputs[0], op.kind == OpKind::kSaturateCast, out);
}

void ForEachRow(const Tensor& a, const Tensor& b, const Tensor& out,
                const std::function<void(const BroadcastRow&)>& fn) {
  const std::vector<std::int64_t>& shape = out.shape();
  const std::vector<std::int64_t> a_steps = BroadcastSteps(a, shape);
  const std::vector<std::int64_t> b_steps = BroadcastSteps(b, shape);
  BroadcastRow row;
  row.count = shape.empty() ? 1 : shape.back();
  row.a_step = shape.empty() ? 0 : a_steps.back();
  row.b_step = shape.empty() ? 0 : b_steps.back();
  std::vector<std::int64_t> outer = shape;
  if (!outer.empty()) outer.pop_back();
  ForEachIndex(outer, [&](std::int64_t number, const std::vector<std::int64_t>& index) {
    row.a = row.b = 0;
    for (std::size_t i = 0; i < index.size(); ++i) {
      row.a += index[i] * a_steps[i];
      row.b += index[i] * b_steps[i];
    }
    row.out = number * row.count;
    fn(row);
  });
}

}  // namespace tilewright::reference
