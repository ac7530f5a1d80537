// With the covariance matrix K = L L^T of the rows, a candidate with the covariances k has the
// whitened vector h = L^-1 k. Its mean is m + h . L^-1 (y - m), its variance s (1 - h . h). One
// more row appends one element to every h, which is what makes proposals cheap: O(rows) per
// candidate. The mean has a normal prior around 0 and the variance an inverse-gamma prior, so both
// are integrated in closed form.

#include "search/surrogate/gaussian_process.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tilewright::search {
namespace {

constexpr double kJitter = 1e-8;
// Priors, in units of targets with a standard deviation of 1.
constexpr double kMeanPrecision = 1;
constexpr double kVarianceShape = 2, kVarianceScale = 2;
constexpr double kTypicalLogNoise = -4.6, kLogNoiseSpread = 1.5;
constexpr double kLogLengthSpread = 1;
// Variance of the weight of a linear feature, relative to the variance of the process.
constexpr float kLinearVariance = 0.3F;
// Steps of the coordinate search, in logarithms.
constexpr double kFirstStep = 0.5, kMinStep = 0.05;

double Squared(double x) { return x * x; }

double DotOf(const double* a, const double* b, std::size_t count) {
  double even = 0, odd = 0;  // two chains of additions
  std::size_t i = 0;
  for (; i + 1 < count; i += 2) {
    even += a[i] * b[i];
    odd += a[i + 1] * b[i + 1];
  }
  if (i < count) even += a[i] * b[i];
  return even + odd;
}

/// Solves L x = b in place.
void SolveLower(const std::vector<std::vector<double>>& factor, std::vector<double>& b) {
  for (std::size_t i = 0; i < b.size(); ++i) {
    b[i] = (b[i] - DotOf(factor[i].data(), b.data(), i)) / factor[i][i];
  }
}

}  // namespace

GaussianProcess::GaussianProcess(const std::vector<bool>& is_category, std::size_t linear,
                                 double typical_log_length)
    : is_category_(is_category.begin(), is_category.end()),
      linear_(linear),
      typical_log_length_(typical_log_length) {
  hyper_.log_lengths.assign(is_category_.size(), typical_log_length);
  hyper_.log_noise = kTypicalLogNoise;
  SetInverseLengths();
}

void GaussianProcess::SetInverseLengths() {
  inverse_lengths_.clear();
  for (double length : hyper_.log_lengths) {
    inverse_lengths_.push_back(static_cast<float>(std::exp(-length)));
  }
}

void GaussianProcess::SetHyperparameters(GaussianHyperparameters hyper) {
  hyper_ = std::move(hyper);
  SetInverseLengths();
  Truncate(0);
}

void GaussianProcess::Truncate(std::size_t count) {
  size_ = std::min(size_, count);
  rows_.resize(size_ * width());
  factor_.resize(size_);
}

float GaussianProcess::Likeness(const float* a, const float* b) const {
  float distance = 0;
  for (std::size_t i = 0; i < is_category_.size(); ++i) {
    const float difference = is_category_[i] != 0 ? (a[i] == b[i] ? 0.0F : 1.0F) : a[i] - b[i];
    const float scaled = difference * inverse_lengths_[i];
    distance += scaled * scaled;
  }
  return std::exp(-0.5F * distance);
}

float GaussianProcess::Linear(const float* a, const float* b) const {
  float sum = 0;
  for (std::size_t i = is_category_.size(); i < width(); ++i) sum += a[i] * b[i];
  return kLinearVariance * sum;
}

void GaussianProcess::Append(std::span<const float> row) {
  rows_.insert(rows_.end(), row.begin(), row.end());
  std::vector<double> line(size_ + 1);
  for (std::size_t j = 0; j < size_; ++j) {
    const double covariance = Kernel(&rows_[j * row.size()], row.data());
    line[j] = (covariance - DotOf(line.data(), factor_[j].data(), j)) / factor_[j][j];
  }
  const double rest = Kernel(row.data(), row.data()) + std::exp(hyper_.log_noise) + kJitter -
                      DotOf(line.data(), line.data(), size_);
  line[size_] = std::sqrt(std::max(rest, kJitter));
  factor_.push_back(std::move(line));
  ++size_;
}

