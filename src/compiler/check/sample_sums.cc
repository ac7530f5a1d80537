// Elements computed from many others: products, windows, reductions and normalizations.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <utility>

#include "src/compiler/check/layout_index.h"
#include "src/compiler/check/sample.h"
#include "src/tensor/operator_table.h"
#include "src/tensor/windows.h"
#include "src/tensor/workload.h"

namespace tilewright {
namespace {

using Shape = std::vector<std::int64_t>;

/// Pairs of positions whose products are added up for one element.
struct Taps {
  std::vector<std::int64_t> data, weight;
  std::vector<std::size_t> ends;  // of each element's taps
};

Result<Taps> ConvolutionTaps(const Workload& w, std::span<const std::int64_t> positions,
                             const TensorType& type) {
  TW_ASSIGN_OR_RETURN(auto shape, ConvShapeOf(w));
  const ConvShape& s = shape;
  TW_ASSIGN_OR_RETURN(auto output_layout, w.OutputLayout());
  auto data = LayoutIndex::Of(w.data.shape, w.data_layout);
  auto weight = LayoutIndex::Of(w.weight.shape, w.kernel_layout);
  auto output = LayoutIndex::Of(type.shape, output_layout);
  TW_RETURN_IF_ERROR(data);
  TW_RETURN_IF_ERROR(weight);
  TW_RETURN_IF_ERROR(output);
  const bool transposed = w.op == OpKind::kConv2dTranspose;
  const std::int64_t in_per_group = s.c / s.groups, out_per_group = s.k / s.groups;
  Taps taps;
  for (std::int64_t position : positions) {
    const Shape index = IndexAt(position, type.shape);
    const std::int64_t n = output->IndexOf('N', index), k = output->IndexOf('C', index);
    const std::int64_t oh = output->IndexOf('H', index), ow = output->IndexOf('W', index);
    const std::int64_t group = k / out_per_group;
    for (std::int64_t r = 0; r < s.r; ++r) {
      for (std::int64_t q = 0; q < s.s; ++q) {
        std::int64_t h = oh * s.stride_h + r * s.dilation_h - s.pad_top;
        std::int64_t v = ow * s.stride_w + q * s.dilation_w - s.pad_left;
        if (transposed) {
          h = oh + s.pad_top - r * s.dilation_h;
          v = ow + s.pad_left - q * s.dilation_w;
          if (h % s.stride_h != 0 || v % s.stride_w != 0) continue;
          h /= s.stride_h;
          v /= s.stride_w;
        }
        if (h < 0 || h >= s.h || v < 0 || v >= s.w) continue;
        for (std::int64_t c = 0; c < in_per_group; ++c) {
          const std::int64_t channel = group * in_per_group + c;
          taps.data.push_back(data->Place([&](char letter) {
            return letter == 'N' ? n : letter == 'C' ? channel : letter == 'H' ? h : v;
          }));
          taps.weight.push_back(weight->Place([&](char letter) {
            if (letter == 'O') return transposed ? k % out_per_group : k;
            if (letter == 'I') return transposed ? channel : c;
            return letter == 'H' ? r : q;
          }));
        }
      }
    }
    taps.ends.push_back(taps.data.size());
  }
  return taps;
}

/// Returns the taps of dense and batch_matmul in plain layouts: the last dimension of the data and
/// that of the weight named K are multiplied.
Result<Taps> MatrixTaps(const Workload& w, std::span<const std::int64_t> positions,
                        const TensorType& type) {
  const std::size_t rank = type.shape.size();
  const std::size_t weight_rank = RowOf(w.op).layouts.weight.size();
  if (w.data.shape.size() != rank || w.weight.shape.size() != weight_rank || rank > 3) {
    return Unsupported("packed matrices are not computed by element");
  }
  const std::int64_t count = w.data.shape.back();
  const std::size_t of_column = w.kernel_layout.find('N'), of_term = w.kernel_layout.find('K');
  Taps taps;
  for (std::int64_t position : positions) {
    const Shape index = IndexAt(position, type.shape);
    Shape row = index, column(weight_rank, index[0]);
    column[of_column] = index[rank - 1];
    for (std::int64_t i = 0; i < count; ++i) {
      row.back() = column[of_term] = i;
      taps.data.push_back(PositionOf(row, w.data.shape));
      taps.weight.push_back(PositionOf(column, w.weight.shape));
    }
    taps.ends.push_back(taps.data.size());
  }
  return taps;
}

/// Returns the offsets of a box's elements from its first one in a tensor of shape `whole`, in
/// row-major order.
std::vector<std::int64_t> OffsetsIn(const Shape& whole, const Shape& box) {
  std::vector<std::int64_t> offsets = {0};
  std::int64_t stride = 1;
  for (std::size_t d = whole.size(); d-- > 0;) {
    const std::size_t known = offsets.size();
    // Outer dimensions come first in the order, so the known offsets are repeated at the end.
    for (std::int64_t i = 1; i < box[d]; ++i) {
      for (std::size_t j = 0; j < known; ++j) offsets.push_back(offsets[j] + i * stride);
    }
    stride *= whole[d];
  }
  return offsets;
}

/// Returns an integer element; sums and products wrap like those of its type.
std::uint64_t WholeAt(const Tensor& integers, std::int64_t i) {
  if (integers.dtype().bits == 64) return integers.As<std::uint64_t>()[static_cast<std::size_t>(i)];
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(integers.At(i)));
}

/// Stores an integer sum, wrapped to the type of the result.
void SetWrapped(Tensor& to, std::int64_t i, std::int64_t sum) {
  const auto at = static_cast<std::size_t>(i);
  switch (to.dtype().bits) {
    case 8:
      to.As<std::uint8_t>()[at] = static_cast<std::uint8_t>(sum);
      return;
    case 16:
      to.As<std::uint16_t>()[at] = static_cast<std::uint16_t>(sum);
      return;
    case 32:
      to.As<std::uint32_t>()[at] = static_cast<std::uint32_t>(sum);
      return;
    default:
      to.As<std::int64_t>()[at] = sum;
  }
}

/// Returns elements of rows, by their positions in all of them.
SampledReference::Sample PickedFrom(const BoundedTensor& rows,
                                    const std::vector<std::int64_t>& picked) {
  auto sample = std::make_shared<BoundedTensor>();
  const auto count = static_cast<std::int64_t>(picked.size());
  sample->value = Tensor(TensorType{{count}, rows.value.dtype()});
  if (!rows.exact()) sample->error = Tensor(TensorType{{count}, kFloat64});
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t place = picked[static_cast<std::size_t>(i)];
    const std::int64_t bytes = rows.value.dtype().bytes();
    std::memcpy(sample->value.data() + i * bytes, rows.value.data() + place * bytes,
                static_cast<std::size_t>(bytes));
    if (!rows.exact()) sample->error.Set(i, rows.error.At(place));
  }
  return sample;
}

