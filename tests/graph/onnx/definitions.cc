#include "tests/graph/onnx/definitions.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tilewright::onnx_definitions {
namespace {

std::int64_t Offset(const Ints& shape, const Ints& index) {
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) offset = offset * shape[i] + index[i];
  return offset;
}

std::int64_t SizeOf(const Ints& shape) {
  std::int64_t size = 1;
  for (std::int64_t extent : shape) size *= extent;
  return size;
}

/// Size of a pooled or convolved dimension `d` (0 height, 1 width).
std::int64_t WindowOutputs(std::int64_t extent, const Window& w, std::size_t d) {
  const std::int64_t reach = (w.kernel[d] - 1) * w.dilations[d] + 1;
  const std::int64_t room = extent + w.pads[d] + w.pads[2 + d] - reach;
  if (!w.ceil_mode) return room / w.strides[d] + 1;
  const std::int64_t outputs = (room + w.strides[d] - 1) / w.strides[d] + 1;
  // A window that begins after the image and its leading padding does not count.
  return (outputs - 1) * w.strides[d] >= extent + w.pads[d] ? outputs - 1 : outputs;
}

/// Calls `visit(y, x)` with the position of every tap of a window, also if it is outside the image.
template <typename Visit>
void ForTaps(const Window& w, std::int64_t oy, std::int64_t ox, const Visit& visit) {
  for (std::int64_t r = 0; r < w.kernel[0]; ++r) {
    for (std::int64_t s = 0; s < w.kernel[1]; ++s) {
      visit(oy * w.strides[0] - w.pads[0] + r * w.dilations[0],
            ox * w.strides[1] - w.pads[1] + s * w.dilations[1]);
    }
  }
}

bool Inside(const Array& x, std::int64_t y, std::int64_t col) {
  return y >= 0 && col >= 0 && y < x.shape[2] && col < x.shape[3];
}

double One(const std::vector<double>& values, std::int64_t index) {
  return values.size() == 1 ? values[0] : values[static_cast<std::size_t>(index)];
}

double Saturated(double value, const std::string& type) {
  const auto [low, high] = RangeOf(type);
  return std::clamp(value, low, high);
}

}  // namespace

Array Array::Filled(Ints shape, double value) {
  Array array{std::move(shape), {}};
  array.v.assign(static_cast<std::size_t>(SizeOf(array.shape)), value);
  return array;
}

Array Array::Made(Ints shape, int seed, double low, double high) {
  Array array = Filled(std::move(shape));
  auto state = static_cast<std::uint64_t>(seed) * 2654435761U + 12345;
  const auto count = static_cast<std::uint64_t>(high - low + 1);
  for (double& value : array.v) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    value = low + static_cast<double>((state >> 33) % count);
  }
  return array;
}

double& Array::At(const Ints& index) { return v[static_cast<std::size_t>(Offset(shape, index))]; }
double Array::At(const Ints& index) const {
  return v[static_cast<std::size_t>(Offset(shape, index))];
}

void ForEach(const Ints& shape, const std::function<void(const Ints&)>& visit) {
  Ints index(shape.size(), 0);
  for (std::int64_t i = 0; i < SizeOf(shape); ++i) {
    visit(index);
    for (std::size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d]) break;
      index[d] = 0;
    }
  }
}

Window Resolved(Window window, std::int64_t height, std::int64_t width) {
  if (window.auto_pad == "NOTSET") return window;
  window.pads = {0, 0, 0, 0};
  if (window.auto_pad == "VALID") return window;
  const Ints extents = {height, width};
  for (std::size_t d = 0; d < 2; ++d) {
    const std::int64_t outputs = (extents[d] + window.strides[d] - 1) / window.strides[d];
    const std::int64_t reach = (window.kernel[d] - 1) * window.dilations[d] + 1;
    const std::int64_t total =
        std::max<std::int64_t>((outputs - 1) * window.strides[d] + reach - extents[d], 0);
    const std::int64_t less = total / 2, more = total - less;
    const bool upper = window.auto_pad == "SAME_UPPER";  // the odd element goes to the end
    window.pads[d] = upper ? less : more;
    window.pads[2 + d] = upper ? more : less;
  }
  return window;
}

