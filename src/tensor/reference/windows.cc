// Pooling, reductions and normalisations.
#include <algorithm>
#include <cmath>
#include <limits>

#include "src/tensor/reference/internal.h"
#include "src/tensor/windows.h"

namespace tilewright::reference {
namespace {

/// Sums of floats are taken in double, those of integers in 64 bits.
template <typename T>
using SumOf = std::conditional_t<std::is_floating_point_v<T>, double, std::int64_t>;

/// The sum in the type in which the operator adds: 32 bits for narrow integers.
template <typename T>
SumOf<T> WrapSum(SumOf<T> sum) {
  if constexpr (std::is_integral_v<T> && sizeof(T) <= 4) return static_cast<std::int32_t>(sum);
  return sum;
}

/// What no element of the type is below, or above: of floats the infinities.
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

/// One window: its taps inside the image, and how many its average counts.
template <typename T>
T PoolAt(const Operator& op, const PoolWindow& p, const T* channel, std::int64_t row_step,
         std::int64_t column_step, std::int64_t oh, std::int64_t ow) {
  const bool max = op.kind == OpKind::kMaxPool2d || op.kind == OpKind::kGlobalMaxPool2d;
  T largest = LeastOf<T>();
  SumOf<T> sum = 0;
  std::int64_t taps = 0;
  for (std::int64_t r = 0; r < p.pool_h; ++r) {
    for (std::int64_t s = 0; s < p.pool_w; ++s) {
      const std::int64_t h = oh * p.stride_h + r * p.dilation_h - p.pad_top;
      const std::int64_t w = ow * p.stride_w + s * p.dilation_w - p.pad_left;
      const bool inside = h >= 0 && h < p.in_h && w >= 0 && w < p.in_w;
      const bool on_padding = h < p.in_h + p.pad_bottom && w < p.in_w + p.pad_right;
      if (inside || (op.attributes.count_include_pad && on_padding)) ++taps;
      if (!inside) continue;
      const T value = channel[h * row_step + w * column_step];
      largest = std::max(largest, value);
      sum += static_cast<SumOf<T>>(value);
    }
  }
  if (max) return largest;
  return static_cast<T>(WrapSum<T>(sum) / static_cast<SumOf<T>>(std::max<std::int64_t>(taps, 1)));
}

/// Index with the dimensions that `reduced` names set to zero, as a position in the kept ones.
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

template <typename T>
void ReduceAll(const Operator& op, const Tensor& input, const std::vector<bool>& reduced,
               Tensor& out) {
  const KeptPosition kept(input.shape(), reduced);
  const auto from = input.As<T>();
  const auto to = out.As<T>();
  const bool low = op.kind == OpKind::kReduceMax, high = op.kind == OpKind::kReduceMin;
  std::vector<SumOf<T>> sums(kept.count(), 0);
  std::vector<T> extremes(kept.count(), low ? LeastOf<T>() : GreatestOf<T>());
  ForEachIndex(input.shape(), [&](std::int64_t position, const std::vector<std::int64_t>& index) {
    const T value = from[static_cast<std::size_t>(position)];
    const std::size_t at = kept(index);
    if (low) extremes[at] = std::max(extremes[at], value);
    if (high) extremes[at] = std::min(extremes[at], value);
    sums[at] = WrapAdd<SumOf<T>>(sums[at], static_cast<SumOf<T>>(value));
  });
  const auto count = static_cast<SumOf<T>>(
      std::max<std::int64_t>(input.elements() / static_cast<std::int64_t>(kept.count()), 1));
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (low || high) {
      to[i] = extremes[i];
    } else if (op.kind == OpKind::kReduceMean) {
      to[i] = static_cast<T>(WrapSum<T>(sums[i]) / count);
    } else {
      to[i] = static_cast<T>(sums[i]);
    }
  }
}

}  // namespace