/// Returns the sample as rows of `columns` elements (then ones, up to `rank` dimensions).
BoundedTensor InRows(const BoundedTensor& sample, std::int64_t columns, std::size_t rank) {
  Shape shape(rank, 1);
  shape[1] = columns;
  shape[0] = sample.value.elements() / std::max<std::int64_t>(columns, 1);
  BoundedTensor rows{sample.value.Clone(), Tensor()};
  rows.value.Reshape(shape);
  if (!sample.exact()) {
    rows.error = sample.error.Clone();
    rows.error.Reshape(shape);
  }
  return rows;
}

}  // namespace

Status SampledReference::CheckReadCount(std::int64_t count, std::int64_t each) const {
  if (count <= reads_left_ / std::max<std::int64_t>(each, 1)) return {};
  return Unsupported("one element is made of too many");
}

Result<SampledReference::Sample> SampledReference::SumOfProducts(
    const Node& node, std::span<const std::int64_t> positions) {
  TW_ASSIGN_OR_RETURN(const auto w,
                      Workload::FromOperator(node.op, graph_.node(node.inputs[0]).type,
                                             graph_.node(node.inputs[1]).type));
  const std::int64_t each = w.macs() / std::max<std::int64_t>(1, node.type.elements());
  TW_RETURN_IF_ERROR(CheckReadCount(std::ssize(positions), each));
  TW_ASSIGN_OR_RETURN(auto taps, IsMatrixProduct(w.op) ? MatrixTaps(w, positions, node.type)
                                                       : ConvolutionTaps(w, positions, node.type));
  TW_ASSIGN_OR_RETURN(auto data, At(node.inputs[0], taps.data));
  TW_ASSIGN_OR_RETURN(auto weight, At(node.inputs[1], taps.weight));
  const BoundedTensor &a = *data, &b = *weight;
  const auto count = static_cast<std::int64_t>(positions.size());
  auto result = std::make_shared<BoundedTensor>();
  result->value = Tensor(TensorType{{count}, node.type.dtype});
  const bool real = node.type.dtype.is_float();
  if (real) result->error = Tensor(TensorType{{count}, kFloat64});
  std::int64_t i = 0;
  for (std::int64_t element = 0; element < count; ++element) {
    double sum = 0, magnitude = 0, carried = 0;
    std::uint64_t whole = 0;
    const auto end = static_cast<std::int64_t>(taps.ends[static_cast<std::size_t>(element)]);
    for (; i < end; ++i) {
      if (!real) {
        whole += WholeAt(a.value, i) * WholeAt(b.value, i);
        continue;
      }
      const double x = a.value.At(i), y = b.value.At(i);
      const double ex = a.exact() ? 0 : a.error.At(i), ey = b.exact() ? 0 : b.error.At(i);
      sum += x * y;
      magnitude += std::fabs(x * y);
      carried += ex * std::fabs(y) + ey * std::fabs(x);
    }
    if (real) {
      result->value.Set(element, sum);
      result->error.Set(element, SumErrorUnit(node.type.dtype) * magnitude + carried);
    } else {
      SetWrapped(result->value, element, static_cast<std::int64_t>(whole));
    }
  }
  return Sample(std::move(result));
}

