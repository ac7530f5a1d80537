// Resize, Upsample, and Pad with elements of the tensor: examples of the ONNX documentation, and
// all combinations of modes compared with the definitions of the modes.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/graph/one_operator.h"

namespace tilewright {
namespace {

namespace def = onnx_definitions;
using def::Array;

struct ResizeCase {
  const char* name;
  Array x;
  Doubles scales;  // used if sizes is empty
  Ints sizes;
  std::vector<std::pair<const char*, const char*>> text = {};  // attributes
  Array expected = {};
  double cubic_a = -0.75;
  bool exclude_outside = false;
};

Array Image(std::int64_t height, std::int64_t width, Doubles values) {
  return {{1, 1, height, width}, std::move(values)};
}

// 1, 2, 3 … row by row.
Array Counted(std::int64_t height, std::int64_t width) {
  Array image = Array::Filled({1, 1, height, width});
  for (std::size_t i = 0; i < image.v.size(); ++i) image.v[i] = static_cast<double>(i + 1);
  return image;
}

// Returns `rows` and `columns` of an image with 4 columns that counts from 1.
Array Picked(const Ints& rows, const Ints& columns) {
  Array image = Image(std::ssize(rows), std::ssize(columns), {});
  for (std::int64_t row : rows) {
    for (std::int64_t column : columns) {
      image.v.push_back(static_cast<double>(4 * (row - 1) + column));
    }
  }
  return image;
}

const std::pair<const char*, const char*> kLinear{"mode", "linear"}, kCubic{"mode", "cubic"};
std::pair<const char*, const char*> Coordinates(const char* mode) {
  return {"coordinate_transformation_mode", mode};
}
std::pair<const char*, const char*> Rounding(const char* mode) { return {"nearest_mode", mode}; }

// The examples of the documentation of Resize; of large results only the first row.
std::vector<ResizeCase> Documented() {
  return {
      {"scales_nearest_up", Counted(2, 2), {1, 1, 2, 3}, {}, {}, Image(4, 6, {1, 1, 1, 2, 2, 2,
                                                                              1, 1, 1, 2, 2, 2,
                                                                              3, 3, 3, 4, 4, 4,
                                                                              3, 3, 3, 4, 4, 4})},
      {"scales_nearest_down", Counted(2, 4), {1, 1, 0.6, 0.6}, {}, {}, Image(1, 2, {1, 3})},
      {"sizes_nearest_down", Counted(2, 4), {}, {1, 1, 1, 3}, {}, Image(1, 3, {1, 2, 4})},
      {"scales_linear_down",
       Counted(2, 4),
       {1, 1, 0.6, 0.6},
       {},
       {kLinear},
       Image(1, 2, {2.6666665, 4.3333331})},
      {"scales_linear_down_align_corners",
       Counted(2, 4),
       {1, 1, 0.6, 0.6},
       {},
       {kLinear, Coordinates("align_corners")},
       Image(1, 2, {1, 3.142857})},
      {"scales_linear_up",
       Counted(2, 2),
       {1, 1, 2, 2},
       {},
       {kLinear},
       Image(4, 4,
             {1, 1.25, 1.75, 2, 1.5, 1.75, 2.25, 2.5, 2.5, 2.75, 3.25, 3.5, 3, 3.25, 3.75, 4})},
      {"scales_linear_up_align_corners",
       Counted(2, 2),
       {1, 1, 2, 2},
       {},
       {kLinear, Coordinates("align_corners")},
       Image(4, 4,
             {1, 1.33333333, 1.66666667, 2, 1.66666667, 2, 2.33333333, 2.66666667, 2.33333333,
              2.66666667, 3, 3.33333333, 3, 3.33333333, 3.66666667, 4})},
      {"sizes_linear_down_pytorch_half_pixel",
       Counted(4, 4),
       {},
       {1, 1, 3, 1},
       {kLinear, Coordinates("pytorch_half_pixel")},
       Image(3, 1, {1.6666666, 7, 12.333333})},
      {"scales_linear_down_half_pixel_symmetric",
       Counted(1, 4),
       {1, 1, 1, 0.6},
       {},
       {kLinear, Coordinates("half_pixel_symmetric")},
       Image(1, 2, {1.6666667, 3.3333333})},
      {"sizes_nearest_ceil_half_pixel",
       Counted(4, 4),
       {},
       {1, 1, 8, 8},
       {Rounding("ceil")},
       Picked({1, 2, 2, 3, 3, 4, 4, 4}, {1, 2, 2, 3, 3, 4, 4, 4})},
      {"sizes_nearest_floor_align_corners",
       Counted(4, 4),
       {},
       {1, 1, 8, 8},
       {Rounding("floor"), Coordinates("align_corners")},
       Picked({1, 1, 1, 2, 2, 3, 3, 4}, {1, 1, 1, 2, 2, 3, 3, 4})},
      {"sizes_nearest_round_prefer_ceil_asymmetric",
       Counted(4, 4),
       {},
       {1, 1, 8, 8},
       {Rounding("round_prefer_ceil"), Coordinates("asymmetric")},
       Picked({1, 2, 2, 3, 3, 4, 4, 4}, {1, 2, 2, 3, 3, 4, 4, 4})},
      {"scales_cubic_down",
       Counted(4, 4),
       {1, 1, 0.8, 0.8},
       {},
       {kCubic},
       Image(3, 3,
             {1.47119141, 2.78125, 4.08251953, 6.71142578, 8.02148438, 9.32275391, 11.91650391,
              13.2265625, 14.52783203})},
      {"scales_cubic_up",
       Counted(4, 4),
       {1, 1, 2, 2},
       {},
       {kCubic},
       Image(8, 8,
             {0.47265625, 0.76953125, 1.24609375, 1.875, 2.28125, 2.91015625, 3.38671875,
              3.68359375})},
      {"scales_cubic_up_align_corners",
       Counted(4, 4),
       {1, 1, 2, 2},
       {},
       {kCubic, Coordinates("align_corners")},
       Image(8, 8, {1, 1.34110787, 1.80029155, 2.32944606, 2.67055394, 3.19970845, 3.65889213, 4})},
      {"scales_cubic_up_exclude_outside",
       Counted(4, 4),
       {1, 1, 2, 2},
       {},
       {kCubic},
       Image(8, 8,
             {0.55882353, 0.81494204, 1.35698249, 1.89705882, 2.39705882, 2.93713516, 3.47917561,
              3.73529412}),
       -0.5,
       true},
  };
}

OneOperator Resize(const ResizeCase& c) {
  OneOperator resize("Resize", c.x, 19);
  for (const auto& [name, value] : c.text) resize.model().Text(name, value);
  resize.model().Float("cubic_coeff_a", static_cast<float>(c.cubic_a));
  if (c.exclude_outside) resize.model().Int("exclude_outside", 1);
  resize.Skip();
  if (c.sizes.empty()) {
    resize.Vector(c.scales);
  } else {
    resize.Skip().List(c.sizes);
  }
  return resize;
}

TEST(OnnxResize, AsDocumented) {
  for (const ResizeCase& c : Documented()) {
    SCOPED_TRACE(c.name);
    const Tensor result = Resize(c).Run();
    ASSERT_EQ(result.shape(), c.expected.shape);
    for (std::size_t i = 0; i < c.expected.v.size(); ++i) {
      EXPECT_NEAR(result.At(static_cast<std::int64_t>(i)), c.expected.v[i], 2e-6) << i;
    }
  }
}

// Returns the input coordinate of output position `to`.
double PositionOf(const std::string& coordinates, double to, double from_size, double to_size,
                  double scale) {
  if (coordinates == "asymmetric") return to / scale;
  if (coordinates == "align_corners") {
    return to_size == 1 ? 0 : to * (from_size - 1) / (to_size - 1);
  }
  const double centre = (to + 0.5) / scale;
  if (coordinates == "tf_half_pixel_for_nn") return centre;
  if (coordinates == "pytorch_half_pixel" && to_size == 1) return 0;
  if (coordinates == "half_pixel_symmetric") {
    return centre - 0.5 + (from_size / 2) * (1 - to_size / (scale * from_size));
  }
  return centre - 0.5;
}

// Returns the weight of an element at distance `d`.
double Kernel(const std::string& mode, double d, double a) {
  d = std::abs(d);
  if (mode == "linear") return std::max(0.0, 1 - d);
  if (d <= 1) return (a + 2) * std::pow(d, 3) - (a + 3) * std::pow(d, 2) + 1;
  if (d < 2) return a * std::pow(d, 3) - 5 * a * std::pow(d, 2) + 8 * a * d - 4 * a;
  return 0;
}

double NearestOf(const std::string& rounding, double x) {
  const double below = std::floor(x), above = std::ceil(x);
  if (rounding == "floor") return below;
  if (rounding == "ceil") return above;
  if (x - below == above - x) return rounding == "round_prefer_floor" ? below : above;
  return x - below < above - x ? below : above;
}

// Returns the weight of every input element along one dimension for the output element at `x`.
Doubles PartsOf(const std::string& mode, const std::string& rounding, double x, std::int64_t size,
                double a, bool exclude_outside) {
  Doubles parts(static_cast<std::size_t>(size), 0);
  const auto inside = [&](double i) {
    return static_cast<std::size_t>(std::clamp(i, 0.0, static_cast<double>(size - 1)));
  };
  if (mode == "nearest") {
    parts[inside(NearestOf(rounding, x))] = 1;
    return parts;
  }
  double sum = 0;
  for (double i = std::floor(x) - 2; i <= std::floor(x) + 3; ++i) {
    if (exclude_outside && (i < 0 || i >= static_cast<double>(size))) continue;
    const double part = Kernel(mode, x - i, a);
    parts[inside(i)] += part;
    sum += part;
  }
  if (exclude_outside) {
    for (double& part : parts) part /= sum;
  }
  return parts;
}

const char* const kCoordinates[] = {"half_pixel",    "half_pixel_symmetric",
                                    "asymmetric",    "pytorch_half_pixel",
                                    "align_corners", "tf_half_pixel_for_nn"};

TEST(OnnxResize, EveryModeByItsMeaning) {
  const Array x = Array::Made({1, 2, 5, 4}, 31, -9, 9);
  const std::pair<const char*, const char*> kModes[] = {{"nearest", "round_prefer_floor"},
                                                        {"nearest", "round_prefer_ceil"},
                                                        {"nearest", "floor"},
                                                        {"nearest", "ceil"},
                                                        {"linear", "floor"},
                                                        {"cubic", "floor"}};
  for (const auto& [mode, rounding] : kModes) {
    for (const char* coordinates : kCoordinates) {
      for (const Ints& size : {Ints{10, 8}, Ints{7, 3}, Ints{1, 12}}) {
        for (const bool exclude : {false, true}) {
          SCOPED_TRACE(std::string(mode) + " " + rounding + " " + coordinates + " to " +
                       std::to_string(size[0]) + (exclude ? ", none outside" : ""));
          ResizeCase c{"", x, {}, {1, 2, size[0], size[1]}};
          c.text = {{"mode", mode}, Rounding(rounding), Coordinates(coordinates)};
          c.exclude_outside = exclude;
          Array expected = Array::Filled({1, 2, size[0], size[1]});
          const auto parts = [&](std::size_t dimension, std::int64_t to) {
            const auto from_size = static_cast<double>(x.shape[2 + dimension]);
            const auto to_size = static_cast<double>(size[dimension]);
            const double at = PositionOf(coordinates, static_cast<double>(to), from_size, to_size,
                                         to_size / from_size);
            return PartsOf(mode, rounding, at, x.shape[2 + dimension], c.cubic_a, exclude);
          };
          def::ForEach(expected.shape, [&](const Ints& o) {
            const Doubles rows = parts(0, o[2]), columns = parts(1, o[3]);
            for (std::int64_t i = 0; i < 5; ++i) {
              for (std::int64_t j = 0; j < 4; ++j) {
                expected.At(o) += rows[static_cast<std::size_t>(i)] *
                                  columns[static_cast<std::size_t>(j)] * x.At(0, o[1], i, j);
              }
            }
          });
          ExpectEqual(Resize(c).Run(), expected, 1e-5);
        }
      }
    }
  }
}

// Returns the weight of each element of a dimension for output position x, with antialiasing: the
// kernel covers all input elements that map to one output element, and the weights sum to 1.
Doubles SmoothPartsOf(const std::string& mode, double x, std::int64_t size, double scale, double a,
                      bool exclude_outside) {
  Doubles parts(static_cast<std::size_t>(size));
  const double stretch = std::min(scale, 1.0), reach = 2 / stretch;
  double sum = 0;
  for (double i = std::floor(x - reach); i <= std::ceil(x + reach); ++i) {
    const bool outside = i < 0 || i >= static_cast<double>(size);
    if (exclude_outside && outside) continue;
    const double part = Kernel(mode, (x - i) * stretch, a);
    const double place = std::clamp(i, 0.0, static_cast<double>(size - 1));
    parts[static_cast<std::size_t>(place)] += part;
    sum += part;
  }
  for (double& part : parts) part /= sum;
  return parts;
}

TEST(OnnxResize, Antialiased) {
  const Array x = Array::Made({1, 2, 13, 40}, 34, -9, 9);
  for (const char* mode : {"linear", "cubic"}) {
    for (const char* coordinates : {"half_pixel", "align_corners", "asymmetric"}) {
      // Few taps, and enough taps that they become a matrix product. The first case also enlarges a
      // dimension.
      for (const Ints& size : {Ints{17, 19}, Ints{6, 3}}) {
        for (const bool exclude : {false, true}) {
          SCOPED_TRACE(std::string(mode) + " " + coordinates + " to " + std::to_string(size[0]));
          ResizeCase c{"", x, {}, {1, 2, size[0], size[1]}};
          c.text = {{"mode", mode}, Coordinates(coordinates)};
          c.exclude_outside = exclude;
          const auto parts = [&](std::size_t dimension, std::int64_t to) {
            const auto from_size = static_cast<double>(x.shape[2 + dimension]);
            const auto to_size = static_cast<double>(size[dimension]);
            const double scale = to_size / from_size;
            const double at =
                PositionOf(coordinates, static_cast<double>(to), from_size, to_size, scale);
            return scale < 1
                       ? SmoothPartsOf(mode, at, x.shape[2 + dimension], scale, c.cubic_a, exclude)
                       : PartsOf(mode, "floor", at, x.shape[2 + dimension], c.cubic_a, exclude);
          };
          Array expected = Array::Filled({1, 2, size[0], size[1]});
          def::ForEach(expected.shape, [&](const Ints& o) {
            const Doubles rows = parts(0, o[2]), columns = parts(1, o[3]);
            for (std::int64_t i = 0; i < 13; ++i) {
              for (std::int64_t j = 0; j < 40; ++j) {
                expected.At(o) += rows[static_cast<std::size_t>(i)] *
                                  columns[static_cast<std::size_t>(j)] * x.At(0, o[1], i, j);
              }
            }
          });
          OneOperator resize = Resize(c);
          resize.model().Int("antialias", 1);
          ExpectEqual(resize.Run(), expected, 2e-5);
        }
      }
    }
  }
}

// Results are rounded after each dimension, ties upwards.
TEST(OnnxResize, AntialiasedIntegersAreRounded) {
  OneOperator resize("Resize", {{1, 1, 2, 4}, {0, 10, 20, 31, 100, 255, 3, 4}}, 18, kUInt8);
  resize.Skip().Skip().List({1, 1, 1, 2}).model().Text("mode", "linear").Int("antialias", 1);
  ExpectEqual(resize.Run(), {{1, 1, 1, 2}, {76, 30}});
}

TEST(OnnxResize, AxesAndAspectRatio) {
  const Array x = Counted(2, 2);
  const auto run = [&](const char* policy, const Ints& axes, const Ints& sizes) {
    OneOperator resize("Resize", x, 18);
    resize.model().Text("keep_aspect_ratio_policy", policy).IntList("axes", axes);
    return resize.Skip().Skip().List(sizes).Run().shape();
  };
  EXPECT_EQ(run("stretch", {2, 3}, {7, 8}), (Ints{1, 1, 7, 8}));
  EXPECT_EQ(run("stretch", {3, -2}, {7, 8}), (Ints{1, 1, 8, 7}));
  EXPECT_EQ(run("not_larger", {2, 3}, {7, 8}), (Ints{1, 1, 7, 7}));
  EXPECT_EQ(run("not_smaller", {2, 3}, {7, 8}), (Ints{1, 1, 8, 8}));
}

TEST(OnnxResize, BeforeSet11) {
  const Array x = Counted(2, 2);
  const Array nearest =
      Image(4, 6, {1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 3, 3, 3, 4, 4, 4});
  const Array linear = Image(2, 4, {1, 1.5, 2, 2, 3, 3.5, 4, 4});  // positions 0, 0.5, 1, 1.5
  OneOperator seven("Upsample", x, 7);
  seven.model().FloatList("scales", {1, 1, 2, 3});
  ExpectEqual(seven.Run(), nearest);
  ExpectEqual(OneOperator("Upsample", x, 9).Vector({1, 1, 2, 3}).Run(), nearest);
  ExpectEqual(OneOperator("Resize", x, 10).Vector({1, 1, 2, 3}).Run(), nearest);
  OneOperator between("Resize", x, 10);
  between.Vector({1, 1, 1, 2}).model().Text("mode", "linear");
  ExpectEqual(between.Run(), linear);
  OneOperator empty("Resize", x, 11);  // as PyTorch wrote it: sizes, and zero-size scales
  empty.With({{0}, {}}).With({{0}, {}}).List({1, 1, 4, 6}).model().Text("mode", "nearest");
  empty.model().Text("coordinate_transformation_mode", "asymmetric").Text("nearest_mode", "floor");
  ExpectEqual(empty.Run(), nearest);
}

TEST(OnnxResize, NearestNeighboursOfIntegers) {
  const Array x = Array::Made({1, 2, 3, 3}, 32, -128, 127);
  OneOperator resize("Resize", x, 13, kInt8);
  resize.Skip().Skip().List({1, 2, 6, 6});
  Array expected = Array::Filled({1, 2, 6, 6});
  def::ForEach(expected.shape,
               [&](const Ints& o) { expected.At(o) = x.At(0, o[1], o[2] / 2, o[3] / 2); });
  ExpectEqual(resize.Run(), expected);
}

// Returns the source index of position `i` of a padded dimension: the element at the edge, the
// wrapped one, or the reflected one.
std::int64_t SourceOf(const std::string& mode, std::int64_t i, std::int64_t size) {
  if (mode == "edge") return std::clamp<std::int64_t>(i, 0, size - 1);
  while (i < 0 || i >= size) {
    if (mode == "wrap") {
      i += i < 0 ? size : -size;
    } else {
      i = i < 0 ? -i : 2 * (size - 1) - i;
    }
  }
  return i;
}

TEST(OnnxPad, WithItsOwnElements) {
  const Array x = Array::Made({1, 2, 4, 3}, 33, -9, 9);
  for (const char* mode : {"reflect", "edge", "wrap"}) {
    // The second case wraps around the dimension more than once.
    for (const Ints& pads : {Ints{0, 0, 2, 1, 0, 0, 1, 2}, Ints{0, 1, 7, 0, 0, 0, 0, 5}}) {
      SCOPED_TRACE(mode);
      Array expected =
          Array::Filled({1, 2 + pads[1] + pads[5], 4 + pads[2] + pads[6], 3 + pads[3] + pads[7]});
      def::ForEach(expected.shape, [&](const Ints& o) {
        Ints from(4);
        for (std::size_t d = 0; d < 4; ++d) {
          from[d] = SourceOf(mode, o[d] - pads[d], x.shape[d]);
        }
        expected.At(o) = x.At(from);
      });
      OneOperator pad("Pad", x, 19);
      pad.List(pads).model().Text("mode", mode);
      ExpectEqual(pad.Run(), expected);
      OneOperator old("Pad", x, 10);
      old.model().Text("mode", mode).IntList("pads", pads);
      ExpectEqual(old.Run(), expected);
    }
  }
  // Cropped first, then reflected.
  OneOperator crop("Pad", {{3}, {1, 2, 3}}, 13);
  crop.List({-1, 1}).model().Text("mode", "reflect");
  ExpectEqual(crop.Run(), {{3}, {2, 3, 2}});
}

}  // namespace
}  // namespace tilewright
