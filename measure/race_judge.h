#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "measure/statistics.h"

namespace tilewright::measure {

/// Judges a race: which rounds were quiet, who is out, when it is decided, and what each racer takes.
///
/// All racers run once in each round, so what disturbs a round disturbs all of them, and by about the
/// same factor: they are the best canary of their own level of memory. A round is quiet if its racers
/// took about what each of them took in its fastest rounds, and what is known of them from other
/// moments; where nothing is known, if the canaries around it were quiet. Deterministic.
class RaceJudge {
 public:
  struct Settings {
    double round_tolerance = 0.03;  ///< of a quiet round, above the fastest ones
    double known_tolerance = 0.05;  ///< ... above what is known
    double settled_noise = 0.003;   ///< a race decides between close ones
    double out_ratio = 1.02;        ///< slower than the leader by more in most rounds: out
    std::size_t out_rounds = 4;     ///< so many, before anybody is out
    std::size_t quiet_rounds = 6;   ///< so many, before a racer is settled
    std::size_t settled_samples = 12;
  };
  static constexpr std::size_t kNoAnchor = static_cast<std::size_t>(-1);

  /// known_seconds: per racer, what it took in quiet moments before the race; 0: unknown. anchor:
  /// the racer that stays to the end, for the others' ratios.
  explicit RaceJudge(std::vector<double> known_seconds, std::size_t anchor = kNoAnchor);
  RaceJudge(std::vector<double> known_seconds, std::size_t anchor, const Settings& settings);

  /// Samples of a racer in the round under way; none: it has failed and left.
  void Add(std::size_t racer, std::span<const double> samples);
  /// canaries_quiet: of those around the round.
  void EndRound(bool canaries_quiet);

  /// Does not run any more: it is slower for certain, or has failed.
  bool IsOut(std::size_t racer) const { return racers_[racer].out || racers_[racer].failed; }
  /// Nobody's place would change: all that still run are known well enough, or all are out.
  bool settled() const;
  std::size_t rounds() const { return canaries_quiet_.size(); }
  std::size_t quiet_rounds() const { return quiet_count_; }
  bool last_round_quiet() const { return !quiet_.empty() && quiet_.back(); }
  /// Too few rounds were quiet (of few rounds: fewer than half): times are too long, though their
  /// ratios hold.
  bool disturbed() const { return quiet_count_ < std::min(kFewRounds, (rounds() + 1) / 2); }

  /// From its samples of quiet rounds. Of a disturbed race from all, each divided by how much slower
  /// than in their fastest rounds the racers of its round were.
  Estimate Of(std::size_t racer) const;
  /// Share of its samples that are of quiet rounds; 0 for all of a disturbed race.
  double QuietShare(std::size_t racer) const;

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

  Settings settings_;
  std::size_t anchor_;
  std::vector<Racer> racers_;
  std::vector<bool> canaries_quiet_;  // per round
  std::vector<bool> quiet_;
  std::vector<double> slowdowns_;  // per round, against the floors
  std::size_t quiet_count_ = 0;
};

}  // namespace tilewright::measure