Array Conv(const Array& x, const Array& w, const Window& given, double x_zero,
           const std::vector<double>& w_zero) {
  Window window = given;
  window.kernel = {w.shape[2], w.shape[3]};
  window = Resolved(window, x.shape[2], x.shape[3]);
  const std::int64_t per_group = w.shape[0] / window.group;
  Array y = Array::Filled({x.shape[0], w.shape[0], WindowOutputs(x.shape[2], window, 0),
                           WindowOutputs(x.shape[3], window, 1)});
  ForEach(y.shape, [&](const Ints& o) {
    double sum = 0;
    for (std::int64_t c = 0; c < w.shape[1]; ++c) {
      std::int64_t tap = 0;
      ForTaps(window, o[2], o[3], [&](std::int64_t row, std::int64_t col) {
        const double weight = w.At(o[1], c, tap / w.shape[3], tap % w.shape[3]);
        const double zero = w_zero.empty() ? 0 : One(w_zero, o[1]);
        ++tap;
        if (!Inside(x, row, col)) return;
        const std::int64_t channel = o[1] / per_group * w.shape[1] + c;
        sum += (x.At(o[0], channel, row, col) - x_zero) * (weight - zero);
      });
    }
    y.At(o) = sum;
  });
  return y;
}

Array ConvTranspose(const Array& x, const Array& w, const Window& given) {
  Window window = given;
  window.kernel = {w.shape[2], w.shape[3]};
  Ints sizes(2);
  for (std::size_t d = 0; d < 2; ++d) {
    const std::int64_t whole = window.strides[d] * (x.shape[2 + d] - 1) + window.output_padding[d] +
                               (window.kernel[d] - 1) * window.dilations[d] + 1;
    const bool same = window.auto_pad.starts_with("SAME");
    if (window.auto_pad == "VALID") window.pads[d] = window.pads[2 + d] = 0;
    if (same || !window.output_shape.empty()) {
      const std::int64_t wanted =
          window.output_shape.empty() ? x.shape[2 + d] * window.strides[d] : window.output_shape[d];
      const std::int64_t total = whole - wanted;
      window.pads[d] = window.auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
      window.pads[2 + d] = total - window.pads[d];
    }
    sizes[d] = whole - window.pads[d] - window.pads[2 + d];
  }
  const std::int64_t outputs = w.shape[1], inputs = x.shape[1] / window.group;
  Array y = Array::Filled({x.shape[0], outputs * window.group, sizes[0], sizes[1]});
  ForEach(x.shape, [&](const Ints& i) {
    for (std::int64_t k = 0; k < outputs; ++k) {
      for (std::int64_t r = 0; r < w.shape[2]; ++r) {
        for (std::int64_t s = 0; s < w.shape[3]; ++s) {
          const std::int64_t row =
              i[2] * window.strides[0] + r * window.dilations[0] - window.pads[0];
          const std::int64_t col =
              i[3] * window.strides[1] + s * window.dilations[1] - window.pads[1];
          if (row < 0 || col < 0 || row >= sizes[0] || col >= sizes[1]) continue;
          y.At({i[0], i[1] / inputs * outputs + k, row, col}) += x.At(i) * w.At(i[1], k, r, s);
        }
      }
    }
  });
  return y;
}

Array MaxPool(const Array& x, const Window& given) {
  const Window window = Resolved(given, x.shape[2], x.shape[3]);
  Array y = Array::Filled({x.shape[0], x.shape[1], WindowOutputs(x.shape[2], window, 0),
                           WindowOutputs(x.shape[3], window, 1)},
                          -std::numeric_limits<double>::infinity());
  ForEach(y.shape, [&](const Ints& o) {
    ForTaps(window, o[2], o[3], [&](std::int64_t row, std::int64_t col) {
      if (Inside(x, row, col)) y.At(o) = std::max(y.At(o), x.At(o[0], o[1], row, col));
    });
  });
  return y;
}