Result<SampledReference::Sample> SampledReference::Pooled(const Node& node,
                                                          std::span<const std::int64_t> positions) {
  const TensorType& input = graph_.node(node.inputs[0]).type;
  TW_ASSIGN_OR_RETURN(const auto window, PoolWindowOf(node.op, input));
  const PoolWindow& p = window;
  TW_RETURN_IF_ERROR(CheckReadCount(std::ssize(positions), p.pool_h * p.pool_w));
  const bool max = node.op.kind == OpKind::kMaxPool2d || node.op.kind == OpKind::kGlobalMaxPool2d;
  Positions taken;
  std::vector<std::size_t> ends;
  std::vector<std::int64_t> counts;
  for (std::int64_t position : positions) {
    const Shape index = IndexAt(position, node.type.shape);
    const std::int64_t top = index[p.height_dimension] * p.stride_h - p.pad_top;
    const std::int64_t left = index[p.width_dimension] * p.stride_w - p.pad_left;
    std::int64_t counted = 0;
    for (std::int64_t r = 0; r < p.pool_h; ++r) {
      for (std::int64_t s = 0; s < p.pool_w; ++s) {
        Shape at = index;
        const std::int64_t h = at[p.height_dimension] = top + r * p.dilation_h;
        const std::int64_t w = at[p.width_dimension] = left + s * p.dilation_w;
        const bool inside = h >= 0 && h < p.in_h && w >= 0 && w < p.in_w;
        const bool on_padding = h < p.in_h + p.pad_bottom && w < p.in_w + p.pad_right;
        if (inside || (node.op.attributes.count_include_pad && on_padding)) ++counted;
        if (inside) taken.push_back(PositionOf(at, input.shape));
      }
    }
    ends.push_back(taken.size());
    counts.push_back(std::max<std::int64_t>(counted, 1));
  }
  TW_ASSIGN_OR_RETURN(auto read, At(node.inputs[0], taken));
  const BoundedTensor& x = *read;
  const auto count = static_cast<std::int64_t>(positions.size());
  const bool real = node.type.dtype.is_float();
  auto result = std::make_shared<BoundedTensor>();
  result->value = Tensor(TensorType{{count}, node.type.dtype});
  if (real) result->error = Tensor(TensorType{{count}, kFloat64});
  std::size_t i = 0;
  for (std::size_t element = 0; element < ends.size(); ++element) {
    const auto to = static_cast<std::int64_t>(element);
    if (i == ends[element]) return Unsupported("a window on the padding alone");
    double largest = -std::numeric_limits<double>::infinity();
    double sum = 0, magnitude = 0, carried = 0, most = 0;
    std::int64_t whole = 0;
    for (; i < ends[element]; ++i) {
      const auto from = static_cast<std::int64_t>(i);
      const double value = x.value.At(from), error = x.exact() ? 0 : x.error.At(from);
      largest = std::max(largest, value);
      sum += value;
      if (!real) whole += static_cast<std::int64_t>(value);
      magnitude += std::fabs(value);
      carried += error;
      most = std::max(most, error);
    }
    const auto divisor = static_cast<double>(counts[element]);
    if (max) {
      result->value.Set(to, largest);
      if (real) result->error.Set(to, most);
    } else if (real) {
      result->value.Set(to, sum / divisor);
      result->error.Set(to, (SumErrorUnit(node.type.dtype) * magnitude + carried) / divisor);
    } else {
      SetWrapped(result->value, to, static_cast<std::int32_t>(whole) / counts[element]);
    }
  }
  return Sample(std::move(result));
}

