#pragma once

#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "src/optimize/bound.h"
#include "src/optimize/choice.h"
#include "src/optimize/format_search.h"
#include "src/optimize/network_formats.h"

namespace tilewright::optimize {

/// Combinations to try, by the times and the noise of each site, corrected by the combinations that
/// were measured.
class Proposal {
 public:
  /// sites: with their times and noise; they live longer. noise_limit: estimated noise of outputs
  /// that may just keep the bound. bytes_per_second: at which conversions write and read.
  Proposal(std::span<const SiteReport> sites, const Bound& bound, double noise_limit,
           double bytes_per_second);

  /// Returns the fastest choice under the present limit of the predicted noise.
  Choice Next() const { return ChooseUnder(problem_, limit_); }
  Formats FormatsOf(const Choice& choice) const;
  void Predict(Combination& combination) const;
  /// Corrects the cost of conversions and the limit by a choice's measured and predicted
  /// combination. Returns false if no further one is worth trying.
  bool Correct(const Choice& choice, const Combination& combination);
  /// Returns the predicted front: time ratio and relative noise, by noise.
  std::vector<std::pair<double, double>> Front() const;

 private:
  ChoiceProblem Problem() const;
  double ExactSeconds() const;
  std::vector<int> OptionsOf(const Formats& formats) const;
  void ScaleConversions(const Combination& combination);
  double NextLimit(const Combination& combination, bool keeps) const;

  std::span<const SiteReport> sites_;
  const Bound bound_;
  const double noise_limit_, bytes_per_second_;
  double conversion_scale_ = 1;  // to the cost of writing and reading the value once more
  ChoiceProblem problem_;        // at this scale
  double limit_;                 // of the predicted noise of the next choice
  // Predicted noise: the largest that kept the bound, the least that did not.
  double kept_ = 0, broken_ = std::numeric_limits<double>::infinity();
};

}  // namespace tilewright::optimize
