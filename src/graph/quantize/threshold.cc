// Range of a value, computed from its values over a data set.
//
// KlThreshold tries windows of 2i + 1 bins around zero. p is the histogram with the counts outside
// the window added to the window's ends. q is the same window in 255 steps, each step's count
// spread evenly over its non-empty bins. The result is the window with the smallest divergence of q
// from p, the first one on ties.

#include "src/graph/quantize/threshold.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

namespace tilewright::quantize {
namespace {

constexpr std::size_t kBins = 8001;
constexpr std::size_t kZero = kBins / 2;
constexpr std::size_t kSteps = 255;
constexpr double kSmoothing = 1e-4;
constexpr double kPercentile = 0.99999;

std::vector<double> Histogram(const std::vector<float>& values, double largest) {
  std::vector<double> bins(kBins, 0);
  const double scale = static_cast<double>(kBins) / (2 * largest);
  for (float value : values) {
    const double position = (static_cast<double>(value) + largest) * scale;
    ++bins[std::min(static_cast<std::size_t>(position), kBins - 1)];
  }
  return bins;
}

struct Bin {
  std::size_t position = 0;
  double count = 0;
};

/// One window. Empty bins of p are empty in q as well, so only the others are compared. Before the
/// comparison, zeros of p and of q get kSmoothing, which is subtracted from the others.
class Window {
 public:
  /// filled: non-empty bins. below, above: contents of p's first and last bin.
  Window(std::span<const Bin> filled, std::size_t half, double below, double above)
      : start_(kZero - half), size_(2 * half + 1) {
    const std::size_t last = start_ + size_ - 1;
    entries_.reserve(std::min(filled.size() + 2, size_));
    if (below > 0) Add(0, below, 0);
    bool ended = false;
    for (const Bin& bin : filled) {
      if (bin.position <= start_ || bin.position > last) continue;
      ended = bin.position == last;
      Add(bin.position - start_, ended ? above : bin.count, bin.count);
    }
    if (!ended && above > 0) Add(size_ - 1, above, 0);
  }

  /// Returns the divergence; infinite if q cannot be smoothed.
  double Divergence() const {
    double q_sum = 0;
    std::size_t q_filled = 0;
    for (const Entry& entry : entries_) {
      q_sum += QuantizedOf(entry);
      q_filled += QuantizedOf(entry) > 0 ? 1 : 0;
    }
    const double p_zeros = static_cast<double>(size_ - entries_.size());
    const double p_taken = kSmoothing * p_zeros / static_cast<double>(entries_.size());
    const double q_taken =
        kSmoothing * static_cast<double>(size_ - q_filled) / static_cast<double>(q_filled);
    if (q_filled == 0 || q_taken >= 1 || p_taken >= 1) {
      return std::numeric_limits<double>::infinity();
    }
    double divergence = p_zeros * kSmoothing / p_sum_ * std::log(q_sum / p_sum_);
    for (const Entry& entry : entries_) {
      const double q = QuantizedOf(entry);
      const double pk = (entry.p - p_taken) / p_sum_;
      const double qk = (q == 0 ? kSmoothing : q - q_taken) / q_sum;
      divergence += pk * std::log(pk / qk);
    }
    return divergence;
  }

 private:
  struct Entry {
    std::size_t step = 0;
    double p = 0;
  };

  void Add(std::size_t bin, double p, double inner) {
    const std::size_t step = std::min(bin / (size_ / kSteps), kSteps - 1);
    entries_.push_back({step, p});
    p_sum_ += p;
    counts_[step] += inner;
    filled_[step] += inner > 0 ? 1 : 0;
  }
  double QuantizedOf(const Entry& entry) const {
    return filled_[entry.step] == 0 ? 0 : counts_[entry.step] / filled_[entry.step];
  }

  std::size_t start_, size_;
  std::vector<Entry> entries_;  // of p's non-empty bins
  double p_sum_ = 0;
  std::array<double, kSteps> counts_{}, filled_{};  // per step
};

}  // namespace

double LargestMagnitude(const std::vector<float>& values) {
  float largest = 0;
  for (float value : values) largest = std::max(largest, std::abs(value));
  return static_cast<double>(largest);
}

double PercentileThreshold(std::vector<float>& values) {
  if (values.empty()) return 0;
  for (float& value : values) value = std::abs(value);
  const auto position =
      static_cast<std::ptrdiff_t>(kPercentile * static_cast<double>(values.size()));
  std::ranges::nth_element(values, values.begin() + position);
  return static_cast<double>(values[static_cast<std::size_t>(position)]);
}

double KlThreshold(const std::vector<float>& values) {
  const double largest = LargestMagnitude(values);
  if (largest == 0) return 0;
  const std::vector<double> bins = Histogram(values, largest);
  std::vector<Bin> filled;
  std::vector<double> up_to(kBins + 1, 0);  // counts are integers: sums are exact
  for (std::size_t i = 0; i < kBins; ++i) {
    up_to[i + 1] = up_to[i] + bins[i];
    if (bins[i] > 0) filled.push_back({i, bins[i]});
  }
  double best = std::numeric_limits<double>::infinity();
  double threshold = largest;
  const double width = 2 * largest / static_cast<double>(kBins);
  for (std::size_t half = kSteps / 2; half <= kZero; ++half) {
    const double below = up_to[kZero - half + 1];
    const double above = up_to[kBins] - up_to[kZero + half];
    const double divergence = Window(filled, half, below, above).Divergence();
    if (divergence < best) {
      best = divergence;
      threshold = -largest + width * static_cast<double>(kZero + half + 1);
    }
  }
  return threshold;
}

double MseThreshold(const std::vector<float>& values, double steps) {
  constexpr std::size_t kMagnitudes = 4096;
  constexpr std::size_t kMin = 32, kAll = 128;
  const double largest = LargestMagnitude(values);
  if (largest == 0) return 0;
  // Counts, sums and sums of squares of the magnitudes at or above the start of each bin.
  std::vector<double> count(kMagnitudes + 1, 0), sum = count, squares = count;
  for (float value : values) {
    const double x = std::abs(static_cast<double>(value));
    if (x == 0) continue;
    const auto bin = std::min(static_cast<std::size_t>(x / largest * kMagnitudes), kMagnitudes - 1);
    count[bin] += 1;
    sum[bin] += x;
    squares[bin] += x * x;
  }
  for (std::size_t i = kMagnitudes; i-- > 0;) {
    count[i] += count[i + 1];
    sum[i] += sum[i + 1];
    squares[i] += squares[i + 1];
  }
  double best = std::numeric_limits<double>::infinity(), threshold = largest;
  for (std::size_t i = kAll; i >= kMin; --i) {
    const std::size_t bin = kMagnitudes / kAll * i;
    const double range = largest * static_cast<double>(i) / kAll, step = range / steps;
    const double clipped = squares[bin] - 2 * range * sum[bin] + range * range * count[bin];
    const double error = clipped + (count[0] - count[bin]) * step * step / 12;
    if (error < best) {
      best = error;
      threshold = range;
    }
  }
  return threshold;
}

}  // namespace tilewright::quantize
