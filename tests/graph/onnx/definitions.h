#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tilewright::onnx_definitions {

/// Definitions of ONNX operators, element by element as the specification states them, in double
/// precision and with plain loops. They use nothing from src/, because the tests compare src/ with
/// them.

using Ints = std::vector<std::int64_t>;

/// A row-major tensor of numbers.
struct Array {
  Ints shape;
  std::vector<double> v;

  static Array Filled(Ints shape, double value = 0);
  /// Returns integers low..high from a fixed sequence.
  static Array Made(Ints shape, int seed, double low, double high);
  std::int64_t size() const { return static_cast<std::int64_t>(v.size()); }
  double& At(const Ints& index);
  double At(const Ints& index) const;
  /// Returns one element of a four-dimensional array.
  double At(std::int64_t n, std::int64_t c, std::int64_t y, std::int64_t x) const {
    return v[static_cast<std::size_t>(((n * shape[1] + c) * shape[2] + y) * shape[3] + x)];
  }
};

/// Calls `visit` with every index of `shape`, the last dimension fastest.
void ForEach(const Ints& shape, const std::function<void(const Ints&)>& visit);

/// Attributes of a window over the last two dimensions; pads are top, left, bottom, right.
struct Window {
  Ints kernel = {1, 1}, strides = {1, 1}, pads = {0, 0, 0, 0}, dilations = {1, 1};
  std::string auto_pad = "NOTSET";
  std::int64_t group = 1;
  bool ceil_mode = false, count_include_pad = false;
  Ints output_padding = {0, 0}, output_shape = {};  ///< of transposed convolutions
};

/// Returns the window with the pads that auto_pad means for an image of these sizes.
Window Resolved(Window window, std::int64_t height, std::int64_t width);

/// sum (x - x_zero) * (w - w_zero[output channel]); padding counts as x_zero.
Array Conv(const Array& x, const Array& w, const Window& window, double x_zero = 0,
           const std::vector<double>& w_zero = {});
Array ConvTranspose(const Array& x, const Array& w, const Window& window);
Array MaxPool(const Array& x, const Window& window);
Array AveragePool(const Array& x, const Window& window);
/// alpha * op(a) * op(b) + beta * c, with c broadcast. An empty c means no addend.
Array Gemm(const Array& a, const Array& b, const Array& c, bool trans_a, bool trans_b, double alpha,
           double beta);
/// sum over k (a - a_zero[row]) * (b - b_zero[column]) over the last two dimensions, leading ones
/// broadcast. A single zero point applies to all rows or columns.
Array MatMul(const Array& a, const Array& b, const std::vector<double>& a_zero = {0},
             const std::vector<double>& b_zero = {0});
/// exp(x) / sum of exp, summed over `axis`, or over all dimensions from `axis` on.
Array Softmax(const Array& x, std::int64_t axis, bool from_axis_on);
Array BatchNormalization(const Array& x, const std::vector<double>& scale,
                         const std::vector<double>& bias, const std::vector<double>& mean,
                         const std::vector<double>& variance, double epsilon);
/// pads: leading pads of every dimension, then trailing ones; negative pads crop.
Array Pad(const Array& x, const Ints& pads, double value);
/// Adds one number to each index of dimension 1.
Array AddPerChannel(Array x, const std::vector<double>& bias);

/// Returns the range of an integer type by its name, "uint8" ….
std::pair<double, double> RangeOf(const std::string& type);
/// saturate(round half to even(x / scale) + zero). If there are several scales and zeros, they run
/// along `axis`. The division is in float32.
Array QuantizeLinear(const Array& x, const std::vector<double>& scale,
                     const std::vector<double>& zero, std::int64_t axis, const std::string& type);
Array DequantizeLinear(const Array& x, const std::vector<double>& scale,
                       const std::vector<double>& zero, std::int64_t axis);
/// Integer sums to quantized numbers: times x_scale * w_scale[channel] / y_scale, channels along
/// `axis`. The factor and the product are in float32.
Array Requantize(const Array& sums, double x_scale, const std::vector<double>& w_scale,
                 double y_scale, double y_zero, std::int64_t axis, const std::string& type);

}  // namespace tilewright::onnx_definitions
