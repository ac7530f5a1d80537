#include "measure/fleet/roster.h"

#include <gtest/gtest.h>

#include <tuple>

#include "measure/fleet/made_up_bench.h"
#include "src/base/clock.h"

namespace tilewright::measure::fleet {
namespace {

const DeviceName kDevice{"w", "d0"};

/// A device with one baseline kernel, heard all the time, each of whose baselines takes `cost`.
class OneDevice {
 public:
  explicit OneDevice(double cost) : cost_(cost) {
    here_.instance = "i";
    here_.measures = here_.builds = true;
    roster_.AddKernel();
  }
  /// Seconds from one baseline to the next.
  double Interval() {
    NextBaseline();
    return NextBaseline();
  }
  /// Seconds until the next one.
  double NextBaseline() {
    const double before = now_;
    for (now_ += 1; !Measure(); now_ += 1) {
    }
    return now_ - before;
  }
  void SetCanary(double seconds) { here_.canary_seconds = seconds; }
  void Hear() { roster_.Hear(kDevice, here_, now_); }

 private:
  bool Measure() {
    roster_.Hear(kDevice, here_, now_);
    const auto due = roster_.TakeBaselines(now_, /*built=*/false);
    if (due.empty()) return false;
    EXPECT_EQ(due.size(), 1u);
    EXPECT_EQ(roster_.AddBaseline(kDevice, due[0].kernel, 1e-3, cost_, now_),
              Roster::Verdict::kGood);
    return true;
  }
  Roster roster_{Roster::Settings()};
  Here here_;
  const double cost_;
  double now_ = 100;
};

TEST(RosterTest, BaselinesTakeASmallShareOfADevicesTime) {
  EXPECT_EQ(OneDevice(0.2).Interval(), 60);
  EXPECT_EQ(OneDevice(4).Interval(), 200);
  EXPECT_EQ(OneDevice(100).Interval(), 300);
}

TEST(RosterTest, ACanaryThatMovedAsksForABaseline) {
  for (const auto& [cost, usual, soon] :
       {std::tuple(4.0, 200.0, 40.0), std::tuple(0.2, 60.0, 30.0)}) {
    OneDevice device(cost);
    device.SetCanary(30e-6);
    EXPECT_EQ(device.Interval(), usual);
    device.SetCanary(30.5e-6);  // the same, as far as that can be told
    EXPECT_EQ(device.NextBaseline(), usual);
    device.SetCanary(33e-6);
    EXPECT_EQ(device.NextBaseline(), soon);
    // What it is now is what the last baseline stands for.
    EXPECT_EQ(device.NextBaseline(), usual);
    device.SetCanary(30e-6);
    EXPECT_EQ(device.NextBaseline(), soon);
    device.SetCanary(0);  // nobody knows
    EXPECT_EQ(device.NextBaseline(), usual);
  }
}

TEST(RosterTest, ACanaryThatMovesDuringABaselineAsksForAnotherOne) {
  Roster roster{Roster::Settings()};
  Here here;
  here.instance = "i";
  here.measures = here.builds = true;
  here.canary_seconds = 30e-6;
  roster.AddKernel();
  roster.Hear(kDevice, here, 1);
  EXPECT_EQ(roster.TakeBaselines(1, /*built=*/false).size(), 1u);
  here.canary_seconds = 33e-6;
  roster.Hear(kDevice, here, 2);
  EXPECT_EQ(roster.AddBaseline(kDevice, 0, 1e-3, 0.2, 3), Roster::Verdict::kGood);
  EXPECT_TRUE(roster.TakeBaselines(30, /*built=*/false).empty());
  EXPECT_EQ(roster.TakeBaselines(31, /*built=*/false).size(), 1u);
}

TEST(RosterTest, TheFirstBaselineStandsForTheFirstCanary) {
  OneDevice device(0.2);
  device.NextBaseline();  // a device that has run nothing has no canary yet
  device.SetCanary(30e-6);
  device.Hear();
  device.SetCanary(33e-6);
  EXPECT_EQ(device.NextBaseline(), 30);
}

TEST(RosterTest, WhoMayBeAsBeforeIsAskedOnceMoreAtOnce) {
  Roster roster{Roster::Settings()};
  Here here;
  here.instance = "i";
  here.measures = here.builds = true;
  here.canary_seconds = 30e-6;
  roster.AddKernel();
  double now = 1;
  const auto measure = [&](double value) {
    roster.Hear(kDevice, here, now);
    EXPECT_EQ(roster.TakeBaselines(now, /*built=*/false).size(), 1u) << now;
    return roster.AddBaseline(kDevice, 0, value, 0.2, now);
  };
  EXPECT_EQ(measure(1.0e-3), Roster::Verdict::kGood);
  now += 60;
  EXPECT_EQ(measure(1.1e-3), Roster::Verdict::kBad);
  EXPECT_EQ(measure(1.1e-3), Roster::Verdict::kDrifted);
  EXPECT_TRUE(roster.TakeBaselines(now, /*built=*/false).empty());
  now += 60;
  EXPECT_EQ(measure(1.0e-3), Roster::Verdict::kNone);
  EXPECT_EQ(measure(1.0e-3), Roster::Verdict::kBack);
}

TEST(MadeUpBenchTest, HasNoCanaryBeforeItsFirstTrialIsOver) {
  SystemClock clock;
  MadeUpBench::Settings settings;
  settings.seconds = 0;
  MadeUpBench bench(settings, clock);
  EXPECT_EQ(bench.canary_seconds(), 0);
  Order order;
  order.stage = Stage::kWhole;
  order.candidates.emplace_back();
  bench.Start(1, order, {});
  EXPECT_EQ(bench.Take().size(), 1u);
  EXPECT_GT(bench.canary_seconds(), 0);
}

TEST(RosterTest, WhoCannotBuildWaitsForWhatIsBuilt) {
  Roster roster{Roster::Settings()};
  Here here;
  here.instance = "i";
  here.measures = true;
  roster.AddKernel();
  roster.AddKernel();
  roster.Hear(kDevice, here, 1);
  EXPECT_TRUE(roster.TakeBaselines(1, /*built=*/false).empty());
  EXPECT_EQ(roster.TakeBaselines(1, /*built=*/true).size(), 2u);
  EXPECT_TRUE(roster.TakeBaselines(2, /*built=*/true).empty());
}

}  // namespace
}  // namespace tilewright::measure::fleet
