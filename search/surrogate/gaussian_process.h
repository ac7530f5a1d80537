#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "src/base/random.h"

namespace tilewright::search {

/// Length scales and noise of a Gaussian process, as natural logarithms.
struct GaussianHyperparameters {
  std::vector<double> log_lengths;  ///< one for each feature, in units of the feature
  double log_noise = 0;             ///< relative to the process's variance
  friend bool operator==(const GaussianHyperparameters&, const GaussianHyperparameters&) = default;
};

/// Gaussian process with a squared-exponential kernel over numbers and categories, optionally a
/// linear kernel over further numbers, and an unknown mean. The mean and the variance are estimated
/// in closed form, the hyperparameters by a random coordinate search of the posterior. Rows are
/// appended one by one: O(n^2) each. Not thread-safe.
class GaussianProcess {
 public:
  /// is_category: kind of each feature. linear: number of linear features, which follow them in
  /// rows. typical_log_length: mean of the prior of the length scales.
  GaussianProcess(const std::vector<bool>& is_category, std::size_t linear,
                  double typical_log_length);

  std::size_t width() const { return is_category_.size() + linear_; }  ///< of a row

  const GaussianHyperparameters& hyperparameters() const { return hyper_; }
  /// Replaces them and removes all rows.
  void SetHyperparameters(GaussianHyperparameters hyper);
  std::size_t size() const { return size_; }
  /// Keeps the first `count` rows.
  void Truncate(std::size_t count);
  /// Adds a row of features.
  void Append(std::span<const float> row);
  /// Solves for the targets of the first targets.size() rows. Rows after them are expected to have
  /// the values that the process predicts for them: they lower the variance only.
  void SetTargets(std::span<const double> targets);
  /// Searches better hyperparameters for these rows and targets with `steps` changes.
  void Fit(std::span<const float> rows, std::span<const double> targets, int steps, Random& random);

  /// Returns the squared-exponential kernel of two rows, without the linear part: 1 if equal.
  float Likeness(const float* a, const float* b) const;

  /// Candidates whose prediction is updated as rows are appended.
  struct Candidates {
    std::vector<float> features;           ///< one row for each
    std::vector<std::vector<float>> half;  ///< rows of L^-1 K, one for each row of the process
    std::vector<float> unexplained;        ///< variance that remains, relative to the process's
    std::size_t count = 0;
    void Truncate(std::size_t rows) { half.resize(std::min(half.size(), rows)); }
  };
  /// Brings the candidates up to date with the rows. Rows that both have must be the same ones.
  void Update(Candidates& candidates) const;
  /// Returns the predicted means of the candidates. Requires SetTargets and Update.
  std::vector<float> Means(const Candidates& candidates) const;
  /// Returns the standard deviation of a prediction. Requires SetTargets and Update.
  double Deviation(const Candidates& candidates, std::size_t candidate) const;

 private:
  double LogPosterior(std::span<const double> targets);
  void Estimate(std::span<const double> targets);
  void SetInverseLengths();
  float Kernel(const float* a, const float* b) const { return Likeness(a, b) + Linear(a, b); }
  float Linear(const float* a, const float* b) const;

  std::vector<char> is_category_;
  std::size_t linear_;
  double typical_log_length_;
  GaussianHyperparameters hyper_;
  std::vector<float> inverse_lengths_;
  std::size_t size_ = 0;
  std::vector<float> rows_;
  std::vector<std::vector<double>> factor_;  // lower triangle of the Cholesky factor, by rows
  std::vector<double> whitened_;             // L^-1 (targets - mean)
  double mean_ = 0, variance_ = 1;
  double log_posterior_ = 0;
};

}  // namespace tilewright::search
