// Choice among the formats as a sum of times: sites add up, and so do conversions between them.

#include "src/optimize/proposal.h"

#include <algorithm>
#include <cmath>

namespace tilewright::optimize {
namespace {

/// A format whose outputs are no numbers is never chosen.
double NoiseFor(double noise) { return std::isfinite(noise) ? noise : 1e30; }

}  // namespace

Proposal::Proposal(std::span<const SiteReport> sites, const Bound& bound, double noise_limit,
                   double bytes_per_second)
    : sites_(sites),
      bound_(bound),
      noise_limit_(noise_limit),
      bytes_per_second_(bytes_per_second),
      problem_(Problem()),
      limit_(noise_limit) {}

ChoiceProblem Proposal::Problem() const {
  constexpr double kBytes = 8;  // of an element that is written and read as float32
  ChoiceProblem problem;
  for (std::size_t i = 0; i < sites_.size(); ++i) {
    const SiteReport& site = sites_[i];
    std::vector<SiteOption> options;
    for (std::size_t k = 0; k < site.seconds.size(); ++k) {
      options.push_back({site.seconds[k], NoiseFor(site.noise[k])});
    }
    problem.sites.push_back(std::move(options));
    if (site.site.before < 0) continue;
    const Site& before = sites_[static_cast<std::size_t>(site.site.before)].site;
    const double seconds =
        conversion_scale_ * (kBytes * static_cast<double>(site.site.elements) / bytes_per_second_);
    Conversion conversion{site.site.before, static_cast<int>(i), {}};
    for (const Format from : before.formats) {
      for (const Format to : site.site.formats) {
        conversion.seconds.push_back(from == to ? 0 : seconds);
      }
    }
    problem.conversions.push_back(std::move(conversion));
  }
  return problem;
}

double Proposal::ExactSeconds() const {
  return problem_.SecondsOf(std::vector<int>(sites_.size(), 0));
}

std::vector<int> Proposal::OptionsOf(const Formats& formats) const {
  std::vector<int> options;
  for (std::size_t i = 0; i < formats.size(); ++i) {
    options.push_back(static_cast<int>(sites_[i].site.PositionOf(formats[i])));
  }
  return options;
}

Formats Proposal::FormatsOf(const Choice& choice) const {
  Formats formats;
  for (std::size_t i = 0; i < choice.options.size(); ++i) {
    formats.push_back(sites_[i].site.formats[static_cast<std::size_t>(choice.options[i])]);
  }
  return formats;
}

void Proposal::Predict(Combination& combination) const {
  const std::vector<int> options = OptionsOf(combination.formats);
  combination.predicted_ratio = problem_.SecondsOf(options) / ExactSeconds();
  combination.predicted_noise = problem_.NoiseOf(options);
}

bool Proposal::Correct(const Choice& choice, const Combination& combination) {
  const bool keeps = bound_.Keeps(bound_.ValueOf(combination.search));
  if (keeps) {
    kept_ = std::max(kept_, choice.noise);
  } else {
    broken_ = std::min(broken_, choice.noise);
  }
  ScaleConversions(combination);
  limit_ = NextLimit(combination, keeps);
  constexpr double kClose = 1.05;
  return !(limit_ <= 0 || broken_ < kept_ * kClose);
}

void Proposal::ScaleConversions(const Combination& combination) {
  const std::vector<int> options = OptionsOf(combination.formats);
  const double exact = ExactSeconds();
  double sites = 0;
  for (std::size_t i = 0; i < options.size(); ++i) {
    sites += problem_.sites[i][static_cast<std::size_t>(options[i])].seconds;
  }
  const double conversions = problem_.SecondsOf(options) - sites;
  const double measured = combination.ratio * exact - sites;
  constexpr double kMaxScale = 8;
  if (conversions < 0.001 * exact) return;
  conversion_scale_ =
      std::clamp(conversion_scale_ * measured / conversions, 1 / kMaxScale, kMaxScale);
  problem_ = Problem();
}

/// Returns the next limit of the predicted noise; 0 to end.
double Proposal::NextLimit(const Combination& combination, bool keeps) const {
  const double predicted = combination.predicted_noise;
  const double measured = combination.search.relative_noise;
  if (bound_.metric == Metric::kSqnr && predicted > 0 && measured > 0) {
    constexpr double kEnough = 0.85, kMargin = 0.97;
    if (keeps && measured > kEnough * noise_limit_) return 0;
    const double next = kMargin * noise_limit_ * predicted / measured;
    // Measured noise that does not follow the prediction: between the known limits.
    return next > kept_ && next < broken_
               ? next
               : std::sqrt(std::max(kept_, 1e-3 * next) * std::min(broken_, 1e3 * next));
  }
  constexpr double kStep = 4;
  if (keeps) return std::isinf(broken_) ? kStep * limit_ : std::sqrt(kept_ * broken_);
  return kept_ > 0 ? std::sqrt(kept_ * broken_) : std::min(broken_, limit_) / kStep;
}

std::vector<std::pair<double, double>> Proposal::Front() const {
  const double exact = ExactSeconds();
  std::vector<std::pair<double, double>> front;
  for (const Choice& choice : PredictedFront(problem_)) {
    front.emplace_back(choice.seconds / exact, choice.noise);
  }
  return front;
}

}  // namespace tilewright::optimize
