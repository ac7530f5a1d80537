#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "measure/memory_delay_estimator.h"
#include "measure/statistics.h"

namespace tilewright::measure {

/// What the canaries around a round of a race say.
struct RoundInterference {
  bool core_clean = true;
  double memory_delay_seconds = 0;  ///< of one call of a racer, see MemoryDelayEstimator
  /// The worse of both.
  RoundInterference With(const RoundInterference& other) const {
    return {core_clean && other.core_clean,
            std::max(memory_delay_seconds, other.memory_delay_seconds)};
  }
};

/// Judges a race: which rounds were quiet, who is out, when it is decided, and what each racer
/// takes.
///
/// All racers run once in each round, so what disturbs a round disturbs all of them, and by about
/// the same factor: they are the best canary of their own level of memory. A round is quiet if its
/// racers took about what each of them took in its fastest rounds, and what is known of them from
/// other moments. Where nothing is known, if the canary of the core was quiet around it, and that
/// of the memory showed little that concerns the racers: by what they read, or as they took the
/// same in rounds where it was much slower. Deterministic.
class RaceJudge {
 public:
  struct Settings {
    double round_tolerance = 0.03;   ///< of a quiet round, above the fastest ones
    double known_tolerance = 0.05;   ///< ... above what is known
    double same_time = 0.01;         ///< rounds that differ by less took the same
    double memory_bias = 0.02;       ///< that a delay of memory may hide in such rounds
    double converged_noise = 0.004;  ///< a race decides between close ones
    double out_ratio = 1.02;         ///< slower than the leader by more in most rounds: out
    std::size_t out_rounds = 4;      ///< so many, before anybody is out
    std::size_t clean_rounds = 6;    ///< so many, before a racer is settled
    std::size_t min_converged_samples = 12;
  };
  static constexpr std::size_t kNoAnchor = static_cast<std::size_t>(-1);

  /// known_seconds: per racer, what it took in quiet moments before the race; 0: unknown. anchor:
  /// the racer that stays to the end, for the others' ratios.
  explicit RaceJudge(std::vector<double> known_seconds, std::size_t anchor = kNoAnchor);
  RaceJudge(std::vector<double> known_seconds, std::size_t anchor, const Settings& settings);

  /// Samples of a racer in the round under way; none: it has failed and left.
  void Add(std::size_t racer, std::span<const double> samples);
  void EndRound(const RoundInterference& probe_times);

  /// Does not run any more: it is slower for certain, or has failed.
  bool IsOut(std::size_t racer) const { return racers_[racer].out || racers_[racer].failed; }
  /// Nobody's place would change: all that still run are known well enough, or all are out.
  bool converged() const;
  std::size_t rounds() const { return rounds_probed_.size(); }
  std::size_t clean_rounds() const { return clean_count_; }
  bool last_round_clean() const { return !clean_.empty() && clean_.back(); }
  /// Too few rounds were quiet (of few rounds: fewer than half): times are too long, though their
  /// ratios hold.
  bool noisy() const { return clean_count_ < std::min(kFewRounds, (rounds() + 1) / 2); }

  /// From its samples of quiet rounds. Of a disturbed race from all, each divided by how much
  /// slower than in their fastest rounds the racers of its round were.
  Estimate Of(std::size_t racer) const;
  /// Share of its samples that are of quiet rounds; 0 for all of a disturbed race.
  double CleanFraction(std::size_t racer) const;

 private:
  static constexpr std::size_t kFewRounds = 3;
  struct Slice {
    std::size_t round = 0;
    double low = 0;  ///< a low quantile of the samples
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
  std::vector<double> slowdowns_;  // per round, against the floors
  std::size_t clean_count_ = 0;
};

}  // namespace tilewright::measure
