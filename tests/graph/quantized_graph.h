#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "src/graph/ir/graph.h"
#include "src/tensor/synthetic_data.h"

namespace tilewright {

/// An int8 network built layer by layer. Errors end the test. Weights are generated from the names.
class QuantizedGraph {
 public:
  int Input(const std::string& name, std::vector<std::int64_t> shape) {
    return graph.AddInput(name, TensorType{std::move(shape), kInt8});
  }
  int Op(const std::string& name, const Operator& op, std::vector<int> inputs) {
    auto id = graph.AddOperator(name, op, std::move(inputs));
    EXPECT_TRUE(id.ok()) << id.status().message();
    return *id;
  }
  int Op(const std::string& name, OpKind kind, std::vector<int> inputs) {
    return Op(name, Operator{kind, {}}, std::move(inputs));
  }
  int Cast(const std::string& name, DataType dtype, int input) {
    Operator op{OpKind::kCast, {}};
    op.attributes.dtype = dtype;
    return Op(name, op, {input});
  }
  int Scalar(const std::string& name, double value) {
    Tensor scalar(TensorType{{}, kInt32});
    scalar.Set(0, value);
    return graph.AddConstant(name, std::move(scalar));
  }
  /// Appends clip and cast to int8.
  int Narrow(const std::string& name, int value) {
    Operator clip{OpKind::kClip, {}};
    clip.attributes.a_min = -127;
    clip.attributes.a_max = 127;
    return Cast(name, kInt8, Op(name + "_clipped", clip, {value}));
  }

  struct Conv {
    std::int64_t channels = 16, kernel = 1, stride = 1, groups = 1;
    bool relu = true;
    int shift = 7;
  };
  /// Appends convolution, bias, relu, rounding, shift, clip and cast to int8.
  int Layer(const std::string& name, int data, const Conv& conv) {
    const std::int64_t channels_in = graph.node(data).type.shape[1];
    const TensorType type{{conv.channels, channels_in / conv.groups, conv.kernel, conv.kernel},
                          kInt8};
    Operator op{OpKind::kConv2d, {}};
    op.attributes.data_layout = "NCHW";
    op.attributes.kernel_layout = "OIHW";
    op.attributes.strides = {conv.stride, conv.stride};
    op.attributes.groups = conv.groups;
    const std::int64_t pad = conv.kernel / 2;
    op.attributes.padding = {pad, pad, pad, pad};
    return Requantized(name, Product(name, op, data, type), {conv.channels, 1, 1}, conv);
  }
  /// The same with a transposed convolution of kernel 4, which doubles the image size.
  int Doubling(const std::string& name, int data, const Conv& conv) {
    Operator op{OpKind::kConv2dTranspose, {}};
    op.attributes.data_layout = "NCHW";
    op.attributes.kernel_layout = "IOHW";
    op.attributes.strides = {2, 2};
    op.attributes.padding = {1, 1, 1, 1};
    const TensorType type{{graph.node(data).type.shape[1], conv.channels, 4, 4}, kInt8};
    return Requantized(name, Product(name, op, data, type), {conv.channels, 1, 1}, conv);
  }
  /// The same with a matrix product of rows.
  int Rows(const std::string& name, int data, const Conv& conv) {
    Operator op{OpKind::kDense, {}};
    op.attributes.data_layout = "MK";
    op.attributes.kernel_layout = "NK";
    const TensorType type{{conv.channels, graph.node(data).type.shape[1]}, kInt8};
    return Requantized(name, Product(name, op, data, type), {conv.channels}, conv);
  }
  int Product(const std::string& name, Operator op, int data, const TensorType& type) {
    op.attributes.dtype = kInt32;
    const int weight =
        graph.AddConstant(name + "_weight", MakeSeededInteger(name + "_weight", type, 20));
    return Op(name, op, {data, weight});
  }
  int Requantized(const std::string& name, int sum, const std::vector<std::int64_t>& bias_shape,
                  const Conv& conv) {
    const int bias = graph.AddConstant(
        name + "_bias", MakeSeededInteger(name + "_bias", TensorType{bias_shape, kInt32}, 1000));
    int value = Op(name + "_sum", OpKind::kAdd, {sum, bias});
    if (conv.relu) value = Op(name + "_relu", OpKind::kRelu, {value});
    const int half = Scalar(name + "_half", 1 << (conv.shift - 1));
    value = Op(name + "_moved", OpKind::kAdd, {value, half});
    value =
        Op(name + "_shifted", OpKind::kShiftRight, {value, Scalar(name + "_count", conv.shift)});
    return Narrow(name + "_int8", value);
  }
  /// Appends the sum of two int8 values, relu, clip and cast to int8.
  int Residual(const std::string& name, int a, int b) {
    const int sum =
        Op(name, OpKind::kAdd, {Cast(name + "_a", kInt32, a), Cast(name + "_b", kInt32, b)});
    return Narrow(name + "_int8", Op(name + "_relu", OpKind::kRelu, {sum}));
  }

