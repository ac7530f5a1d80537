#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "measure/memory_delay_estimator.h"
#include "measure/statistics.h"

namespace tilewright::measure {

/// Results of the interference probes around a round of a race.
struct RoundInterference {
  bool core_clean = true;
  double memory_delay_seconds = 0;  ///< of one call of a contender, see MemoryDelayEstimator
  /// Returns the worse of both.
  RoundInterference With(const RoundInterference& other) const {
    return {core_clean && other.core_clean,
            std::max(memory_delay_seconds, other.memory_delay_seconds)};
  }
};

/// Judge of a race. It decides which rounds are clean, which contenders are out and when the race
/// has converged, and estimates the time of each contender.
///
/// All contenders run once in each round, so interference in a round slows all of them by about the
/// same factor: they are the best probe of their own memory level. A round is clean if each
/// contender took about the time of its fastest rounds, and about its known time from earlier
/// measurements. Without known times, a round is clean if the core's probe was clean around it, and
/// the memory probe showed little delay for the contenders. That delay is small by the bytes that
/// they read, or if they took the same time in rounds where the probe was much slower.
/// Deterministic.
class RaceJudge {
 public:
  struct Settings {
    double round_tolerance = 0.03;   ///< of a clean round, above the fastest ones
    double known_tolerance = 0.05;   ///< of a clean round, above the known time
    double same_time = 0.01;         ///< rounds that differ by less count as equal
    double memory_bias = 0.02;       ///< maximum memory delay that such rounds can hide
    double converged_noise = 0.004;  ///< a race decides between close ones
    /// A contender that is slower than the leader by more in most rounds is out.
    double out_ratio = 1.02;
    std::size_t out_rounds = 4;    ///< minimum number of rounds before a contender can be out
    std::size_t clean_rounds = 6;  ///< minimum number of clean rounds before a contender converges
    std::size_t min_converged_samples = 12;
  };
  static constexpr std::size_t kNoAnchor = static_cast<std::size_t>(-1);

  /// known_seconds: per contender, its time in clean samples before the race; 0: unknown. anchor:
  /// the contender that stays to the end, for the others' ratios.
  explicit RaceJudge(std::vector<double> known_seconds, std::size_t anchor = kNoAnchor);
  RaceJudge(std::vector<double> known_seconds, std::size_t anchor, const Settings& settings);

  /// Adds a contender's samples of the current round; none: it has failed and left.
  void Add(std::size_t racer, std::span<const double> samples);
  void EndRound(const RoundInterference& probe_times);

  /// Returns whether the contender no longer runs: it is significantly slower, or has failed.
  bool IsOut(std::size_t racer) const { return racers_[racer].out || racers_[racer].failed; }
  /// Returns whether the ranking is stable: all running contenders are known well enough, or all
  /// are out.
  bool converged() const;
  std::size_t rounds() const { return rounds_probed_.size(); }
  std::size_t clean_rounds() const { return clean_count_; }
  bool last_round_clean() const { return !clean_.empty() && clean_.back(); }
  /// Returns whether too few rounds were clean (of few rounds: fewer than half). The times are too
  /// long then, but their ratios are valid.
  bool noisy() const { return clean_count_ < std::min(kFewRounds, (rounds() + 1) / 2); }

  /// Returns the estimate from the contender's samples of clean rounds. In a noisy race, it uses
  /// all samples, each divided by the slowdown of its round relative to the contenders' fastest
  /// rounds.
  Estimate Of(std::size_t racer) const;
  /// Returns the share of the contender's samples that are from clean rounds; 0 in a noisy race.
  double CleanFraction(std::size_t racer) const;

 private:
  static constexpr std::size_t kFewRounds = 3;
  struct Slice {
    std::size_t round = 0;
    double low = 0;  ///< low quantile of the samples
    std::vector<double> samples;
  };
  struct Racer {
    double known = 0;
    double floor = 0;  ///< low quantile in its fastest rounds
    std::vector<Slice> slices;
    bool out = false, failed = false;
  };
  void FindFloors();
  void JudgeRounds();
  void FindOut();
  bool MemoryMatters() const;
  bool ProbesClean(std::size_t round, bool memory_matters) const;

  Settings settings_;
  std::size_t anchor_;
  std::vector<Racer> racers_;
  std::vector<RoundInterference> rounds_probed_;  // per round
  std::vector<bool> clean_;
  std::vector<double> slowdowns_;  // per round, relative to the floors
  std::size_t clean_count_ = 0;
};

}  // namespace tilewright::measure