void EvaluatePool(const Operator& op, const Tensor& input, Tensor& out) {
  const PoolWindow p = *PoolWindowOf(op, input.type());
  const std::vector<std::int64_t> strides = StridesOf(input.shape());
  const std::int64_t row_step = strides[p.height_dimension];
  const std::int64_t column_step = strides[p.width_dimension];
  VisitType(input.dtype(), [&]<typename T>() {
    const T* from = input.As<T>().data();
    const auto to = out.As<T>();
    ForEachIndex(out.shape(), [&](std::int64_t position, const std::vector<std::int64_t>& index) {
      std::int64_t channel = 0;
      for (std::size_t i = 0; i < index.size(); ++i) {
        const bool spatial = i == p.height_dimension || i == p.width_dimension;
        if (!spatial) channel += index[i] * strides[i];
      }
      to[static_cast<std::size_t>(position)] =
          PoolAt<T>(op, p, from + channel, row_step, column_step, index[p.height_dimension],
                    index[p.width_dimension]);
    });
  });
}

void EvaluateReduce(const Operator& op, const Tensor& input, Tensor& out) {
  std::vector<bool> reduced(input.shape().size(), op.attributes.axes.empty());
  for (std::int64_t axis : op.attributes.axes) reduced[Position(axis, reduced.size())] = true;
  VisitType(input.dtype(), [&]<typename T>() { ReduceAll<T>(op, input, reduced, out); });
}

void EvaluateSoftmax(const Operator& op, const Tensor& input, Tensor& out) {
  const std::size_t axis = Position(op.attributes.axis, input.shape().size());
  std::vector<bool> reduced(input.shape().size(), false);
  for (std::size_t i = 0; i < reduced.size(); ++i) {
    reduced[i] = op.attributes.flatten ? i >= axis : i == axis;
  }
  const KeptPosition kept(input.shape(), reduced);
  std::vector<double> largest(kept.count(), -std::numeric_limits<double>::infinity());
  std::vector<double> sums(kept.count(), 0);
  ForEachIndex(input.shape(), [&](std::int64_t i, const std::vector<std::int64_t>& index) {
    largest[kept(index)] = std::max(largest[kept(index)], input.At(i));
  });
  ForEachIndex(input.shape(), [&](std::int64_t i, const std::vector<std::int64_t>& index) {
    sums[kept(index)] += std::exp(input.At(i) - largest[kept(index)]);
  });
  ForEachIndex(input.shape(), [&](std::int64_t i, const std::vector<std::int64_t>& index) {
    const double shifted = input.At(i) - largest[kept(index)];
    const double sum = sums[kept(index)];
    out.Set(i, op.kind == OpKind::kLogSoftmax ? shifted - std::log(sum) : std::exp(shifted) / sum);
  });
}

void EvaluateLrn(const Operator& op, const Tensor& input, Tensor& out) {
  const OpAttributes& a = op.attributes;
  const std::int64_t channels = input.shape()[1], step = StridesOf(input.shape())[1];
  const std::int64_t before = (a.size - 1) / 2, after = a.size - 1 - before;
  ForEachIndex(input.shape(), [&](std::int64_t i, const std::vector<std::int64_t>& index) {
    const std::int64_t first = std::max<std::int64_t>(index[1] - before, 0);
    const std::int64_t last = std::min(index[1] + after, channels - 1);
    double squares = 0;
    for (std::int64_t c = first; c <= last; ++c) {
      const double value = input.At(i + (c - index[1]) * step);
      squares += value * value;
    }
    const double scale = a.bias + a.alpha / static_cast<double>(a.size) * squares;
    out.Set(i, input.At(i) / std::pow(scale, a.beta));
  });
}

void EvaluateBatchNorm(const Operator& op, TensorPointers inputs, Tensor& out) {
  const Tensor& data = *inputs[0];
  const std::size_t axis = Position(op.attributes.axis, data.shape().size());
  const std::int64_t inner = StridesOf(data.shape())[axis], channels = data.shape()[axis];
  std::vector<double> scale, shift;
  for (std::int64_t c = 0; c < channels; ++c) {
    const double deviation = std::sqrt(inputs[4]->At(c) + op.attributes.epsilon);
    scale.push_back(inputs[1]->At(c) / deviation);
    shift.push_back(inputs[2]->At(c) - inputs[3]->At(c) * scale.back());
  }
  for (std::int64_t i = 0; i < data.elements(); ++i) {
    const auto c = static_cast<std::size_t>(i / inner % channels);
    out.Set(i, data.At(i) * scale[c] + shift[c]);
  }
}

}  // namespace tilewright::reference
