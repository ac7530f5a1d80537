// Windows over volumes, compared with loops over every output element and tap.

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "tests/graph/one_operator.h"

namespace tilewright {
namespace {

namespace def = onnx_definitions;
using def::Array;

struct Volume {
  Ints kernel;
  Ints strides = {1, 1, 1}, dilations = {1, 1, 1}, pads = {0, 0, 0, 0, 0, 0};
};

// Returns the sizes of the output, rounded down.
Ints OutputsOf(const Ints& shape, const Volume& v) {
  Ints outputs;
  for (std::size_t d = 0; d < 3; ++d) {
    const std::int64_t reach = (v.kernel[d] - 1) * v.dilations[d] + 1;
    const std::int64_t room = shape[2 + d] + v.pads[d] + v.pads[3 + d] - reach;
    outputs.push_back(room / v.strides[d] + 1);
  }
  return outputs;
}

// Calls `visit(tap, position in the volume, whether it is inside)` for the window at output `at`.
template <typename Visit>
void ForTapsOf(const Volume& v, const Ints& shape, const Ints& at, const Visit& visit) {
  def::ForEach(v.kernel, [&](const Ints& tap) {
    Ints place(3);
    bool inside = true;
    for (std::size_t d = 0; d < 3; ++d) {
      place[d] = at[2 + d] * v.strides[d] + tap[d] * v.dilations[d] - v.pads[d];
      inside = inside && place[d] >= 0 && place[d] < shape[2 + d];
    }
    visit(tap, place, inside);
  });
}

OneOperator VolumeOperator(const char* name, const Array& x, const Volume& v) {
  OneOperator op(name, x, 19);
  op.model().IntList("kernel_shape", v.kernel).IntList("strides", v.strides);
  op.model().IntList("dilations", v.dilations).IntList("pads", v.pads);
  return op;
}

const Volume kVolumes[] = {
    {.kernel = {2, 3, 3}},
    {.kernel = {3, 1, 2}, .pads = {1, 0, 0, 1, 0, 1}},
    {.kernel = {3, 3, 2}, .strides = {2, 1, 2}, .pads = {1, 1, 0, 0, 1, 1}},
    {.kernel = {2, 2, 2}, .strides = {1, 2, 1}, .dilations = {3, 1, 2}, .pads = {0, 1, 0, 1, 0, 0}},
};

TEST(OnnxVolume, Convolution) {
  const Array x = Array::Made({2, 4, 5, 6, 4}, 21, -9, 9);
  for (const Volume& v : kVolumes) {
    for (const std::int64_t group : {1, 2, 4}) {
      const std::int64_t depth = 4 / group, channels = group == 4 ? 8 : 6;
      const Array weight =
          Array::Made({channels, depth, v.kernel[0], v.kernel[1], v.kernel[2]}, 22, -5, 5);
      const Array bias = Array::Made({channels}, 23, -50, 50);
      const Ints outputs = OutputsOf(x.shape, v);
      Array expected = Array::Filled({2, channels, outputs[0], outputs[1], outputs[2]});
      def::ForEach(expected.shape, [&](const Ints& at) {
        double sum = bias.At({at[1]});
        ForTapsOf(v, x.shape, at, [&](const Ints& tap, const Ints& p, bool inside) {
          for (std::int64_t c = 0; inside && c < depth; ++c) {
            const std::int64_t channel = at[1] / (channels / group) * depth + c;
            sum += x.At({at[0], channel, p[0], p[1], p[2]}) *
                   weight.At({at[1], c, tap[0], tap[1], tap[2]});
          }
        });
        expected.At(at) = sum;
      });
      OneOperator conv = VolumeOperator("Conv", x, v);
      conv.With(weight).With(bias).model().Int("group", group);
      ExpectEqual(conv.Run(), expected);
    }
  }
}

TEST(OnnxVolume, ConvolutionWithAutomaticPadding) {
  const Array x{{1, 1, 2, 1, 1}, {3, 5}}, weight{{1, 1, 2, 1, 1}, {10, 1}};
  OneOperator upper("Conv", x, 19), lower("Conv", x, 19), valid("Conv", x, 19);
  upper.With(weight).model().Text("auto_pad", "SAME_UPPER");
  ExpectEqual(upper.Run(), {{1, 1, 2, 1, 1}, {35, 50}});
  lower.With(weight).model().Text("auto_pad", "SAME_LOWER");
  ExpectEqual(lower.Run(), {{1, 1, 2, 1, 1}, {3, 35}});
  valid.With(weight).model().Text("auto_pad", "VALID");
  ExpectEqual(valid.Run(), {{1, 1, 1, 1, 1}, {35}});
}

TEST(OnnxVolume, Pools) {
  const Array x = Array::Made({2, 3, 5, 6, 4}, 24, -90, 90);
  for (const Volume& v : kVolumes) {
    for (const bool counted : {false, true}) {
      const Ints outputs = OutputsOf(x.shape, v);
      Array most = Array::Filled({2, 3, outputs[0], outputs[1], outputs[2]}), mean = most;
      def::ForEach(most.shape, [&](const Ints& at) {
        double largest = -std::numeric_limits<double>::infinity(), sum = 0, count = 0;
        ForTapsOf(v, x.shape, at, [&](const Ints&, const Ints& p, bool inside) {
          if (inside || counted) ++count;
          if (!inside) return;
          largest = std::max(largest, x.At({at[0], at[1], p[0], p[1], p[2]}));
          sum += x.At({at[0], at[1], p[0], p[1], p[2]});
        });
        most.At(at) = largest;
        mean.At(at) = sum / count;
      });
      OneOperator average = VolumeOperator("AveragePool", x, v);
      average.model().Int("count_include_pad", counted ? 1 : 0);
      ExpectEqual(average.Run(), mean, 1e-5);
      ExpectEqual(VolumeOperator("MaxPool", x, v).Run(), most);
    }
  }
}

// The last window extends beyond the volume in every dimension.
TEST(OnnxVolume, PoolRoundedUp) {
  const Volume v{.kernel = {2, 2, 2}, .strides = {2, 2, 2}};
  const Array x = Array::Made({1, 1, 3, 3, 3}, 25, -90, 90);
  Array most = Array::Filled({1, 1, 2, 2, 2}, -1000);
  def::ForEach(x.shape, [&](const Ints& i) {
    double& largest = most.At({0, 0, i[2] / 2, i[3] / 2, i[4] / 2});
    largest = std::max(largest, x.At(i));
  });
  OneOperator pool = VolumeOperator("MaxPool", x, v);
  pool.model().Int("ceil_mode", 1);
  ExpectEqual(pool.Run(), most);
}

// Adds every element of the data, times the window, at its positions; the weight is
// [I,O/group,kd,kh,kw].
Array Spread(const Array& x, const Array& w, const Volume& v, const Ints& outputs,
             std::int64_t group) {
  const std::int64_t in = w.shape[0] / group, out = w.shape[1];
  Array result = Array::Filled({x.shape[0], out * group, outputs[0], outputs[1], outputs[2]});
  def::ForEach(x.shape, [&](const Ints& at) {
    def::ForEach({out, v.kernel[0], v.kernel[1], v.kernel[2]}, [&](const Ints& tap) {
      Ints place = {at[0], at[1] / in * out + tap[0], 0, 0, 0};
      bool inside = true;
      for (std::size_t d = 0; d < 3; ++d) {
        place[2 + d] = at[2 + d] * v.strides[d] + tap[1 + d] * v.dilations[d] - v.pads[d];
        inside = inside && place[2 + d] >= 0 && place[2 + d] < outputs[d];
      }
      if (inside) result.At(place) += x.At(at) * w.At({at[1], tap[0], tap[1], tap[2], tap[3]});
    });
  });
  return result;
}

TEST(OnnxVolume, TransposedConvolution) {
  const Array x = Array::Made({2, 4, 3, 2, 3}, 31, -9, 9);
  for (Volume v : kVolumes) {
    if (v.kernel[1] > 2) v.strides = {2, 3, 1};
    for (const std::int64_t group : {1, 2, 4}) {
      const Array w = Array::Made({4, 3, v.kernel[0], v.kernel[1], v.kernel[2]}, 32, -5, 5);
      const Array bias = Array::Made({3 * group}, 33, -50, 50);
      const Ints extra = {v.strides[0] - 1, 0, v.strides[2] - 1};
      Ints outputs;
      for (std::size_t d = 0; d < 3; ++d) {
        outputs.push_back((x.shape[2 + d] - 1) * v.strides[d] + extra[d] +
                          (v.kernel[d] - 1) * v.dilations[d] + 1 - v.pads[d] - v.pads[3 + d]);
      }
      OneOperator conv("ConvTranspose", x, 19);
      conv.model().IntList("strides", v.strides).IntList("dilations", v.dilations);
      conv.model().IntList("pads", v.pads).IntList("output_padding", extra).Int("group", group);
      conv.With(w).With(bias);
      ExpectEqual(conv.Run(), def::AddPerChannel(Spread(x, w, v, outputs, group), bias.v));
    }
  }
}

// Pads follow from the output sizes. Elements that no window reaches contain only the bias.
TEST(OnnxVolume, TransposedConvolutionToAShape) {
  const Array x = Array::Made({1, 2, 3, 3, 2}, 34, -9, 9);
  const Array w = Array::Made({2, 2, 3, 2, 3}, 35, -5, 5), bias{{2}, {10, 20}};
  const Ints outputs = {6, 9, 5};
  const Volume lower{.kernel = {3, 2, 3}, .strides = {2, 2, 2}, .pads = {1, 0, 0, 0, 0, 0}};
  const Volume upper{.kernel = {3, 2, 3}, .strides = {2, 2, 2}};
  for (const bool is_upper : {false, true}) {
    OneOperator conv("ConvTranspose", x, 19);
    conv.model().IntList("strides", {2, 2, 2}).IntList("output_shape", outputs);
    if (is_upper) conv.model().Text("auto_pad", "SAME_UPPER");
    conv.With(w).With(bias);
    ExpectEqual(conv.Run(),
                def::AddPerChannel(Spread(x, w, is_upper ? upper : lower, outputs, 1), bias.v));
  }
  OneOperator row("ConvTranspose", {{1, 1, 2}, {1, 2}}, 19);
  row.With({{1, 1, 2}, {1, 10}}).With({{1}, {100}});
  row.model().IntList("strides", {2}).IntList("output_shape", {7});
  ExpectEqual(row.Run(), {{1, 1, 7}, {101, 110, 102, 120, 100, 100, 100}});
}

// sum (x - 3) * (w - zero of the channel), with a padding of 3.
TEST(OnnxVolume, ConvolutionOfIntegers) {
  const Array x = Array::Made({2, 4, 4, 3, 4}, 36, 0, 255);
  for (const Volume& v : kVolumes) {
    const Array w = Array::Made({4, 2, v.kernel[0], v.kernel[1], v.kernel[2]}, 37, 0, 255);
    const Ints outputs = OutputsOf(x.shape, v);
    const auto sums = [&](const Doubles& zeros) {
      Array result = Array::Filled({2, 4, outputs[0], outputs[1], outputs[2]});
      def::ForEach(result.shape, [&](const Ints& at) {
        ForTapsOf(v, x.shape, at, [&](const Ints& tap, const Ints& p, bool inside) {
          for (std::int64_t c = 0; inside && c < 2; ++c) {
            const double zero = zeros[zeros.size() == 1 ? 0 : static_cast<std::size_t>(at[1])];
            result.At(at) += (x.At({at[0], at[1] / 2 * 2 + c, p[0], p[1], p[2]}) - 3) *
                             (w.At({at[1], c, tap[0], tap[1], tap[2]}) - zero);
          }
        });
      });
      return result;
    };
    const auto window = [&](OneOperator& op) {
      op.model().IntList("strides", v.strides).IntList("dilations", v.dilations);
      op.model().IntList("pads", v.pads).Int("group", 2);
    };
    OneOperator integer("ConvInteger", x, 10, kUInt8);
    window(integer);
    integer.With(w, kUInt8).Scalar(3, kUInt8).Scalar(100, kUInt8);
    ExpectEqual(integer.Run(), sums({100}));
    OneOperator linear("QLinearConv", x, 10, kUInt8);
    window(linear);
    const Doubles scales = {0.5, 0.25, 1, 2};
    linear.Scalar(0.5).Scalar(3, kUInt8).With(w, kUInt8).Vector(scales);
    linear.Vector({100, 120, 90, 255}, kUInt8).Scalar(256).Scalar(20, kUInt8);
    linear.Vector({1, 2000, -3000, 4}, kInt32);
    const Array moved = def::AddPerChannel(sums({100, 120, 90, 255}), {1, 2000, -3000, 4});
    ExpectEqual(linear.Run(), def::Requantize(moved, 0.5, scales, 256, 20, 1, "uint8"));
  }
}

}  // namespace
}  // namespace tilewright