/// Estimates mean and variance, and the posterior of the hyperparameters.
void GaussianProcess::Estimate(std::span<const double> targets) {
  std::vector<double> whitened(targets.begin(), targets.end()), ones(targets.size(), 1.0);
  SolveLower(factor_, whitened);
  SolveLower(factor_, ones);
  double ones_square = 0, product = 0, log_determinant = 0, square = 0;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    ones_square += ones[i] * ones[i];
    product += ones[i] * whitened[i];
    log_determinant += std::log(factor_[i][i]);
  }
  mean_ = product / (ones_square + kMeanPrecision);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    whitened[i] -= mean_ * ones[i];
    square += Squared(whitened[i]);
  }
  whitened_ = std::move(whitened);
  const double weight = static_cast<double>(targets.size()) + kVarianceShape;
  variance_ = (square + kVarianceScale) / weight;
  log_posterior_ = -0.5 * weight * std::log(square + kVarianceScale) - log_determinant;
  for (double length : hyper_.log_lengths) {
    log_posterior_ -= 0.5 * Squared((length - typical_log_length_) / kLogLengthSpread);
  }
  log_posterior_ -= 0.5 * Squared((hyper_.log_noise - kTypicalLogNoise) / kLogNoiseSpread);
}

void GaussianProcess::SetTargets(std::span<const double> targets) { Estimate(targets); }

double GaussianProcess::LogPosterior(std::span<const double> targets) {
  const std::vector<float> rows = std::move(rows_);
  SetInverseLengths();
  size_ = 0;
  rows_.clear();
  factor_.clear();
  for (std::size_t i = 0; i < targets.size(); ++i) {
    Append(std::span(rows).subspan(i * width(), width()));
  }
  Estimate(targets);
  return log_posterior_;
}

void GaussianProcess::Fit(std::span<const float> rows, std::span<const double> targets, int steps,
                          Random& random) {
  rows_.assign(rows.begin(), rows.end());
  double best = LogPosterior(targets);
  const std::size_t parameters = is_category_.size() + 1;
  std::vector<double> step(parameters, kFirstStep);
  for (int s = 0; s < steps; ++s) {
    const std::size_t p = random.Below(parameters);
    double& value = p < is_category_.size() ? hyper_.log_lengths[p] : hyper_.log_noise;
    const double before = value;
    const double change = random.Below(2) == 0 ? step[p] : -step[p];
    value = before + change;
    double found = LogPosterior(targets);
    if (found <= best) {
      value = before - change;
      found = LogPosterior(targets);
    }
    if (found > best) {
      best = found;
      step[p] *= 1.5;
    } else {
      value = before;
      step[p] = std::max(step[p] * 0.5, kMinStep);
    }
  }
  SetInverseLengths();
  Truncate(0);
}

void GaussianProcess::Update(Candidates& candidates) const {
  const std::size_t count = candidates.features.size() / std::max<std::size_t>(1, width());
  if (candidates.count != count || candidates.half.empty()) {
    candidates.count = count;
    candidates.half.clear();
    candidates.unexplained.resize(count);
  }
  candidates.Truncate(size_);
  for (std::size_t i = candidates.half.size(); i < size_; ++i) {
    std::vector<float> line(count);
    for (std::size_t c = 0; c < count; ++c) {
      line[c] = Kernel(&rows_[i * width()], &candidates.features[c * width()]);
    }
    for (std::size_t j = 0; j < i; ++j) {
      const auto weight = static_cast<float>(factor_[i][j]);
      const float* other = candidates.half[j].data();
      for (std::size_t c = 0; c < count; ++c) line[c] -= weight * other[c];
    }
    const auto scale = static_cast<float>(1 / factor_[i][i]);
    for (float& value : line) value *= scale;
    candidates.half.push_back(std::move(line));
  }
  for (std::size_t c = 0; c < count; ++c) {
    const float* row = &candidates.features[c * width()];
    candidates.unexplained[c] = 1 + Linear(row, row);
  }
  for (const std::vector<float>& line : candidates.half) {
    for (std::size_t c = 0; c < count; ++c) candidates.unexplained[c] -= line[c] * line[c];
  }
}

double GaussianProcess::Deviation(const Candidates& candidates, std::size_t candidate) const {
  constexpr double kMinVariance = 1e-10;
  return std::sqrt(
      std::max(kMinVariance, variance_ * static_cast<double>(candidates.unexplained[candidate])));
}

std::vector<float> GaussianProcess::Means(const Candidates& candidates) const {
  std::vector<float> means(candidates.count, static_cast<float>(mean_));
  const std::size_t known = std::min(whitened_.size(), candidates.half.size());
  for (std::size_t i = 0; i < known; ++i) {
    const auto weight = static_cast<float>(whitened_[i]);
    const float* line = candidates.half[i].data();
    for (std::size_t c = 0; c < candidates.count; ++c) means[c] += weight * line[c];
  }
  return means;
}

}  // namespace tilewright::search