Array AveragePool(const Array& x, const Window& given) {
  const Window window = Resolved(given, x.shape[2], x.shape[3]);
  Array y = Array::Filled({x.shape[0], x.shape[1], WindowOutputs(x.shape[2], window, 0),
                           WindowOutputs(x.shape[3], window, 1)});
  ForEach(y.shape, [&](const Ints& o) {
    double sum = 0, count = 0;
    ForTaps(window, o[2], o[3], [&](std::int64_t row, std::int64_t col) {
      const bool padded = row >= -window.pads[0] && col >= -window.pads[1] &&
                          row < x.shape[2] + window.pads[2] && col < x.shape[3] + window.pads[3];
      if (Inside(x, row, col)) sum += x.At(o[0], o[1], row, col);
      if (Inside(x, row, col) || (window.count_include_pad && padded)) ++count;
    });
    y.At(o) = sum / count;
  });
  return y;
}

Array Gemm(const Array& a, const Array& b, const Array& c, bool trans_a, bool trans_b, double alpha,
           double beta) {
  const std::int64_t rows = a.shape[trans_a ? 1 : 0], depth = a.shape[trans_a ? 0 : 1];
  const std::int64_t columns = b.shape[trans_b ? 0 : 1];
  Array y = Array::Filled({rows, columns});
  ForEach(y.shape, [&](const Ints& o) {
    double sum = 0;
    for (std::int64_t k = 0; k < depth; ++k) {
      sum += a.At(trans_a ? Ints{k, o[0]} : Ints{o[0], k}) *
             b.At(trans_b ? Ints{o[1], k} : Ints{k, o[1]});
    }
    double added = 0;
    if (!c.v.empty()) {
      Ints index = o;  // the trailing dimensions of o; 0 where c has one element
      index.erase(index.begin(), index.end() - static_cast<std::ptrdiff_t>(c.shape.size()));
      for (std::size_t d = 0; d < index.size(); ++d) {
        if (c.shape[d] == 1) index[d] = 0;
      }
      added = beta * c.At(index);
    }
    y.At(o) = alpha * sum + added;
  });
  return y;
}

Array MatMul(const Array& a, const Array& b, const std::vector<double>& a_zero,
             const std::vector<double>& b_zero) {
  const std::size_t rank_a = a.shape.size(), rank_b = b.shape.size();
  Ints shape = rank_a > rank_b ? a.shape : b.shape;
  const std::size_t rank = shape.size();
  const std::int64_t depth = a.shape.back();
  shape[rank - 2] = a.shape[rank_a - 2];
  shape[rank - 1] = b.shape.back();
  const auto at = [&](const Array& operand, const Ints& o, std::int64_t row, std::int64_t column) {
    Ints index(o.end() - static_cast<std::ptrdiff_t>(operand.shape.size()), o.end());
    for (std::size_t d = 0; d < index.size(); ++d) {
      if (operand.shape[d] == 1) index[d] = 0;
    }
    index[index.size() - 2] = row;
    index[index.size() - 1] = column;
    return operand.At(index);
  };
  for (std::size_t d = 0; d + 2 < std::min(rank_a, rank_b); ++d) {
    std::int64_t& extent = shape[rank - 3 - d];
    extent = std::max(a.shape[rank_a - 3 - d], b.shape[rank_b - 3 - d]);
  }
  Array y = Array::Filled(shape);
  ForEach(shape, [&](const Ints& o) {
    const std::int64_t m = o[rank - 2], n = o[rank - 1];
    for (std::int64_t k = 0; k < depth; ++k) {
      y.At(o) += (at(a, o, m, k) - One(a_zero, m)) * (at(b, o, k, n) - One(b_zero, n));
    }
  });
  return y;
}

