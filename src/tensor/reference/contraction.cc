// Reference convolutions and matrix products. Floats multiply and accumulate in double, integers in
// 32 bits that wrap. The images are copied into rows x columns x channels with their padding, the
// weights into blocks of 16 output channels. The rest is one of three inner loops (kernels.inc). A
// transposed convolution is an ordinary one over the image with zeros between its elements, under
// the reversed kernel.
#include <algorithm>
#include <array>

#include "src/base/thread.h"
#include "src/tensor/layout.h"
#include "src/tensor/operator_table.h"
#include "src/tensor/reference/internal.h"
#include "src/tensor/reference/kernels.h"

namespace tilewright::reference {
namespace {

const AllReferenceKernels& ChooseKernels() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) {
    return kAvx512ReferenceKernels;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return kAvx2ReferenceKernels;
  }
#endif
  return kGenericReferenceKernels;
}

template <typename T>
const ReferenceKernels<T>& KernelsFor() {
  if constexpr (std::is_same_v<T, double>)
    return ChooseKernels().real;
  else
    return ChooseKernels().integer;
}

/// Computes to[i] = from[begin + i] in the type of the sums.
template <typename T>
void Widen(const Tensor& from, std::int64_t begin, std::int64_t count, T* to) {
  VisitType(from.dtype(), [&]<typename S>() {
    const S* source = from.As<S>().data() + begin;
    if constexpr (std::is_same_v<T, double>) {
      for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<double>(source[i]);
    } else {
      for (std::int64_t i = 0; i < count; ++i) {
        to[i] = static_cast<T>(static_cast<std::int64_t>(source[i]));
      }
    }
  });
}

/// Stores sums as elements of `to` from `begin` on.
template <typename T>
void Narrow(const T* from, std::int64_t count, Tensor& to, std::int64_t begin) {
  VisitType(to.dtype(), [&]<typename S>() {
    S* target = to.As<S>().data() + begin;
    for (std::int64_t i = 0; i < count; ++i) target[i] = static_cast<S>(from[i]);
  });
}

/// Sizes of the equivalent convolution with stride over an image whose padding is in memory.
struct Geometry {
  ConvShape s;
  bool transposed = false;
  std::int64_t in_per_group, out_per_group;
  std::int64_t image_h, image_w;    // with padding and inserted zeros
  std::int64_t before_h, before_w;  // position of the first element; negative: cut off
  std::int64_t spread_h, spread_w;  // distance of elements in the image
  std::int64_t stride_h, stride_w;
  bool depthwise = false;  // one input channel per output channel
  std::int64_t channels;   // of the image in memory
};

Geometry GeometryOf(const Workload& w) {
  Geometry g{};
  g.s = *ConvShapeOf(w);
  const ConvShape& s = g.s;
  g.transposed = w.op == OpKind::kConv2dTranspose;
  g.in_per_group = s.c / s.groups;
  g.out_per_group = s.k / s.groups;
  g.depthwise = s.groups > 1 && g.in_per_group == 1;
  const std::int64_t reach_h = s.dilation_h * (s.r - 1), reach_w = s.dilation_w * (s.s - 1);
  g.before_h = g.transposed ? reach_h - s.pad_top : s.pad_top;
  g.before_w = g.transposed ? reach_w - s.pad_left : s.pad_left;
  g.spread_h = g.transposed ? s.stride_h : 1;
  g.spread_w = g.transposed ? s.stride_w : 1;
  g.stride_h = g.transposed ? 1 : s.stride_h;
  g.stride_w = g.transposed ? 1 : s.stride_w;
  g.image_h = (s.oh - 1) * g.stride_h + reach_h + 1;
  g.image_w = (s.ow - 1) * g.stride_w + reach_w + 1;
  g.channels = g.depthwise ? RoundUp(s.k, kReferenceBlock) : s.c;
  return g;
}

