// The judge of races on made-up streams of samples: quiet, in bursts, of two modes, drifting,
// always disturbed.
#include "measure/race_judge.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "measure/evaluate/race_rounds.h"
#include "src/base/random.h"
#include "tests/support/set_clock.h"

// Races of made-up kernels on made-up machines: the truth is known, time passes where the test says
// so, and a seed makes every run the same.

namespace tilewright::measure {
namespace {

/// A machine: how much slower everything is at a moment, and whether a canary sees it.
struct Weather {
  std::string name;
  bool seen = true;  ///< by canaries
  /// Made for each seed: the slowdown at a time (1: none), and of single samples.
  std::function<std::function<double(double)>(Random&)> slowdown;
  double spikes = 0;  ///< share of single samples that take 1.35 times as long
};

/// Bursts of 0.1 to 5 s, pauses of 0.2 to 3 s.
std::function<double(double)> Bursts(Random& random) {
  std::vector<std::pair<double, double>> bursts;  // begin, end
  double at = 1000 - 5 * random.Uniform();
  while (at < 1100) {
    const double length = 0.1 + 4.9 * random.Uniform() * random.Uniform();
    bursts.emplace_back(at, at + length);
    at += length + 0.2 + 2.8 * random.Uniform();
  }
  return [bursts](double now) {
    for (const auto& [begin, end] : bursts) {
      if (now >= begin && now < end) return 1.4;
    }
    return 1.0;
  };
}

std::vector<Weather> Weathers() {
  const auto quiet = [](double) { return 1.0; };
  return {
      {"clean", true, [=](Random&) { return quiet; }},
      {"bursts", true, Bursts},
      {"bursts that no canary sees", false, Bursts},
      {"two modes", true, [=](Random&) { return quiet; }, 0.5},
      {"drift", true,
       [](Random&) {
         return [](double now) { return 1 + 0.02 * std::abs(std::sin(now - 1000)); };
       }},
      {"always disturbed", true,
       [](Random& random) {
         const double much = 1.3 + random.Uniform();
         return [much](double now) { return much * (1 + 0.1 * std::sin(40 * now)); };
       }},
  };
}

struct Raced {
  std::vector<Estimate> estimates;
  std::vector<double> shares;
  bool noisy = false;
  double seconds = 0;
  std::size_t slices = 0;
};

/// known: what trials in quiet moments said; empty: nothing.
Raced RunSimulated(const std::vector<double>& truth, const std::vector<double>& known,
                   const Weather& weather, std::uint64_t seed, double wait_seconds) {
  Random random(seed);
  SetClock clock(1000);
  const auto slowdown = weather.slowdown(random);
  RunOrder order;
  order.wait_seconds = wait_seconds;
  order.items.resize(truth.size());
  for (std::size_t i = 0; i < known.size(); ++i) order.items[i].known_seconds = known[i];
  Raced raced;
  const RaceJudge judge = RunRaceRounds(
      order, clock,
      [&](std::size_t i) {
        ++raced.slices;
        std::vector<double> samples;
        clock.now +=
            truth[i] * slowdown(clock.now);  // the first call, which brings the caches back
        for (double spent = 0; spent < 2e-3;) {
          double sample = truth[i] * slowdown(clock.now) * (1 + 0.004 * random.Uniform());
          if (random.Uniform() < weather.spikes) sample *= 1.35;
          samples.push_back(sample);
          spent += sample;
          clock.now += sample;
        }
        return samples;
      },
      [&] {
        return RoundInterference{!weather.seen || slowdown(clock.now) < 1.06, 0};
      });
  for (std::size_t i = 0; i < truth.size(); ++i) {
    raced.estimates.push_back(judge.Of(i));
    raced.shares.push_back(judge.CleanFraction(i));
  }
  raced.noisy = judge.noisy();
  raced.seconds = clock.now - 1000;
  return raced;
}

std::size_t FastestOf(const Raced& raced) {
  std::size_t fastest = 0;
  for (std::size_t i = 1; i < raced.estimates.size(); ++i) {
    if (raced.estimates[i].value < raced.estimates[fastest].value) fastest = i;
  }
  return fastest;
}

constexpr int kSeeds = 20;
const std::vector<double> kTruth = {1.3e-3, 1.284e-3, 1.35e-3, 1.28e-3, 1.6e-3, 1.42e-3};

TEST(RaceJudge, TellsTheFastestWhateverTheWeather) {
  for (const Weather& weather : Weathers()) {
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
      const Raced raced = RunSimulated(kTruth, {}, weather, seed, 10);
      const double chosen = kTruth[FastestOf(raced)];
      EXPECT_LE(chosen, 1.28e-3 * 1.01) << weather.name << ", seed " << seed;
    }
  }
}

TEST(RaceJudge, IsRightWithinThreePercentOrSaysThatItWasDisturbed) {
  for (const Weather& weather : Weathers()) {
    int noisy = 0, wrong = 0;
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
      const Raced raced = RunSimulated(kTruth, kTruth, weather, seed, 10);
      const std::size_t fastest = FastestOf(raced);
      const bool right = std::abs(raced.estimates[fastest].value / kTruth[fastest] - 1) <= 0.03;
      noisy += raced.noisy ? 1 : 0;
      wrong += !right && !raced.noisy ? 1 : 0;
      EXPECT_EQ(raced.shares[fastest] == 0, raced.noisy) << weather.name;
    }
    EXPECT_EQ(wrong, 0) << weather.name;
    if (weather.name == "always disturbed") {
      EXPECT_EQ(noisy, kSeeds);
    } else {
      EXPECT_LE(noisy, kSeeds / 20) << weather.name;
    }
  }
}

