// With padding `before`, tap t adds data element i to result position
//   o = i * stride + t - before.
// So position o takes tap t = p + stride * j of element i = q - j, where p = (o + before) mod
// stride and q = (o + before) div stride. There are two ways to number the elements of a phase:
//   - by q: all phases read the same elements, so one convolution computes them all. Interleaved
//     they have `before mod stride` elements too many at the start, and some at the end.
//   - by o div stride: there is nothing to crop. Phases with different q for the same element need
//     convolutions with different padding, but each has the taps that it needs.

#include "src/graph/passes/transposed_phases.h"

#include <algorithm>

#include "src/base/math.h"

namespace tilewright {
namespace {

// Lanes of a vector: channels of the result take as much time as the next multiple.
constexpr std::int64_t kLanes = 16;
// Products that take as long as the start of another kernel.
constexpr std::int64_t kProductsOfKernel = 200'000;
// Products that take as long as the copy of an element that removes the elements to crop.
constexpr std::int64_t kProductsOfCopy = 10;
constexpr std::size_t kMaxParts = 64;

struct Extents {
  std::int64_t kernel, stride, dilation, before, data, result;
};

PhaseDimension Empty(const Extents& e) {
  PhaseDimension d;
  d.stride = e.stride;
  d.dilation = e.dilation;
  d.taps = CeilDiv(e.kernel, e.stride);
  return d;
}

// Padding of the range for elements that read data from `first` (its last tap) on.
PhaseRange RangeAt(const Extents& e, std::int64_t first_tap, std::int64_t count, std::int64_t taps,
                   std::int64_t position, std::int64_t outputs) {
  const std::int64_t before = (taps - 1) * e.dilation - position;
  return {first_tap, count, taps, before, position + outputs - e.data};
}

// Elements numbered by q.
PhaseDimension SharedWindow(const Extents& e) {
  PhaseDimension d = Empty(e);
  const std::int64_t first = e.before / e.stride, last = (e.result - 1 + e.before) / e.stride;
  d.outputs = last - first + 1;
  d.crop = e.before - first * e.stride;
  d.ranges.push_back(RangeAt(e, 0, e.stride, d.taps, first, d.outputs));
  return d;
}

// Elements numbered by o div stride. single: one range for each phase.
PhaseDimension OwnWindows(const Extents& e, bool single) {
  PhaseDimension d = Empty(e);
  d.outputs = CeilDiv(e.result, e.stride);
  for (std::int64_t phase = 0; phase < e.stride; ++phase) {
    const std::int64_t tap = (phase + e.before) % e.stride;
    const std::int64_t position = (phase + e.before) / e.stride;
    const std::int64_t taps = std::max<std::int64_t>(1, CeilDiv(e.kernel - tap, e.stride));
    const PhaseRange range = RangeAt(e, tap, 1, taps, position, d.outputs);
    const bool joins = !single && !d.ranges.empty() && d.ranges.back().taps == taps &&
                       d.ranges.back().before == range.before && tap != 0;
    if (joins) {
      ++d.ranges.back().count;
    } else {
      d.ranges.push_back(range);
    }
  }
  return d;
}

// Returns the time of a split in products. products: for each pixel, tap and channel of the result.
std::int64_t CostOf(const TransposedPhases& phases, const TensorType& result,
                    std::int64_t products) {
  const PhaseDimension &rows = phases.rows, &columns = phases.columns;
  const bool cropped = rows.outputs * rows.stride != result.shape[2] ||
                       columns.outputs * columns.stride != result.shape[3];
  std::int64_t cost = cropped ? result.elements() * kProductsOfCopy : 0;
  const std::int64_t pixels = phases.rows.outputs * phases.columns.outputs;
  for (const PhaseRange& row : phases.rows.ranges) {
    for (const PhaseRange& column : phases.columns.ranges) {
      const std::int64_t vectors = RoundUp(row.count * column.count * result.shape[1], kLanes);
      cost += pixels * row.taps * column.taps * vectors * products + kProductsOfKernel;
    }
  }
  return cost;
}

// Returns whether a range of phases reads no element: all are padding.
bool ReadsNothing(const PhaseDimension& dimension, std::int64_t data) {
  return std::ranges::any_of(dimension.ranges, [data](const PhaseRange& range) {
    const auto unused = [](std::int64_t padding) { return std::max<std::int64_t>(0, -padding); };
    return unused(range.before) + unused(range.after) >= data;
  });
}

bool HasPlainLayouts(const OpAttributes& a) {
  return (a.data_layout.empty() || a.data_layout == "NCHW") &&
         (a.kernel_layout.empty() || a.kernel_layout == "IOHW");
}

}  // namespace

std::int64_t TapDistance(const Operator& op, std::size_t dimension) {
  return op.attributes.strides[dimension] > 1 ? op.attributes.dilation[dimension] : 1;
}

std::optional<TransposedPhases> PhasesOf(const Operator& op, const TensorType& data,
                                         const TensorType& weight, const TensorType& result) {
  const OpAttributes& a = op.attributes;
  if (op.kind != OpKind::kConv2dTranspose || !HasPlainLayouts(a)) return std::nullopt;
  if (data.shape.size() != 4 || weight.shape.size() != 4) return std::nullopt;
  std::array<Extents, 2> extents{};
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t spread = TapDistance(op, i);
    extents[i] = {(weight.shape[2 + i] - 1) * spread + 1,
                  a.strides[i],
                  a.dilation[i] / spread,
                  a.padding[i],
                  data.shape[2 + i],
                  result.shape[2 + i]};
  }
  const bool single = a.groups > 1;  // the channels of a group stay together
  const std::int64_t products = data.shape[0] * data.shape[1] / a.groups;
  std::optional<TransposedPhases> best;
  std::int64_t best_cost = 0;
  for (const PhaseDimension& columns : {SharedWindow(extents[1]), OwnWindows(extents[1], single)}) {
    const bool row_by_row = single || columns.ranges.size() > 1;
    for (const PhaseDimension& rows :
         {SharedWindow(extents[0]), OwnWindows(extents[0], row_by_row)}) {
      const bool whole = rows.ranges[0].count == 1 && columns.ranges[0].count == 1;
      if (single && !whole) continue;
      if (row_by_row && rows.ranges[0].count > 1) continue;
      if (ReadsNothing(rows, extents[0].data) || ReadsNothing(columns, extents[1].data)) continue;
      const TransposedPhases phases{rows, columns};
      const std::int64_t cost = CostOf(phases, result, products);
      if (phases.parts() > kMaxParts || (best && cost >= best_cost)) continue;
      best = phases;
      best_cost = cost;
    }
  }
  return best;
}

}  // namespace tilewright