/// Returns image `n` of data in NHWC, padded. Depthwise: with a channel for every output channel.
template <typename T>
std::vector<T> PaddedImage(const Geometry& g, const Tensor& data, std::int64_t n) {
  std::vector<T> image(static_cast<std::size_t>(g.image_h * g.image_w * g.channels), T{0});
  std::vector<T> pixel(static_cast<std::size_t>(g.s.c));
  for (std::int64_t h = 0; h < g.s.h; ++h) {
    const std::int64_t row = h * g.spread_h + g.before_h;
    if (row < 0 || row >= g.image_h) continue;
    for (std::int64_t w = 0; w < g.s.w; ++w) {
      const std::int64_t column = w * g.spread_w + g.before_w;
      if (column < 0 || column >= g.image_w) continue;
      T* to = image.data() + (row * g.image_w + column) * g.channels;
      const std::int64_t from = ((n * g.s.h + h) * g.s.w + w) * g.s.c;
      if (!g.depthwise) {
        Widen(data, from, g.s.c, to);
        continue;
      }
      Widen(data, from, g.s.c, pixel.data());
      for (std::int64_t k = 0; k < g.s.k; ++k) {
        to[k] = pixel[static_cast<std::size_t>(k / g.out_per_group)];
      }
    }
  }
  return image;
}

/// Returns the weight of output channel k and channel c of its group at tap (r, s), from HWIO
/// order.
template <typename T>
class Weights {
 public:
  Weights(const Geometry& g, const Tensor& weight) : g_(g), values_(Count(weight)) {
    Widen(weight, 0, weight.elements(), values_.data());
    inputs_ = weight.shape()[2];
    outputs_ = weight.shape()[3];
  }
  T At(std::int64_t k, std::int64_t c, std::int64_t r, std::int64_t s) const {
    std::int64_t input = c, output = k;
    if (g_.transposed) {
      r = g_.s.r - 1 - r;
      s = g_.s.s - 1 - s;
      input = k / g_.out_per_group * g_.in_per_group + c;
      output = k % g_.out_per_group;
    }
    const std::int64_t index = ((r * g_.s.s + s) * inputs_ + input) * outputs_ + output;
    return values_[static_cast<std::size_t>(index)];
  }

 private:
  static std::size_t Count(const Tensor& weight) {
    return static_cast<std::size_t>(weight.elements());
  }
  const Geometry& g_;
  std::vector<T> values_;
  std::int64_t inputs_ = 0, outputs_ = 0;
};

/// Returns the weights of a depthwise convolution as [tap][channel].
template <typename T>
std::vector<T> DepthwiseWeights(const Geometry& g, const Weights<T>& weights) {
  std::vector<T> packed(static_cast<std::size_t>(g.s.r * g.s.s * g.channels), T{0});
  T* to = packed.data();
  for (std::int64_t r = 0; r < g.s.r; ++r) {
    for (std::int64_t s = 0; s < g.s.s; ++s, to += g.channels) {
      for (std::int64_t k = 0; k < g.s.k; ++k) to[k] = weights.At(k, 0, r, s);
    }
  }
  return packed;
}

/// Returns the weights as [group][block of outputs][tap][channel][output in block], zeros in
/// partial blocks.
template <typename T>
std::vector<T> BlockedWeights(const Geometry& g, const Weights<T>& weights) {
  const std::int64_t blocks = CeilDiv(g.out_per_group, kReferenceBlock);
  const std::int64_t block_size = g.s.r * g.s.s * g.in_per_group * kReferenceBlock;
  std::vector<T> packed(static_cast<std::size_t>(g.s.groups * blocks * block_size), T{0});
  for (std::int64_t unit = 0; unit < g.s.groups * blocks; ++unit) {
    const std::int64_t first = unit % blocks * kReferenceBlock;
    const std::int64_t lanes = std::min<std::int64_t>(kReferenceBlock, g.out_per_group - first);
    const std::int64_t k = unit / blocks * g.out_per_group + first;
    T* to = packed.data() + unit * block_size;
    for (std::int64_t r = 0; r < g.s.r; ++r) {
      for (std::int64_t s = 0; s < g.s.s; ++s) {
        for (std::int64_t c = 0; c < g.in_per_group; ++c, to += kReferenceBlock) {
          for (std::int64_t lane = 0; lane < lanes; ++lane) {
            to[lane] = weights.At(k + lane, c, r, s);
          }
        }
      }
    }
  }
  return packed;
}

