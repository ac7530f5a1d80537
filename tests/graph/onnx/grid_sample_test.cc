// GridSample: the example of the ONNX documentation, and its definition written out for one
// position at a time.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/graph/one_operator.h"

namespace tilewright {
namespace {

namespace def = onnx_definitions;
using def::Array;

struct Rule {
  std::string mode, padding;
  bool align = false;
};

// Reflects `x` at the borders until it is between them.
double Bounced(double x, double low, double high) {
  if (low == high) return low;
  while (x < low || x > high) x = x < low ? 2 * low - x : 2 * high - x;
  return x;
}

// Returns the position of the element for `x`, or -1 for a zero.
std::int64_t Found(double x, std::int64_t size, const Rule& rule) {
  const auto last = static_cast<double>(size - 1);
  if (rule.padding == "zeros" && (x < 0 || x > last)) return -1;
  if (rule.padding == "reflection") {
    x = Bounced(x, rule.align ? 0 : -0.5, rule.align ? last : last + 0.5);
  }
  return static_cast<std::int64_t>(std::clamp(x, 0.0, last));
}

double Keys(double d) {
  d = std::abs(d);
  constexpr double a = -0.75;
  if (d <= 1) return (a + 2) * d * d * d - (a + 3) * d * d + 1;
  return d < 2 ? a * d * d * d - 5 * a * d * d + 8 * a * d - 4 * a : 0;
}

// Returns the weight of each element of a dimension for a grid position.
Doubles WeightsOf(double g, std::int64_t size, const Rule& rule) {
  const auto length = static_cast<double>(size);
  double x = rule.align ? (g + 1) / 2 * (length - 1) : ((g + 1) * length - 1) / 2;
  if (rule.mode == "nearest") x = std::nearbyint(x);
  Doubles weights(static_cast<std::size_t>(size), 0);
  for (int step = -1; step <= 2; ++step) {
    const double tap = std::floor(x) + step;
    double weight = tap == x ? 1 : 0;
    if (rule.mode == "linear") weight = std::max(0.0, 1 - std::abs(x - tap));
    if (rule.mode == "cubic") weight = Keys(x - tap);
    const std::int64_t place = Found(tap, size, rule);
    if (place >= 0) weights[static_cast<std::size_t>(place)] += weight;
  }
  return weights;
}

OneOperator OperatorOf(const Array& x, const Array& grid, const Rule& rule) {
  OneOperator sample("GridSample", x, 20);
  sample.With(grid).model().Text("mode", rule.mode).Text("padding_mode", rule.padding);
  sample.model().Int("align_corners", rule.align ? 1 : 0);
  return sample;
}

TEST(OnnxGridSample, AsDocumented) {
  Array x = Array::Filled({1, 1, 4, 4}), grid = Array::Filled({1, 6, 6, 2});
  for (std::size_t i = 0; i < x.v.size(); ++i) x.v[i] = static_cast<double>(i);
  def::ForEach({6, 6}, [&](const Ints& i) {
    grid.At({0, i[0], i[1], 0}) = -1 + 0.4 * static_cast<double>(i[1]);
    grid.At({0, i[0], i[1], 1}) = -1 + 0.4 * static_cast<double>(i[0]);
  });
  const Array expected{{1, 1, 6, 6},
                       {0,   0.15, 0.55, 0.95, 1.35, 0.75, 0.6, 1.5,  2.3,  3.1,  3.9,  2.1,
                        2.2, 4.7,  5.5,  6.3,  7.1,  3.7,  3.8, 7.9,  8.7,  9.5,  10.3, 5.3,
                        5.4, 11.1, 11.9, 12.7, 13.5, 6.9,  3,   6.15, 6.55, 6.95, 7.35, 3.75}};
  ExpectEqual(OperatorOf(x, grid, {"linear", "zeros"}).Run(), expected, 1e-5);
  OneOperator old("GridSample", x, 16);  // with the names and the default of its first opset
  ExpectEqual(old.With(grid).Run(), expected, 1e-5);
}

TEST(OnnxGridSample, EveryModeOfImages) {
  const Array x = Array::Made({2, 2, 4, 5}, 31, -20, 20);
  Array grid = Array::Made({2, 2, 5, 2}, 32, -170, 170);
  for (double& g : grid.v) g = (g + 0.3) / 100;  // up to almost twice the distance of the borders
  for (const char* mode : {"nearest", "linear", "cubic"}) {
    for (const char* padding : {"zeros", "border", "reflection"}) {
      for (const bool align : {false, true}) {
        SCOPED_TRACE(std::string(mode) + " " + padding + (align ? " aligned" : ""));
        const Rule rule{mode, padding, align};
        Array expected = Array::Filled({2, 2, 2, 5});
        def::ForEach(expected.shape, [&](const Ints& i) {
          const Doubles columns = WeightsOf(grid.At({i[0], i[2], i[3], 0}), 5, rule);
          const Doubles rows = WeightsOf(grid.At({i[0], i[2], i[3], 1}), 4, rule);
          def::ForEach({4, 5}, [&](const Ints& p) {
            expected.At(i) += x.At({i[0], i[1], p[0], p[1]}) *
                              rows[static_cast<std::size_t>(p[0])] *
                              columns[static_cast<std::size_t>(p[1])];
          });
        });
        ExpectEqual(OperatorOf(x, grid, rule).Run(), expected, 2e-5);
      }
    }
  }
}

TEST(OnnxGridSample, Volumes) {
  const Array x = Array::Made({1, 2, 3, 2, 4}, 33, -20, 20);
  Array grid = Array::Made({1, 2, 1, 9, 3}, 34, -120, 120);
  for (double& g : grid.v) g = (g + 0.3) / 100;
  for (const char* mode : {"nearest", "linear"}) {
    const Rule rule{mode, "zeros"};
    Array expected = Array::Filled({1, 2, 2, 1, 9});
    def::ForEach(expected.shape, [&](const Ints& i) {
      const auto along = [&](std::int64_t axis, std::int64_t size) {
        return WeightsOf(grid.At({0, i[2], i[3], i[4], axis}), size, rule);
      };
      const Doubles columns = along(0, 4), rows = along(1, 2), planes = along(2, 3);
      def::ForEach({3, 2, 4}, [&](const Ints& p) {
        expected.At(i) +=
            x.At({0, i[1], p[0], p[1], p[2]}) * planes[static_cast<std::size_t>(p[0])] *
            rows[static_cast<std::size_t>(p[1])] * columns[static_cast<std::size_t>(p[2])];
      });
    });
    ExpectEqual(OperatorOf(x, grid, rule).Run(), expected, 2e-5);
  }
}

// One row, whose borders coincide if align_corners is set. NaN positions read zeros.
TEST(OnnxGridSample, OddPositions) {
  const Array x{{1, 1, 1, 2}, {3, 5}}, grid{{1, 1, 2, 2}, {-1, 7, 1, -7}};
  ExpectEqual(OperatorOf(x, grid, {"nearest", "reflection", true}).Run(), {{1, 1, 1, 2}, {3, 5}});
  const Array odd{{1, 1, 2, 2}, {std::nan(""), 0, 1e30, 0}};
  ExpectEqual(OperatorOf(x, odd, {"nearest", "zeros"}).Run(), {{1, 1, 1, 2}, {0, 0}});
}

TEST(OnnxGridSample, OfIntegersAndHalves) {
  const Array x{{1, 1, 2, 2}, {1, 2, 3, 4}}, grid{{1, 1, 2, 2}, {-0.5, 0.5, 0, 0}};
  OneOperator integers("GridSample", x, 20, kInt32);
  integers.With(grid).model().Text("mode", "nearest").Int("align_corners", 1);
  ExpectEqual(integers.Run(), {{1, 1, 1, 2}, {3, 1}});
  OneOperator halves("GridSample", x, 20, kFloat16);
  ExpectEqual(halves.With(grid, kFloat16).Run(), {{1, 1, 1, 2}, {3, 2.5}});
}

}  // namespace
}  // namespace tilewright