Result<SampledReference::Sample> SampledReference::Reduced(
    const Node& node, std::span<const std::int64_t> positions) {
  const Shape& from = graph_.node(node.inputs[0]).type.shape;
  std::vector<bool> reduced(from.size(), node.op.attributes.axes.empty());
  for (std::int64_t axis : node.op.attributes.axes) {
    reduced[static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(from.size())
                                              : axis)] = true;
  }
  Shape inner;
  for (std::size_t i = 0; i < from.size(); ++i) inner.push_back(reduced[i] ? from[i] : 1);
  const std::int64_t count = Product(inner);
  TW_RETURN_IF_ERROR(CheckReadCount(std::ssize(positions), count));
  const std::vector<std::int64_t> offsets = OffsetsIn(from, inner);
  Positions taken;
  for (std::int64_t position : positions) {
    const Shape kept = IndexAt(position, node.type.shape);
    Shape first(from.size(), 0);
    std::size_t next = 0;
    for (std::size_t d = 0; d < from.size(); ++d) {
      if (!reduced[d]) first[d] = kept[next];
      if (!reduced[d] || node.op.attributes.keepdims) ++next;
    }
    const std::int64_t begin = PositionOf(first, from);
    for (std::int64_t offset : offsets) taken.push_back(begin + offset);
  }
  TW_ASSIGN_OR_RETURN(auto read, At(node.inputs[0], taken));
  const BoundedTensor rows = InRows(*read, count, 2);
  Operator op{node.op.kind, {}};
  op.attributes.axes = {1};
  const BoundedTensor* const operand = &rows;
  TW_ASSIGN_OR_RETURN(auto result, EvaluateBounded(op, std::span(&operand, 1), 1));
  return Sample(std::make_shared<BoundedTensor>(std::move(result)));
}

/// softmax, log_softmax and lrn: one element depends on its whole row.
Result<SampledReference::Sample> SampledReference::OfRow(const Node& node,
                                                         std::span<const std::int64_t> positions) {
  const Shape& shape = node.type.shape;
  const bool lrn = node.op.kind == OpKind::kLrn;
  const std::int64_t given = lrn ? 1 : node.op.attributes.axis;
  const auto axis =
      static_cast<std::size_t>(given < 0 ? given + static_cast<std::int64_t>(shape.size()) : given);
  Shape inner(shape.size(), 1);  // of the row
  for (std::size_t i = axis; i < shape.size(); ++i) {
    if (i == axis || (!lrn && node.op.attributes.flatten)) inner[i] = shape[i];
  }
  const std::int64_t count = Product(inner);
  TW_RETURN_IF_ERROR(CheckReadCount(1, count));
  const std::vector<std::int64_t> offsets = OffsetsIn(shape, inner);
  Positions taken, picked;
  std::map<std::int64_t, std::int64_t> rows_taken;  // by the first element: which one it is
  for (std::int64_t position : positions) {
    Shape first = IndexAt(position, shape), in_row(shape.size(), 0);
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (inner[d] > 1) in_row[d] = std::exchange(first[d], 0);
    }
    const std::int64_t begin = PositionOf(first, shape);
    const auto [row, added] = rows_taken.emplace(begin, std::ssize(rows_taken));
    picked.push_back(row->second * count + PositionOf(in_row, inner));
    if (!added) continue;
    TW_RETURN_IF_ERROR(CheckReadCount(std::ssize(rows_taken), count));
    for (std::int64_t offset : offsets) taken.push_back(begin + offset);
  }
  TW_ASSIGN_OR_RETURN(auto read, At(node.inputs[0], taken));
  const BoundedTensor rows = InRows(*read, count, lrn ? 4 : 2);
  Operator op = node.op;
  op.attributes.axis = lrn ? op.attributes.axis : 1;
  op.attributes.flatten = false;
  const BoundedTensor* const operand = &rows;
  TW_ASSIGN_OR_RETURN(auto result, EvaluateBounded(op, std::span(&operand, 1), 1));
  return PickedFrom(result, picked);
}

Result<SampledReference::Sample> SampledReference::Normalized(
    const Node& node, std::span<const std::int64_t> positions) {
  const auto rank = static_cast<std::int64_t>(node.type.shape.size());
  const std::int64_t axis = node.op.attributes.axis;
  Positions channels;
  for (std::int64_t position : positions) {
    const Shape index = IndexAt(position, node.type.shape);
    channels.push_back(index[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)]);
  }
  std::vector<BoundedTensor> operands;
  operands.reserve(node.inputs.size());
  std::vector<const BoundedTensor*> pointers;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    TW_ASSIGN_OR_RETURN(auto read,
                        i == 0 ? At(node.inputs[i], positions) : At(node.inputs[i], channels));
    operands.push_back(InRows(*read, static_cast<std::int64_t>(positions.size()), 2));
    if (i > 0) operands.back().value.Reshape({static_cast<std::int64_t>(positions.size())});
    pointers.push_back(&operands.back());
  }
  Operator op = node.op;
  op.attributes.axis = 1;
  TW_ASSIGN_OR_RETURN(auto result, EvaluateBounded(op, pointers, 1));
  const auto count = static_cast<std::int64_t>(positions.size());
  result.value.Reshape({count});
  if (!result.exact()) result.error.Reshape({count});
  return Sample(std::make_shared<BoundedTensor>(std::move(result)));
}

}  // namespace tilewright