template <typename T>
void ConvolveImage(const Geometry& g, const std::vector<T>& image, const std::vector<T>& weight,
                   int threads, Tensor& out, std::int64_t n) {
  const std::int64_t blocks = CeilDiv(g.out_per_group, kReferenceBlock);
  const std::int64_t block_size = g.s.r * g.s.s * g.in_per_group * kReferenceBlock;
  const ReferenceWindow window{g.s.r,
                               g.s.s,
                               g.depthwise ? g.channels : g.in_per_group,
                               static_cast<std::ptrdiff_t>(g.s.dilation_h * g.image_w * g.channels),
                               static_cast<std::ptrdiff_t>(g.s.dilation_w * g.channels),
                               static_cast<std::ptrdiff_t>(g.stride_w * g.channels)};
  const std::int64_t units = g.depthwise ? 1 : g.s.groups * blocks;
  // Rows are the inner index, so that one block of weights stays in cache over the image.
  RunInParallel(threads, units * g.s.oh, [&](std::int64_t item) {
    const std::int64_t unit = item / g.s.oh, row = item % g.s.oh;
    const std::int64_t group = unit / blocks, first = unit % blocks * kReferenceBlock;
    const std::int64_t stored = g.depthwise ? g.channels : kReferenceBlock;
    const std::int64_t k = g.depthwise ? 0 : group * g.out_per_group + first;
    const std::int64_t count =
        g.depthwise ? g.s.k : std::min<std::int64_t>(kReferenceBlock, g.out_per_group - first);
    std::vector<T> sums(static_cast<std::size_t>(g.s.ow * stored));
    const T* rows = image.data() + row * g.stride_h * g.image_w * g.channels;
    if (g.depthwise) {
      KernelsFor<T>().depthwise(window, g.s.ow, rows, weight.data(), sums.data());
    } else {
      KernelsFor<T>().convolve(window, g.s.ow, rows + group * g.in_per_group,
                               weight.data() + unit * block_size, sums.data());
    }
    for (std::int64_t column = 0; column < g.s.ow; ++column) {
      Narrow(sums.data() + column * stored, count, out,
             ((n * g.s.oh + row) * g.s.ow + column) * g.s.k + k);
    }
  });
}

template <typename T>
void Convolution(const Workload& w, const Tensor& data, const Tensor& weight, int threads,
                 Tensor& out) {
  const Geometry g = GeometryOf(w);
  const Tensor plain_data = *TransformLayout(data, w.data_layout, "NHWC");
  const Tensor plain_weight = *TransformLayout(weight, w.kernel_layout, "HWIO");
  const Weights<T> weights(g, plain_weight);
  const std::vector<T> packed =
      g.depthwise ? DepthwiseWeights(g, weights) : BlockedWeights(g, weights);
  Tensor plain_out(TensorType{{g.s.n, g.s.oh, g.s.ow, g.s.k}, out.dtype()});
  for (std::int64_t n = 0; n < g.s.n; ++n) {
    ConvolveImage(g, PaddedImage<T>(g, plain_data, n), packed, threads, plain_out, n);
  }
  const std::string layout = *w.OutputLayout();
  out = *TransformLayout(plain_out, "NHWC", layout);
}

