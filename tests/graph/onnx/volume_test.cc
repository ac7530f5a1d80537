// Windows over volumes, against loops over every output element and tap.

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

// Sizes of the output, rounded down.
Ints OutputsOf(const Ints& shape, const Volume& v) {
  Ints outputs;
  for (std::size_t d = 0; d < 3; ++d) {
    const std::int64_t reach = (v.kernel[d] - 1) * v.dilations[d] + 1;
    const std::int64_t room = shape[2 + d] + v.pads[d] + v.pads[3 + d] - reach;
    outputs.push_back(room / v.strides[d] + 1);
  }
  return outputs;
}

// Calls `visit(tap, place in the volume, whether it is inside)` for the window at output `at`.
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

OneOperator OperatorOf(const char* name, const Array& x, const Volume& v) {
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
      OneOperator conv = OperatorOf("Conv", x, v);
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
      OneOperator average = OperatorOf("AveragePool", x, v);
      average.model().Int("count_include_pad", counted ? 1 : 0);
      ExpectEqual(average.Run(), mean, 1e-5);
      ExpectEqual(OperatorOf("MaxPool", x, v).Run(), most);
    }
  }
}

// The last window reaches beyond the volume in every dimension.
TEST(OnnxVolume, PoolRoundedUp) {
  const Volume v{.kernel = {2, 2, 2}, .strides = {2, 2, 2}};
  const Array x = Array::Made({1, 1, 3, 3, 3}, 25, -90, 90);
  Array most = Array::Filled({1, 1, 2, 2, 2}, -1000);
  def::ForEach(x.shape, [&](const Ints& i) {
    double& largest = most.At({0, 0, i[2] / 2, i[3] / 2, i[4] / 2});
    largest = std::max(largest, x.At(i));
  });
  OneOperator pool = OperatorOf("MaxPool", x, v);
  pool.model().Int("ceil_mode", 1);
  ExpectEqual(pool.Run(), most);
}

}  // namespace
}  // namespace tilewright
