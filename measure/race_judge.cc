#include "measure/race_judge.h"

#include <algorithm>
#include <utility>

namespace tilewright::measure {
namespace {

/// The second fastest of several, so that one round's luck does not make all others look slow.
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

void RaceJudge::EndRound(const RoundCanaries& canaries) {
  canaries_.push_back(canaries);
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

/// All of them anew: a faster round shows that earlier ones were not quiet.
void RaceJudge::JudgeRounds() {
  std::vector<std::vector<double>> own(rounds()), known(rounds());
  for (const Racer& racer : racers_) {
    for (const Slice& slice : racer.slices) {
      if (slice.round >= rounds() || racer.floor <= 0) continue;
      own[slice.round].push_back(slice.low / racer.floor);
      if (racer.known > 0) known[slice.round].push_back(slice.low / racer.known);
    }
  }
  quiet_.assign(rounds(), false);
  slowdowns_.assign(rounds(), 1);
  quiet_count_ = 0;
  for (std::size_t round = 0; round < rounds(); ++round) {
    if (!own[round].empty()) slowdowns_[round] = Median(own[round]);
  }
  const bool memory_matters = MemoryMatters();
  for (std::size_t round = 0; round < rounds(); ++round) {
    if (own[round].empty()) continue;
    // The racers themselves are better witnesses than any canary.
    const bool as_known = known[round].empty()
                              ? CanariesQuiet(round, memory_matters)
                              : Median(known[round]) <= 1 + settings_.known_tolerance;
    quiet_[round] = as_known && slowdowns_[round] <= 1 + settings_.round_tolerance;
    quiet_count_ += quiet_[round] ? 1 : 0;
  }
}

/// Rounds that took the same though memory was delayed by more in some of them than in others: the
/// least delay among them hides at most what it is of that difference.
bool RaceJudge::MemoryMatters() const {
  std::vector<double> delays;
  for (std::size_t round = 0; round < rounds(); ++round) {
    if (canaries_[round].core_quiet && slowdowns_[round] <= 1 + settings_.same_time) {
      delays.push_back(canaries_[round].memory_delay_seconds);
    }
  }
  if (delays.size() < kFewRounds) return true;
  const auto [least, most] = std::ranges::minmax(delays);
  return settings_.same_time * least > settings_.memory_bias * (most - least);
}

bool RaceJudge::CanariesQuiet(std::size_t round, bool memory_matters) const {
  if (!canaries_[round].core_quiet) return false;
  if (!memory_matters) return true;
  double shortest = 0;
  for (const Racer& racer : racers_) {
    if (racer.floor > 0 && (shortest == 0 || racer.floor < shortest)) shortest = racer.floor;
  }
  return canaries_[round].memory_delay_seconds <= MemoryWatch::kMaxDelay * shortest;
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

bool RaceJudge::settled() const {
  for (std::size_t i = 0; i < racers_.size(); ++i) {
    if (IsOut(i)) continue;
    std::size_t rounds = 0, samples = 0;
    for (const Slice& slice : racers_[i].slices) {
      if (slice.round >= quiet_.size() || !quiet_[slice.round]) continue;
      ++rounds;
      samples += slice.samples.size();
    }
    if (rounds < settings_.quiet_rounds || samples < settings_.settled_samples) return false;
    if (Of(i).noise > settings_.settled_noise) return false;
  }
  return true;
}

Estimate RaceJudge::Of(std::size_t racer) const {
  std::vector<double> quiet, corrected, all;
  for (const Slice& slice : racers_[racer].slices) {
    const bool judged = slice.round < quiet_.size();
    const double slowdown = judged ? std::max(1.0, slowdowns_[slice.round]) : 1;
    for (const double sample : slice.samples) {
      all.push_back(sample);
      corrected.push_back(sample / slowdown);
      if (judged && quiet_[slice.round]) quiet.push_back(sample);
    }
  }
  if (all.empty()) return {};
  if (!noisy() && !quiet.empty()) return EstimateOf(quiet);
  Estimate estimate = EstimateOf(corrected);
  estimate.value = std::max(estimate.value, *std::min_element(all.begin(), all.end()));
  return estimate;
}

double RaceJudge::QuietShare(std::size_t racer) const {
  std::size_t quiet = 0, all = 0;
  for (const Slice& slice : racers_[racer].slices) {
    all += slice.samples.size();
    if (slice.round < quiet_.size() && quiet_[slice.round]) quiet += slice.samples.size();
  }
  return all == 0 || noisy() ? 0 : static_cast<double>(quiet) / static_cast<double>(all);
}

}  // namespace tilewright::measure
