#include "measure/race_judge.h"

#include <algorithm>
#include <utility>

namespace tilewright::measure {
namespace {

/// Second fastest of several values, so that one fast round does not make all others appear slow.
double FloorOf(std::vector<double> lows) {
  if (lows.empty()) return 0;
  std::sort(lows.begin(), lows.end());
  return lows.size() >= 3 ? lows[1] : lows[0];
}

}  // namespace

RaceJudge::RaceJudge(std::vector<double> known_seconds, std::size_t anchor)
    : RaceJudge(std::move(known_seconds), anchor, Settings()) {}

RaceJudge::RaceJudge(std::vector<double> known_seconds, std::size_t anchor,
                     const Settings& settings)
    : settings_(settings), anchor_(anchor), racers_(known_seconds.size()) {
  for (std::size_t i = 0; i < racers_.size(); ++i) racers_[i].known = known_seconds[i];
}

void RaceJudge::Add(std::size_t racer, std::span<const double> samples) {
  Racer& one = racers_[racer];
  if (samples.empty()) {
    one.failed = true;
    return;
  }
  one.slices.push_back(
      {rounds(), EstimateOf(samples).value, std::vector<double>(samples.begin(), samples.end())});
}

void RaceJudge::EndRound(const RoundInterference& probe_times) {
  rounds_probed_.push_back(probe_times);
  FindFloors();
  JudgeRounds();
  FindOut();
}

void RaceJudge::FindFloors() {
  for (Racer& racer : racers_) {
    std::vector<double> lows;
    for (const Slice& slice : racer.slices) lows.push_back(slice.low);
    racer.floor = FloorOf(std::move(lows));
  }
}

/// Classifies all rounds again: a faster round shows that earlier ones were not clean.
void RaceJudge::JudgeRounds() {
  std::vector<std::vector<double>> own(rounds()), known(rounds());
  for (const Racer& racer : racers_) {
    for (const Slice& slice : racer.slices) {
      if (slice.round >= rounds() || racer.floor <= 0) continue;
      own[slice.round].push_back(slice.low / racer.floor);
      if (racer.known > 0) known[slice.round].push_back(slice.low / racer.known);
    }
  }
  clean_.assign(rounds(), false);
  slowdowns_.assign(rounds(), 1);
  clean_count_ = 0;
  for (std::size_t round = 0; round < rounds(); ++round) {
    if (!own[round].empty()) slowdowns_[round] = Median(own[round]);
  }
  const bool memory_matters = MemoryMatters();
  for (std::size_t round = 0; round < rounds(); ++round) {
    if (own[round].empty()) continue;
    // The contenders themselves are a better indicator than any probe.
    const bool as_known = known[round].empty()
                              ? ProbesClean(round, memory_matters)
                              : Median(known[round]) <= 1 + settings_.known_tolerance;
    clean_[round] = as_known && slowdowns_[round] <= 1 + settings_.round_tolerance;
    clean_count_ += clean_[round] ? 1 : 0;
  }
}

/// Returns false if rounds took the same time with different memory delays: the smallest of these
/// delays hides at most a fraction of their difference.
bool RaceJudge::MemoryMatters() const {
  std::vector<double> delays;
  for (std::size_t round = 0; round < rounds(); ++round) {
    if (rounds_probed_[round].core_clean && slowdowns_[round] <= 1 + settings_.same_time) {
      delays.push_back(rounds_probed_[round].memory_delay_seconds);
    }
  }
  if (delays.size() < kFewRounds) return true;
  const auto [least, most] = std::ranges::minmax(delays);
  return settings_.same_time * least > settings_.memory_bias * (most - least);
}

bool RaceJudge::ProbesClean(std::size_t round, bool memory_matters) const {
  if (!rounds_probed_[round].core_clean) return false;
  if (!memory_matters) return true;
  double shortest = 0;
  for (const Racer& racer : racers_) {
    if (racer.floor > 0 && (shortest == 0 || racer.floor < shortest)) shortest = racer.floor;
  }
  return rounds_probed_[round].memory_delay_seconds <= MemoryDelayEstimator::kMaxDelay * shortest;
}

void RaceJudge::FindOut() {
  std::size_t leader = racers_.size();
  for (std::size_t i = 0; i < racers_.size(); ++i) {
    if (IsOut(i) || racers_[i].floor <= 0) continue;
    if (leader == racers_.size() || Of(i).value < Of(leader).value) leader = i;
  }
  if (leader == racers_.size()) return;
  std::vector<double> leads(rounds(), 0);
  for (const Slice& slice : racers_[leader].slices) leads[slice.round] = slice.low;
  for (std::size_t i = 0; i < racers_.size(); ++i) {
    if (i == leader || i == anchor_ || IsOut(i)) continue;
    std::vector<double> ratios;
    for (const Slice& slice : racers_[i].slices) {
      if (leads[slice.round] > 0) ratios.push_back(slice.low / leads[slice.round]);
    }
    if (ratios.size() < settings_.out_rounds) continue;
    std::sort(ratios.begin(), ratios.end());
    racers_[i].out = ratios[ratios.size() / 4] > settings_.out_ratio;
  }
}

bool RaceJudge::converged() const {
  for (std::size_t i = 0; i < racers_.size(); ++i) {
    if (IsOut(i)) continue;
    std::size_t rounds = 0, samples = 0;
    for (const Slice& slice : racers_[i].slices) {
      if (slice.round >= clean_.size() || !clean_[slice.round]) continue;
      ++rounds;
      samples += slice.samples.size();
    }
    if (rounds < settings_.clean_rounds || samples < settings_.min_converged_samples) return false;
    if (Of(i).noise > settings_.converged_noise) return false;
  }
  return true;
}

Estimate RaceJudge::Of(std::size_t racer) const {
  std::vector<double> clean, corrected, all;
  for (const Slice& slice : racers_[racer].slices) {
    const bool judged = slice.round < clean_.size();
    const double slowdown = judged ? std::max(1.0, slowdowns_[slice.round]) : 1;
    for (const double sample : slice.samples) {
      all.push_back(sample);
      corrected.push_back(sample / slowdown);
      if (judged && clean_[slice.round]) clean.push_back(sample);
    }
  }
  if (all.empty()) return {};
  if (!noisy() && !clean.empty()) return EstimateOf(clean);
  Estimate estimate = EstimateOf(corrected);
  estimate.value = std::max(estimate.value, *std::min_element(all.begin(), all.end()));
  return estimate;
}

double RaceJudge::CleanFraction(std::size_t racer) const {
  std::size_t clean = 0, all = 0;
  for (const Slice& slice : racers_[racer].slices) {
    all += slice.samples.size();
    if (slice.round < clean_.size() && clean_[slice.round]) clean += slice.samples.size();
  }
  return all == 0 || noisy() ? 0 : static_cast<double>(clean) / static_cast<double>(all);
}

}  // namespace tilewright::measure