Array Softmax(const Array& x, std::int64_t axis, bool from_axis_on) {
  Array y = x;
  const auto at = static_cast<std::size_t>(axis);
  ForEach(x.shape, [&](const Ints& o) {
    double sum = 0;
    ForEach(x.shape, [&](const Ints& i) {
      bool together = true;
      for (std::size_t d = 0; d < i.size(); ++d) {
        const bool summed = from_axis_on ? d >= at : d == at;
        together &= summed || i[d] == o[d];
      }
      if (together) sum += std::exp(x.At(i));
    });
    y.At(o) = std::exp(x.At(o)) / sum;
  });
  return y;
}

Array BatchNormalization(const Array& x, const std::vector<double>& scale,
                         const std::vector<double>& bias, const std::vector<double>& mean,
                         const std::vector<double>& variance, double epsilon) {
  Array y = x;
  ForEach(x.shape, [&](const Ints& o) {
    const auto c = static_cast<std::size_t>(o[1]);
    y.At(o) = (x.At(o) - mean[c]) / std::sqrt(variance[c] + epsilon) * scale[c] + bias[c];
  });
  return y;
}

Array Pad(const Array& x, const Ints& pads, double value) {
  const std::size_t rank = x.shape.size();
  Ints shape = x.shape;
  for (std::size_t d = 0; d < rank; ++d) shape[d] += pads[d] + pads[rank + d];
  Array y = Array::Filled(shape, value);
  ForEach(shape, [&](const Ints& o) {
    Ints source = o;
    bool inside = true;
    for (std::size_t d = 0; d < rank; ++d) {
      source[d] -= pads[d];
      inside &= source[d] >= 0 && source[d] < x.shape[d];
    }
    if (inside) y.At(o) = x.At(source);
  });
  return y;
}

Array AddPerChannel(Array x, const std::vector<double>& bias) {
  ForEach(x.shape, [&](const Ints& o) { x.At(o) += One(bias, o[1]); });
  return x;
}

std::pair<double, double> RangeOf(const std::string& type) {
  if (type == "uint8") return {0, 255};
  if (type == "int8") return {-128, 127};
  if (type == "uint16") return {0, 65535};
  if (type == "int16") return {-32768, 32767};
  return {-2147483648.0, 2147483647.0};
}

Array QuantizeLinear(const Array& x, const std::vector<double>& scale,
                     const std::vector<double>& zero, std::int64_t axis, const std::string& type) {
  Array y = x;
  ForEach(x.shape, [&](const Ints& o) {
    const std::int64_t channel = o[static_cast<std::size_t>(axis)];
    const float quotient = static_cast<float>(x.At(o)) / static_cast<float>(One(scale, channel));
    y.At(o) = Saturated(static_cast<double>(std::nearbyint(quotient)) + One(zero, channel), type);
  });
  return y;
}

Array DequantizeLinear(const Array& x, const std::vector<double>& scale,
                       const std::vector<double>& zero, std::int64_t axis) {
  Array y = x;
  ForEach(x.shape, [&](const Ints& o) {
    const std::int64_t channel = o[static_cast<std::size_t>(axis)];
    y.At(o) = (x.At(o) - One(zero, channel)) * One(scale, channel);
  });
  return y;
}

Array Requantize(const Array& sums, double x_scale, const std::vector<double>& w_scale,
                 double y_scale, double y_zero, std::int64_t axis, const std::string& type) {
  Array y = sums;
  ForEach(sums.shape, [&](const Ints& o) {
    const double w = One(w_scale, o[static_cast<std::size_t>(axis)]);
    const float factor =
        static_cast<float>(x_scale) * static_cast<float>(w) / static_cast<float>(y_scale);
    const float scaled = static_cast<float>(sums.At(o)) * factor;
    y.At(o) = Saturated(static_cast<double>(std::nearbyint(scaled)) + y_zero, type);
  });
  return y;
}

}  // namespace tilewright::onnx_definitions
