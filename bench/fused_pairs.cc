// Gain of fusing a depthwise 3x3 convolution and the 1x1 convolution after it into one kernel: rows
// of the depthwise result go to a small buffer and are multiplied there, against the same two loops
// one after the other through memory. Written by hand in AVX-512, so that the compiler limits
// neither side; one thread, the pairs of MobileNetV2.
//
//   fused_pairs [ROUNDS]
//
// "near": one set of tensors repeatedly, as kernels are measured. "far": alternating sets, of 48
// MiB together, so that each run reads memory, as the first layers of a network do. Times are the
// minimum of ROUNDS (12). The floor is the time of the multiply-adds at the rate that is measured
// first.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <vector>

#include "src/runtime/roofline.h"

#if defined(__AVX512F__)

namespace {

constexpr int kLanes = 16;
using Vector = float __attribute__((vector_size(4 * kLanes)));

Vector& At(float* memory) { return *reinterpret_cast<Vector*>(memory); }
const Vector& At(const float* memory) { return *reinterpret_cast<const Vector*>(memory); }

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Free {
  void operator()(float* memory) const { std::free(memory); }
};
using Floats = std::unique_ptr<float[], Free>;

Floats MakeFloats(std::int64_t count) {
  const std::size_t bytes = (static_cast<std::size_t>(count) * sizeof(float) + 127) / 64 * 64;
  Floats floats(static_cast<float*>(std::aligned_alloc(64, bytes)));
  std::fill_n(floats.get(), count, 0.01F);
  return floats;
}

Vector Clip(Vector value) {
  const Vector least = {}, most = least + 6;
  value = value > least ? value : least;
  return value < most ? value : most;
}

/// Computes columns of a row of the depthwise result; a null row is padding, as are the columns
/// next to it.
template <int kColumns, int kStride, bool kFirst, bool kLast>
void DepthwiseTile(const float* const* rows, const float* weight, std::int64_t column, float* out) {
  Vector sums[kColumns];
#pragma GCC unroll 16
  for (auto& sum : sums) sum = Vector{} + 0.5F;
  for (int kh = 0; kh < 3; ++kh) {
    if (rows[kh] == nullptr) continue;
    const float* data = rows[kh] + (column * kStride - 1) * kLanes;
#pragma GCC unroll 3
    for (int kw = 0; kw < 3; ++kw) {
      const Vector w = At(weight + (kh * 3 + kw) * kLanes);
#pragma GCC unroll 16
      for (int i = 0; i < kColumns; ++i) {
        const bool before = kFirst && kw == 0 && i == 0;
        const bool behind = kLast && kStride == 1 && kw == 2 && i == kColumns - 1;
        if (before || behind) continue;
        sums[i] += At(data + (i * kStride + kw) * kLanes) * w;
      }
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < kColumns; ++i) At(out + i * kLanes) = Clip(sums[i]);
}

template <int kColumns, int kStride>
void DepthwiseRow(const float* const* rows, const float* weight, std::int64_t width, float* out) {
  if (width == kColumns) {
    DepthwiseTile<kColumns, kStride, true, true>(rows, weight, 0, out);
    return;
  }
  DepthwiseTile<kColumns, kStride, true, false>(rows, weight, 0, out);
  std::int64_t column = kColumns;
  for (; column + kColumns < width; column += kColumns) {
    DepthwiseTile<kColumns, kStride, false, false>(rows, weight, column, out + column * kLanes);
  }
  DepthwiseTile<kColumns, kStride, false, true>(rows, weight, column, out + column * kLanes);
}

/// Computes a block of output channels at some pixels.
template <int kPixels>
void PointwiseTile(const float* data, std::int64_t data_block, const float* weight,
                   std::int64_t blocks, float* out) {
  Vector sums[kPixels];
#pragma GCC unroll 16
  for (auto& sum : sums) sum = Vector{} + 0.5F;
  for (std::int64_t block = 0; block < blocks; ++block) {
    const float* x = data + block * data_block;
    const float* w = weight + block * kLanes * kLanes;
#pragma GCC unroll 2
    for (int channel = 0; channel < kLanes; ++channel) {
      const Vector row = At(w + channel * kLanes);
#pragma GCC unroll 16
      for (int i = 0; i < kPixels; ++i) {
        sums[i] += x[i * kLanes + channel] * row;
      }
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < kPixels; ++i) At(out + i * kLanes) = sums[i];
}

struct Pair {
  std::int64_t channels, size, outputs;  // size: of the data; channels: multiples of 16

  std::int64_t blocks() const { return channels / kLanes; }
  std::int64_t output_blocks() const { return (outputs + kLanes - 1) / kLanes; }
};

/// Tensors of one run. All sets share the weights.
struct Tensors {
  Floats data, between, out;
};

template <int kStride, int kColumns, int kPixels>
class PairBench {
 public:
  PairBench(Pair pair, double rate, int rounds)
      : pair_(pair),
        width_(pair.size / kStride),
        rate_(rate),
        rounds_(rounds),
        depthwise_(MakeFloats(pair.channels * 9)),
        pointwise_(MakeFloats(pair.channels * pair.output_blocks() * kLanes)) {
    const std::int64_t bytes = 4 * (pair.channels * (pair.size * pair.size + width_ * width_) +
                                    pair.output_blocks() * kLanes * width_ * width_);
    const std::int64_t sets = std::max<std::int64_t>(2, (48 << 20) / bytes + 1);
    for (std::int64_t i = 0; i < sets; ++i) {
      sets_.push_back({MakeFloats(pair.channels * pair.size * pair.size),
                       MakeFloats(pair.channels * width_ * width_),
                       MakeFloats(pair.output_blocks() * kLanes * width_ * width_)});
    }
  }

  void Run() {
    for (const bool far : {false, true}) {
      const double first = Least(far, [&](Tensors& t) { Depthwise(t); });
      const double both = Least(far, [&](Tensors& t) {
        Depthwise(t);
        Pointwise(t);
      });
      double fused = 1;
      std::int64_t best_rows = 1;
      for (const std::int64_t rows : {1, 2, 4, 7}) {
        if (width_ % rows != 0) continue;
        const double seconds = Least(far, [&](Tensors& t) { Fused(t, rows); });
        if (seconds < fused) fused = seconds, best_rows = rows;
      }
      const auto pixels = static_cast<double>(width_ * width_ * pair_.channels);
      const double floor = pixels * static_cast<double>(9 + pair_.output_blocks() * kLanes) / rate_;
      std::printf(
          "%3d channels %3d x %-3d stride %d -> %3d  %s  depthwise %6.1f us  both %6.1f us  fused "
          "%6.1f us (%d rows)  %.3f  floor %6.1f us\n",
          static_cast<int>(pair_.channels), static_cast<int>(pair_.size),
          static_cast<int>(pair_.size), kStride, static_cast<int>(pair_.outputs),
          far ? "far " : "near", first * 1e6, both * 1e6, fused * 1e6, static_cast<int>(best_rows),
          fused / both, floor * 1e6);
      std::fflush(stdout);
    }
  }

 private:
  [[gnu::noinline]] void DepthwiseRows(const Tensors& t, std::int64_t first, std::int64_t count,
                                       float* out, std::int64_t out_block) const {
    for (std::int64_t block = 0; block < pair_.blocks(); ++block) {
      const float* data = t.data.get() + block * pair_.size * pair_.size * kLanes;
      for (std::int64_t row = first; row < first + count; ++row) {
        const float* rows[3];
        for (std::int64_t kh = 0; kh < 3; ++kh) {
          const std::int64_t from = row * kStride + kh - 1;
          const bool inside = from >= 0 && from < pair_.size;
          rows[kh] = inside ? data + from * pair_.size * kLanes : nullptr;
        }
        DepthwiseRow<kColumns, kStride>(rows, depthwise_.get() + block * 9 * kLanes, width_,
                                        out + block * out_block + (row - first) * width_ * kLanes);
      }
    }
  }

  [[gnu::noinline]] void Multiply(const float* data, std::int64_t data_block, float* out,
                                  std::int64_t pixels) const {
    const std::int64_t out_block = width_ * width_ * kLanes;
    for (std::int64_t block = 0; block < pair_.output_blocks(); ++block) {
      const float* weight = pointwise_.get() + block * pair_.channels * kLanes;
      float* result = out + block * out_block;
      std::int64_t pixel = 0;
      for (; pixel + kPixels <= pixels; pixel += kPixels) {
        PointwiseTile<kPixels>(data + pixel * kLanes, data_block, weight, pair_.blocks(),
                               result + pixel * kLanes);
      }
      for (; pixel < pixels; ++pixel) {
        PointwiseTile<1>(data + pixel * kLanes, data_block, weight, pair_.blocks(),
                         result + pixel * kLanes);
      }
    }
  }

  void Depthwise(Tensors& t) const {
    DepthwiseRows(t, 0, width_, t.between.get(), width_ * width_ * kLanes);
  }
  void Pointwise(Tensors& t) const {
    Multiply(t.between.get(), width_ * width_ * kLanes, t.out.get(), width_ * width_);
  }
  void Fused(Tensors& t, std::int64_t rows) {
    const std::int64_t block = rows * width_ * kLanes;
    if (buffer_floats_ < block * pair_.blocks()) {
      buffer_floats_ = block * pair_.blocks();
      buffer_ = MakeFloats(buffer_floats_);
    }
    for (std::int64_t first = 0; first < width_; first += rows) {
      DepthwiseRows(t, first, rows, buffer_.get(), block);
      Multiply(buffer_.get(), block, t.out.get() + first * width_ * kLanes, rows * width_);
    }
  }

  template <typename Work>
  double Least(bool far, Work work) {
    double least = 1;
    constexpr double kSliceSeconds = 0.004;
    std::size_t next = 0;
    for (int round = 0; round < rounds_; ++round) {
      work(sets_[0]);
      std::int64_t runs = 0;
      const double start = Now();
      double end = start;
      do {
        work(sets_[far ? next++ % sets_.size() : 0]);
        ++runs;
        end = Now();
      } while (end - start < kSliceSeconds ||
               (far && runs < static_cast<std::int64_t>(sets_.size())));
      least = std::min(least, (end - start) / static_cast<double>(runs));
    }
    return least;
  }

  const Pair pair_;
  const std::int64_t width_;
  const double rate_;  // multiply-adds per second
  const int rounds_;
  const Floats depthwise_, pointwise_;
  std::vector<Tensors> sets_;
  Floats buffer_;
  std::int64_t buffer_floats_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (!__builtin_cpu_supports("avx512f")) {
    std::fprintf(stderr, "fused_pairs: this processor has no AVX-512\n");
    return 2;
  }
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 12;
  const double rate = tilewright::MeasurePeaks().float_ops_per_second / 2;
  std::printf("fused_pairs: %.1f GFLOP/s by multiply-adds alone, 1 thread\n", 2e-9 * rate);
  PairBench<1, 8, 14>({32, 112, 16}, rate, rounds).Run();
  PairBench<2, 8, 14>({96, 112, 24}, rate, rounds).Run();
  PairBench<1, 8, 14>({144, 56, 24}, rate, rounds).Run();
  PairBench<2, 7, 14>({144, 56, 32}, rate, rounds).Run();
  PairBench<1, 7, 14>({192, 28, 32}, rate, rounds).Run();
  PairBench<2, 7, 14>({192, 28, 64}, rate, rounds).Run();
  PairBench<1, 7, 14>({384, 14, 64}, rate, rounds).Run();
  PairBench<1, 7, 14>({384, 14, 96}, rate, rounds).Run();
  PairBench<1, 7, 14>({576, 14, 96}, rate, rounds).Run();
  PairBench<2, 7, 14>({576, 14, 160}, rate, rounds).Run();
  PairBench<1, 7, 7>({960, 7, 160}, rate, rounds).Run();
  PairBench<1, 7, 7>({960, 7, 320}, rate, rounds).Run();
  return 0;
}

#else

int main() {
  std::fprintf(stderr, "fused_pairs: built without AVX-512, for which it is written\n");
  return 2;
}

#endif