/// sums[i][j] = sum of rows[i][x] * columns[j][x], which wrap.
void WideDot(std::int64_t k, std::int64_t m, const std::uint64_t* rows,
             const std::uint64_t* columns, std::uint64_t* sums) {
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < kReferenceColumns; ++j) {
      std::uint64_t sum = 0;
      for (std::int64_t x = 0; x < k; ++x) sum += rows[i * k + x] * columns[j * k + x];
      sums[i * kReferenceColumns + j] = sum;
    }
  }
}

/// out[m][n] = sum of a[m][i] * b[n][i], both from element offsets of row-major tensors.
template <typename T>
void Product2d(const Tensor& a, std::int64_t a_begin, const Tensor& b, std::int64_t b_begin,
               std::array<std::int64_t, 3> mnk, int threads, Tensor& out, std::int64_t begin) {
  const std::int64_t m = mnk[0], n = mnk[1], k = mnk[2];  // Clang 14 captures no bindings
  std::vector<T> rows(static_cast<std::size_t>(m * k));
  Widen(a, a_begin, m * k, rows.data());
  RunInParallel(threads, CeilDiv(n, kReferenceColumns), [&](std::int64_t block) {
    const std::int64_t first = block * kReferenceColumns;
    const std::int64_t count = std::min<std::int64_t>(kReferenceColumns, n - first);
    std::vector<T> columns(static_cast<std::size_t>(kReferenceColumns * k), T{0});
    Widen(b, b_begin + first * k, count * k, columns.data());
    std::vector<T> sums(static_cast<std::size_t>(m * kReferenceColumns));
    if constexpr (sizeof(T) == 8 && std::is_integral_v<T>) {
      WideDot(k, m, rows.data(), columns.data(), sums.data());
    } else {
      KernelsFor<T>().dot(k, m, rows.data(), columns.data(), sums.data());
    }
    for (std::int64_t i = 0; i < m; ++i) {
      Narrow(sums.data() + i * kReferenceColumns, count, out, begin + i * n + first);
    }
  });
}

template <typename T>
void Matmul(const Workload& w, const Tensor& data, const Tensor& weight, int threads, Tensor& out) {
  const AnchorLayouts& layouts = RowOf(w.op).layouts;
  const bool plain_weight = w.kernel_layout == layouts.weight;  // avoids a copy of the largest ones
  const Tensor a = *TransformLayout(data, w.data_layout, layouts.data);
  const Tensor moved =
      plain_weight ? Tensor() : *TransformLayout(weight, w.kernel_layout, layouts.weight);
  const Tensor& b = plain_weight ? weight : moved;
  const bool batched = layouts.data.starts_with('B');
  const std::int64_t batch = batched ? a.shape()[0] : 1;
  const std::int64_t m = a.shape().end()[-2], k = a.shape().back(), n = b.shape().end()[-2];
  const std::int64_t weight_step = layouts.weight.starts_with('B') ? n * k : 0;
  std::vector<std::int64_t> shape{m, n};
  if (batched) shape.insert(shape.begin(), batch);
  Tensor plain_out(TensorType{shape, out.dtype()});
  for (std::int64_t i = 0; i < batch; ++i) {
    Product2d<T>(a, i * m * k, b, i * weight_step, {m, n, k}, threads, plain_out, i * m * n);
  }
  const std::string layout = *w.OutputLayout();
  out = *TransformLayout(plain_out, layouts.result, layout);
}

}  // namespace

void EvaluateContraction(const Workload& w, const Tensor& data, const Tensor& weight, int threads,
                         Tensor& out) {
  const bool convolution = !IsMatrixProduct(w.op);
  const bool real = w.out_dtype.is_float();
  if (convolution && real) return Convolution<double>(w, data, weight, threads, out);
  if (convolution) return Convolution<std::uint32_t>(w, data, weight, threads, out);
  if (real) return Matmul<double>(w, data, weight, threads, out);
  if (w.out_dtype.bits == 64) return Matmul<std::uint64_t>(w, data, weight, threads, out);
  return Matmul<std::uint32_t>(w, data, weight, threads, out);
}

}  // namespace tilewright::reference