  Graph graph;
};

/// Network with a layer of each kind: a first layer of 3 channels, padded and full channel blocks,
/// a residual, a depthwise layer, pooling and a concatenation. The output is int8.
inline Graph MakeQuantizedGraph(std::int64_t batch) {
  QuantizedGraph net;
  const int image = net.Input("image", {batch, 3, 12, 12});
  const int first = net.Layer("first", image, {.channels = 32, .kernel = 3, .stride = 2});
  const int wide = net.Layer("wide", first, {.channels = 32, .kernel = 3, .relu = false});
  const int sum = net.Residual("sum", first, wide);
  const int odd = net.Layer("odd", sum, {.channels = 24});
  const int odd_again = net.Layer("odd_again", odd, {.channels = 24, .relu = false});
  const int odd_sum = net.Residual("odd_sum", odd, odd_again);
  const int depthwise =
      net.Layer("depthwise", odd_sum, {.channels = 24, .kernel = 3, .groups = 24, .shift = 5});
  const int even = net.Layer("even", odd_sum, {.channels = 48, .stride = 2});
  Operator pool{OpKind::kMaxPool2d, {}};
  pool.attributes.pool_size = {3, 3};
  pool.attributes.strides = {2, 2};
  pool.attributes.padding = {1, 1, 1, 1};
  pool.attributes.data_layout = "NCHW";
  const int pooled = net.Op("pooled", pool, {sum});
  Operator concat{OpKind::kConcat, {}};
  concat.attributes.axis = 1;
  const int joined = net.Op("joined", concat, {even, pooled});
  const int last = net.Layer("last", joined, {.channels = 40});
  net.graph.SetOutputs({last, depthwise});
  net.graph.name = "quantized";
  return std::move(net.graph);
}

/// Products other than convolutions with one group: groups smaller than a block and groups of whole
/// blocks, a transposed convolution, and rows after a flattened image. The output is int8.
inline Graph MakeProductGraph(std::int64_t batch) {
  QuantizedGraph net;
  const int image = net.Input("image", {batch, 32, 3, 3});
  const int parts =
      net.Layer("parts", image, {.channels = 64, .kernel = 3, .groups = 8, .shift = 5});
  const int blocks =
      net.Layer("blocks", parts, {.channels = 64, .kernel = 3, .groups = 2, .shift = 6});
  const int doubled = net.Doubling("doubled", blocks, {.channels = 24, .relu = false});
  const int depthwise =
      net.Layer("depthwise", doubled, {.channels = 24, .kernel = 3, .groups = 24, .shift = 5});
  Operator pool{OpKind::kMaxPool2d, {}};
  pool.attributes.pool_size = {6, 6};
  pool.attributes.strides = {1, 1};
  pool.attributes.data_layout = "NCHW";
  Operator flatten{OpKind::kReshape, {}};
  flatten.attributes.new_shape = {batch, 24};
  const int flat = net.Op("flat", flatten, {net.Op("pooled", pool, {depthwise})});
  const int rows = net.Rows("rows", flat, {.channels = 40});
  const int more = net.Rows("more", rows, {.channels = 20, .relu = false});
  net.graph.SetOutputs({more, doubled});
  net.graph.name = "products";
  return std::move(net.graph);
}

}  // namespace tilewright
