// Pooling and normalizations.
#include <algorithm>
#include <cmath>
#include <limits>

#include "src/tensor/reference/reduction.h"
#include "src/tensor/windows.h"

namespace tilewright::reference {
namespace {

/// One window: its taps inside of the image, and the divisor of its average.
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
      largest = Larger(largest, value);
      sum += static_cast<SumOf<T>>(value);
    }
  }
  if (max) return largest;
  return static_cast<T>(WrapSum<T>(sum) / static_cast<SumOf<T>>(std::max<std::int64_t>(taps, 1)));
}

}  // namespace

void ValuesOfPool(const Operator& op, TensorPointers inputs, Tensor& out) {
  const Tensor& input = *inputs[0];
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

std::vector<bool> ReducedOf(const Operator& op, std::size_t rank) {
  std::vector<bool> reduced(rank, op.attributes.axes.empty());
  for (std::int64_t axis : op.attributes.axes) reduced[Position(axis, rank)] = true;
  return reduced;
}

void ValuesOfSoftmax(const Operator& op, TensorPointers inputs, Tensor& out) {
  const Tensor& input = *inputs[0];
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

void ValuesOfLrn(const Operator& op, TensorPointers inputs, Tensor& out) {
  const Tensor& input = *inputs[0];
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

void ValuesOfBatchNorm(const Operator& op, TensorPointers inputs, Tensor& out) {
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
