// Indices of MaxPool, regions of images and determinants, compared with loops that define each
// operator.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "src/graph/ir/evaluate.h"
#include "src/graph/onnx/proto.h"
#include "tests/graph/one_operator.h"

namespace tilewright {
namespace {

namespace def = onnx_definitions;
using def::Array;
using def::Window;

// Returns the position in all of x of the first largest element of each window.
Array PlacesOfLargest(const Array& x, const Array& pooled, const Window& w, bool columns_first) {
  Array places = Array::Filled(pooled.shape);
  def::ForEach(pooled.shape, [&](const Ints& index) {
    double largest = -std::numeric_limits<double>::infinity();
    for (std::int64_t ky = 0; ky < w.kernel[0]; ++ky) {
      for (std::int64_t kx = 0; kx < w.kernel[1]; ++kx) {
        const std::int64_t y = index[2] * w.strides[0] + ky * w.dilations[0] - w.pads[0];
        const std::int64_t z = index[3] * w.strides[1] + kx * w.dilations[1] - w.pads[1];
        if (y < 0 || z < 0 || y >= x.shape[2] || z >= x.shape[3]) continue;
        const double value = x.At(index[0], index[1], y, z);
        if (value <= largest) continue;
        largest = value;
        const std::int64_t image = index[0] * x.shape[1] + index[1];
        const std::int64_t place = columns_first ? z * x.shape[2] + y : y * x.shape[3] + z;
        places.At(index) = static_cast<double>(image * x.shape[2] * x.shape[3] + place);
      }
    }
  });
  return places;
}

Tensor SecondOutput(OneOperator& op, const Array& x, DataType dtype = kFloat32) {
  op.model().proto().mutable_graph()->mutable_node(0)->add_output("places");
  op.model().proto().mutable_graph()->mutable_output(0)->set_name("places");
  auto graph = op.model().Import();
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  if (!graph.ok()) return Tensor(TensorType{{}, kInt64});
  const Tensor given = TensorOf(x, dtype);
  auto values = EvaluateGraph(*graph, std::span(&given, 1));
  EXPECT_TRUE(values.ok()) << values.status().message();
  return values.ok() ? std::move(values->front()) : Tensor(TensorType{{}, kInt64});
}

TEST(OnnxRegions, PlacesOfMaxPool) {
  // Few different numbers, all below zero: the data has ties, and padding must not count as an
  // element.
  const Array x = Array::Made({2, 3, 7, 5}, 3, -4, -1);
  Window padded{.kernel = {3, 2}, .strides = {2, 1}, .pads = {1, 1, 1, 0}};
  Window dilated{.kernel = {2, 2}, .dilations = {3, 2}};
  Window ceiled{.kernel = {3, 3}, .strides = {3, 3}, .pads = {1, 0, 0, 0}, .ceil_mode = true};
  for (const Window& window : {Window{.kernel = {2, 2}}, padded, dilated, ceiled}) {
    for (const bool columns_first : {false, true}) {
      OneOperator pool("MaxPool", x, 12);
      pool.Attributes(window, true);
      if (columns_first) pool.model().Int("storage_order", 1);
      const Array pooled = def::MaxPool(x, window);
      ExpectEqual(SecondOutput(pool, x), PlacesOfLargest(x, pooled, window, columns_first));
    }
  }
  OneOperator sequence("MaxPool", {{1, 2, 4}, {1, 3, 2, 2, 5, 4, 6, 6}}, 12);
  sequence.model().IntList("kernel_shape", {2}).IntList("strides", {2});
  ExpectEqual(SecondOutput(sequence, {{1, 2, 4}, {1, 3, 2, 2, 5, 4, 6, 6}}),
              {{1, 2, 2}, {1, 2, 4, 6}});
  OneOperator numbers("MaxPool", {{1, 1, 1, 3}, {0, 200, 200}}, 12, kUInt8);
  numbers.model().IntList("kernel_shape", {1, 2}).IntList("pads", {0, 1, 0, 1});
  ExpectEqual(SecondOutput(numbers, {{1, 1, 1, 3}, {0, 200, 200}}, kUInt8),
              {{1, 1, 1, 4}, {0, 1, 1, 2}});
}

struct RegionCase {
  bool largest = false, half_pixel = true;
  std::int64_t height = 3, width = 2, ratio = 2;
  double scale = 0.5;
};

// Interpolates between the neighbors of a position, or returns the largest of the weighted
// neighbors.
double SampleAt(const Array& x, std::int64_t n, std::int64_t c, double y, double z, bool largest) {
  const std::int64_t h = x.shape[2], w = x.shape[3];
  if (y < -1 || z < -1 || y > static_cast<double>(h) || z > static_cast<double>(w)) return 0;
  y = std::clamp(y, 0.0, static_cast<double>(h - 1));
  z = std::clamp(z, 0.0, static_cast<double>(w - 1));
  const auto top = static_cast<std::int64_t>(y), left = static_cast<std::int64_t>(z);
  const double dy = y - static_cast<double>(top), dz = z - static_cast<double>(left);
  double sum = 0, most = -std::numeric_limits<double>::infinity();
  for (int corner = 0; corner < 4; ++corner) {
    const std::int64_t row = std::min(top + corner / 2, h - 1);
    const std::int64_t column = std::min(left + corner % 2, w - 1);
    const double weight = (corner / 2 == 1 ? dy : 1 - dy) * (corner % 2 == 1 ? dz : 1 - dz);
    sum += weight * x.At(n, c, row, column);
    most = std::max(most, weight * x.At(n, c, row, column));
  }
  return largest ? most : sum;
}

Array RoiAlign(const Array& x, const Array& regions, const Ints& images, const RegionCase& how) {
  const auto count = static_cast<std::int64_t>(images.size());
  Array result = Array::Filled({count, x.shape[1], how.height, how.width});
  const double offset = how.half_pixel ? 0.5 : 0;
  const auto ratio = static_cast<double>(how.ratio);
  def::ForEach(result.shape, [&](const Ints& at) {
    const auto corner = [&](std::int64_t i) { return regions.At({at[0], i}) * how.scale - offset; };
    double height = corner(3) - corner(1), width = corner(2) - corner(0);
    if (!how.half_pixel) height = std::max(height, 1.0), width = std::max(width, 1.0);
    const double bin_height = height / static_cast<double>(how.height);
    const double bin_width = width / static_cast<double>(how.width);
    double sum = 0, most = -std::numeric_limits<double>::infinity();
    for (std::int64_t i = 0; i < how.ratio * how.ratio; ++i) {
      const double down = (static_cast<double>(i / how.ratio) + 0.5) / ratio;
      const double along = (static_cast<double>(i % how.ratio) + 0.5) / ratio;
      const double value =
          SampleAt(x, images[static_cast<std::size_t>(at[0])], at[1],
                   corner(1) + (static_cast<double>(at[2]) + down) * bin_height,
                   corner(0) + (static_cast<double>(at[3]) + along) * bin_width, how.largest);
      sum += value;
      most = std::max(most, value);
    }
    result.At(at) = how.largest ? most : sum / (ratio * ratio);
  });
  return result;
}

OneOperator RoiModel(const Array& x, const Array& regions, const Array& images,
                     const RegionCase& how) {
  OneOperator align("RoiAlign", x, 16);
  align.With(regions).With(images, kInt64);
  align.model().Text("mode", how.largest ? "max" : "avg");
  align.model().Text("coordinate_transformation_mode",
                     how.half_pixel ? "half_pixel" : "output_half_pixel");
  align.model().Int("output_height", how.height).Int("output_width", how.width);
  align.model().Int("sampling_ratio", how.ratio);
  align.model().Float("spatial_scale", static_cast<float>(how.scale));
  return align;
}

TEST(OnnxRegions, RoiAlign) {
  const Array x = Array::Made({2, 3, 6, 9}, 7, -9, 9);
  // Regions within the image, smaller than an element, across its borders, and outside of it.
  const Array regions{{5, 4},
                      {1, 2, 11, 9, 4, 4, 4.5, 4.25, -6, -3, 30, 20, 2, 13, 9, 30, 0, 0, 18, 12}};
  const Array images{{5}, {0, 1, 1, 0, 1}};
  for (const RegionCase& how :
       {RegionCase(), RegionCase{.half_pixel = false}, RegionCase{.largest = true},
        RegionCase{.height = 1, .width = 4, .ratio = 3, .scale = 1}}) {
    ExpectEqual(RoiModel(x, regions, images, how).Run(), RoiAlign(x, regions, {0, 1, 1, 0, 1}, how),
                2e-6);
  }
}

// Adaptive sampling: the number of samples along each dimension is the size of the region; a region
// of size zero has none.
RegionCase Adapted(RegionCase how, const Array& regions, std::int64_t region, bool rows) {
  const std::int64_t first = rows ? 1 : 0;
  double length = (regions.At({region, first + 2}) - regions.At({region, first})) * how.scale;
  if (!how.half_pixel) length = std::max(length, 1.0);
  const auto bins = static_cast<double>(rows ? how.height : how.width);
  how.ratio = std::max<std::int64_t>(static_cast<std::int64_t>(std::ceil(length / bins)), 0);
  return how;
}

TEST(OnnxRegions, RoiAlignOfAsManySamplesAsARegionIsLarge) {
  const Array x = Array::Made({2, 3, 6, 9}, 7, -9, 9);
  // Includes a region many times as large as the image, and one whose end is before its beginning.
  const Array regions{{7, 4}, {1, 2,  11, 9, 4,  4,  4.5, 4.25, -6, -3, 30,  20,  2,  13,
                               9, 30, 0,  0, 18, 12, 9,   9,    3,  3,  -80, -70, 90, 85}};
  const Ints images = {0, 1, 1, 0, 1, 0, 1};
  const Array which{{7}, {0, 1, 1, 0, 1, 0, 1}};
  for (const RegionCase& how :
       {RegionCase(), RegionCase{.half_pixel = false},
        RegionCase{.height = 1, .width = 4, .scale = 1}, RegionCase{.height = 7, .width = 7}}) {
    Array expected = Array::Filled({7, 3, how.height, how.width});
    def::ForEach(expected.shape, [&](const Ints& at) {
      const RegionCase rows = Adapted(how, regions, at[0], true);
      const RegionCase columns = Adapted(how, regions, at[0], false);
      const double offset = how.half_pixel ? 0.5 : 0;
      const auto place = [&](std::int64_t first, std::int64_t bins, std::int64_t bin,
                             std::int64_t sample, std::int64_t ratio) {
        const double begin = regions.At({at[0], first}) * how.scale - offset;
        double length = regions.At({at[0], first + 2}) * how.scale - offset - begin;
        if (!how.half_pixel) length = std::max(length, 1.0);
        const double part = (static_cast<double>(sample) + 0.5) / static_cast<double>(ratio);
        return begin + (static_cast<double>(bin) + part) * length / static_cast<double>(bins);
      };
      double sum = 0;
      for (std::int64_t i = 0; i < rows.ratio; ++i) {
        for (std::int64_t j = 0; j < columns.ratio; ++j) {
          sum += SampleAt(x, images[static_cast<std::size_t>(at[0])], at[1],
                          place(1, how.height, at[2], i, rows.ratio),
                          place(0, how.width, at[3], j, columns.ratio), false);
        }
      }
      const auto count = static_cast<double>(std::max<std::int64_t>(rows.ratio * columns.ratio, 1));
      expected.At(at) = sum / count;
    });
    RegionCase adaptive = how;
    adaptive.ratio = 0;
    ExpectEqual(RoiModel(x, regions, which, adaptive).Run(), expected, 1e-5);
  }
  const auto largest = RoiModel(x, regions, which, {.largest = true, .ratio = 0}).model().Import();
  ASSERT_FALSE(largest.ok());
  EXPECT_EQ(largest.status().code(), StatusCode::kUnsupported);
  EXPECT_NE(largest.status().message().find("sampling_ratio 0"), std::string::npos);
}

// Laplace expansion along the first row.
double Determinant(const Array& m) {
  const std::int64_t n = m.shape[0];
  if (n == 1) return m.v[0];
  double sum = 0;
  for (std::int64_t column = 0; column < n; ++column) {
    Array rest = Array::Filled({n - 1, n - 1});
    def::ForEach(rest.shape, [&](const Ints& at) {
      rest.At(at) = m.At({at[0] + 1, at[1] < column ? at[1] : at[1] + 1});
    });
    sum += (column % 2 == 0 ? 1 : -1) * m.At({0, column}) * Determinant(rest);
  }
  return sum;
}

TEST(OnnxRegions, Determinants) {
  for (std::int64_t n = 1; n <= 6; ++n) {
    const Array x = Array::Made({2, 3, n, n}, static_cast<int>(n), -3, 3);
    Array expected = Array::Filled({2, 3});
    for (std::size_t i = 0; i < 6; ++i) {
      Array one = Array::Filled({n, n});
      std::copy_n(x.v.begin() + static_cast<std::ptrdiff_t>(i * one.v.size()), one.v.size(),
                  one.v.begin());
      expected.v[i] = Determinant(one);
    }
    ExpectEqual(OneOperator("Det", x, 11).Run(), expected, 1e-5);
  }
  // One case needs a row exchange, one has a zero pivot.
  ExpectEqual(OneOperator("Det", {{2, 2}, {0, 2, 3, 1}}, 11).Run(), {{}, {-6}});
  ExpectEqual(OneOperator("Det", {{3, 3}, {0, 1, 2, 0, 3, 4, 0, 5, 6}}, 11).Run(), {{}, {0}});
  ExpectEqual(OneOperator("Det", {{1, 2, 2}, {1, 2, 2, 4}}, 11).Run(), {{1}, {0}});
  const auto wide = OneOperator("Det", Array::Filled({2, 3}), 11).model().Import();
  ASSERT_FALSE(wide.ok());
  EXPECT_EQ(wide.status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tilewright
