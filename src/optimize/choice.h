#pragma once

#include <vector>

namespace tilewright::optimize {

/// One way to compute a site: its time, and the noise power that it adds to the network's outputs
/// (relative to their signal) when only this site is computed so.
struct SiteOption {
  double seconds = 0, noise = 0;
};

/// Conversion between two sites that follow each other: seconds of each pair of their options,
/// row-major with the options of `from` as rows.
struct Conversion {
  int from = 0, to = 0;
  std::vector<double> seconds;
};

/// Sum of times over sites with options. The first option of each site is exact (no noise).
struct ChoiceProblem {
  std::vector<std::vector<SiteOption>> sites;
  std::vector<Conversion> conversions;

  double SecondsOf(const std::vector<int>& options) const;
  /// Noise powers of the sites add up.
  double NoiseOf(const std::vector<int>& options) const;
};

/// An option for each site.
struct Choice {
  std::vector<int> options;
  double seconds = 0, noise = 0;
};

/// Minimizes seconds + price * noise. Exact where conversions form a forest (Minimize).
Choice CheapestAt(const ChoiceProblem& problem, double price);

/// Minimizes seconds with at most this noise. Begins with the choices at the prices of noise
/// (Lagrange multipliers) around the one at which the limit is kept, makes sites of those that
/// exceed it exact, and changes one or two sites at a time while that saves time. Never exceeds the
/// limit. Deterministic.
Choice ChooseUnder(const ChoiceProblem& problem, double noise_limit);

/// Returns choices of which none is beaten in both seconds and noise, by noise: those of all
/// prices.
std::vector<Choice> PredictedFront(const ChoiceProblem& problem);

}  // namespace tilewright::optimize