TEST(RaceJudge, WithoutWaitingABurstIsSaidToBeOne) {
  Weather weather;
  weather.slowdown = [](Random&) { return [](double now) { return now < 1005 ? 1.5 : 1.0; }; };
  for (const std::vector<double>& known : {std::vector<double>{}, kTruth}) {
    weather.seen = known.empty();  // by canaries, or by what is known
    EXPECT_TRUE(RunSimulated(kTruth, known, weather, 1, 0).noisy);
    const Raced waited = RunSimulated(kTruth, known, weather, 1, 10);
    EXPECT_FALSE(waited.noisy);
    EXPECT_GT(waited.seconds, 5);
    EXPECT_LT(waited.seconds, 6);
  }
}

TEST(RaceJudge, AQuietRaceIsShortAndDropsTheSlowOnes) {
  const Raced raced = RunSimulated(kTruth, kTruth, Weathers().front(), 1, 10);
  EXPECT_LT(raced.seconds, 0.5);
  // Four rounds of all, then those within 2 % only.
  EXPECT_LT(raced.slices, 60U);
  EXPECT_GT(raced.estimates[4].value, 1.59e-3) << "known, though it was out";
}

TEST(RaceJudge, TheAnchorStaysAndTheFailedLeave) {
  RaceJudge judge({0, 0, 0}, /*anchor=*/1);
  for (int round = 0; round < 6; ++round) {
    judge.Add(0, std::vector<double>{1.0, 1.0});
    judge.Add(1, std::vector<double>{2.0, 2.0});
    if (!judge.IsOut(2)) judge.Add(2, std::vector<double>());
    judge.EndRound({});
  }
  EXPECT_FALSE(judge.IsOut(0));
  EXPECT_FALSE(judge.IsOut(1));
  EXPECT_TRUE(judge.IsOut(2));
  EXPECT_TRUE(judge.converged());
  EXPECT_EQ(judge.Of(2).value, 0);
  EXPECT_EQ(judge.CleanFraction(0), 1);
}

// Samples from 1.273 to 2.2 ms with the same minimum for all, and canaries that saw nothing.
TEST(RaceJudge, AFewFastRoundsShowThatTheOthersWereNotQuiet) {
  RaceJudge judge({0, 0}, RaceJudge::kNoAnchor);
  for (int round = 0; round < 12; ++round) {
    const double slow = round % 4 == 3 ? 1 : 1.4;
    judge.Add(0, std::vector<double>{1.273e-3 * slow, 1.275e-3 * slow});
    judge.Add(1, std::vector<double>{1.290e-3 * slow, 1.292e-3 * slow});
    judge.EndRound({});
  }
  EXPECT_EQ(judge.clean_rounds(), 3U);
  EXPECT_FALSE(judge.noisy());
  EXPECT_NEAR(judge.Of(0).value, 1.274e-3, 2e-6);
  EXPECT_NEAR(judge.Of(1).value, 1.291e-3, 2e-6);
  EXPECT_NEAR(judge.CleanFraction(0), 0.25, 1e-9);
}

/// A race of one kernel of 1 ms whose time follows the delays of memory by so much.
RaceJudge RaceWithDelays(const std::vector<double>& delay_seconds, double follows) {
  RaceJudge judge({0}, RaceJudge::kNoAnchor);
  for (const double delay : delay_seconds) {
    const double seconds = 1e-3 + follows * delay;
    judge.Add(0, std::vector<double>{seconds, seconds * 1.001});
    judge.EndRound({true, delay});
  }
  return judge;
}

TEST(RaceJudge, ADelayOfMemoryThatTheRacersDoNotNoticeIsNoNoise) {
  EXPECT_FALSE(RaceWithDelays({150e-6, 300e-6, 100e-6, 260e-6, 200e-6, 170e-6}, 0).noisy());
  // One that they do, in all rounds alike: nobody can say what they took without it.
  EXPECT_TRUE(RaceWithDelays({200e-6, 201e-6, 200e-6, 202e-6, 200e-6, 201e-6}, 1).noisy());
  EXPECT_TRUE(RaceWithDelays({200e-6, 201e-6, 200e-6, 202e-6, 200e-6, 201e-6}, 0).noisy());
  // By turns: what is left in the fastest rounds is as much as what the others have more.
  EXPECT_TRUE(RaceWithDelays({60e-6, 120e-6, 61e-6, 119e-6, 60e-6, 125e-6}, 1).noisy());
  // Too short for any of them.
  EXPECT_FALSE(RaceWithDelays({20e-6, 21e-6, 20e-6, 22e-6, 20e-6, 21e-6}, 1).noisy());
}

}  // namespace
}  // namespace tilewright::measure
