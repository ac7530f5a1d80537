#include "measure/fleet/device_registry.h"

#include <gtest/gtest.h>

#include <tuple>

#include "measure/fleet/fake_executor.h"
#include "src/base/clock.h"

namespace tilewright::measure::fleet {
namespace {

const DeviceName kDevice{"w", "d0"};

/// A device with one baseline kernel and continuous heartbeats. Each of its baselines takes `cost`.
class OneDevice {
 public:
  explicit OneDevice(double cost) : cost_(cost) {
    here_.instance = "i";
    here_.measures = here_.builds = true;
    device_registry_.AddKernel();
  }
  /// Returns the seconds from one baseline to the next.
  double Interval() {
    NextBaseline();
    return NextBaseline();
  }
  /// Returns the seconds until the next baseline.
  double NextBaseline() {
    const double before = now_;
    for (now_ += 1; !Measure(); now_ += 1) {
    }
    return now_ - before;
  }
  void SetProbe(double seconds) { here_.probe_seconds = seconds; }
  void Refresh() { device_registry_.Refresh(kDevice, here_, now_); }

 private:
  bool Measure() {
    device_registry_.Refresh(kDevice, here_, now_);
    const auto due = device_registry_.TakeBaselines(now_, /*built=*/false);
    if (due.empty()) return false;
    EXPECT_EQ(due.size(), 1u);
    EXPECT_EQ(device_registry_.AddBaseline(kDevice, due[0].kernel, 1e-3, cost_, now_),
              DeviceRegistry::BaselineResult::kGood);
    return true;
  }
  DeviceRegistry device_registry_{DeviceRegistry::Settings()};
  Announcement here_;
  const double cost_;
  double now_ = 100;
};

TEST(DeviceRegistryTest, BaselinesTakeASmallShareOfADevicesTime) {
  EXPECT_EQ(OneDevice(0.2).Interval(), 60);
  EXPECT_EQ(OneDevice(4).Interval(), 200);
  EXPECT_EQ(OneDevice(100).Interval(), 300);
}

TEST(DeviceRegistryTest, AProbeThatMovedAsksForABaseline) {
  for (const auto& [cost, usual, soon] :
       {std::tuple(4.0, 200.0, 40.0), std::tuple(0.2, 60.0, 30.0)}) {
    OneDevice device(cost);
    device.SetProbe(30e-6);
    EXPECT_EQ(device.Interval(), usual);
    device.SetProbe(30.5e-6);  // equal within the resolution
    EXPECT_EQ(device.NextBaseline(), usual);
    device.SetProbe(33e-6);
    EXPECT_EQ(device.NextBaseline(), soon);
    // The last baseline is measured at the current probe time.
    EXPECT_EQ(device.NextBaseline(), usual);
    device.SetProbe(30e-6);
    EXPECT_EQ(device.NextBaseline(), soon);
    device.SetProbe(0);  // unknown
    EXPECT_EQ(device.NextBaseline(), usual);
  }
}

TEST(DeviceRegistryTest, AProbeThatMovesDuringABaselineAsksForAnotherOne) {
  DeviceRegistry device_registry{DeviceRegistry::Settings()};
  Announcement announcement;
  announcement.instance = "i";
  announcement.measures = announcement.builds = true;
  announcement.probe_seconds = 30e-6;
  device_registry.AddKernel();
  device_registry.Refresh(kDevice, announcement, 1);
  EXPECT_EQ(device_registry.TakeBaselines(1, /*built=*/false).size(), 1u);
  announcement.probe_seconds = 33e-6;
  device_registry.Refresh(kDevice, announcement, 2);
  EXPECT_EQ(device_registry.AddBaseline(kDevice, 0, 1e-3, 0.2, 3),
            DeviceRegistry::BaselineResult::kGood);
  EXPECT_TRUE(device_registry.TakeBaselines(30, /*built=*/false).empty());
  EXPECT_EQ(device_registry.TakeBaselines(31, /*built=*/false).size(), 1u);
}

TEST(DeviceRegistryTest, TheFirstBaselineStandsForTheFirstCanary) {
  OneDevice device(0.2);
  device.NextBaseline();  // a device that has not run anything has no probe time yet
  device.SetProbe(30e-6);
  device.Refresh();
  device.SetProbe(33e-6);
  EXPECT_EQ(device.NextBaseline(), 30);
}

TEST(DeviceRegistryTest, WhoMayBeAsBeforeIsAskedOnceMoreAtOnce) {
  DeviceRegistry device_registry{DeviceRegistry::Settings()};
  Announcement announcement;
  announcement.instance = "i";
  announcement.measures = announcement.builds = true;
  announcement.probe_seconds = 30e-6;
  device_registry.AddKernel();
  double now = 1;
  const auto measure = [&](double value) {
    device_registry.Refresh(kDevice, announcement, now);
    EXPECT_EQ(device_registry.TakeBaselines(now, /*built=*/false).size(), 1u) << now;
    return device_registry.AddBaseline(kDevice, 0, value, 0.2, now);
  };
  EXPECT_EQ(measure(1.0e-3), DeviceRegistry::BaselineResult::kGood);
  now += 60;
  EXPECT_EQ(measure(1.1e-3), DeviceRegistry::BaselineResult::kBad);
  EXPECT_EQ(measure(1.1e-3), DeviceRegistry::BaselineResult::kDrifted);
  EXPECT_TRUE(device_registry.TakeBaselines(now, /*built=*/false).empty());
  now += 60;
  EXPECT_EQ(measure(1.0e-3), DeviceRegistry::BaselineResult::kNone);
  EXPECT_EQ(measure(1.0e-3), DeviceRegistry::BaselineResult::kRecovered);
}

TEST(FakeExecutorTest, HasNoCanaryBeforeItsFirstTrialIsOver) {
  SystemClock clock;
  FakeExecutor::Settings settings;
  settings.seconds = 0;
  FakeExecutor executor(settings, clock);
  EXPECT_EQ(executor.probe_seconds(), 0);
  Order order;
  order.stage = Stage::kWhole;
  order.candidates.emplace_back();
  executor.Start(1, order, {});
  EXPECT_EQ(executor.Take().size(), 1u);
  EXPECT_GT(executor.probe_seconds(), 0);
}

TEST(DeviceRegistryTest, WhoCannotBuildWaitsForWhatIsBuilt) {
  DeviceRegistry device_registry{DeviceRegistry::Settings()};
  Announcement announcement;
  announcement.instance = "i";
  announcement.measures = true;
  device_registry.AddKernel();
  device_registry.AddKernel();
  device_registry.Refresh(kDevice, announcement, 1);
  EXPECT_TRUE(device_registry.TakeBaselines(1, /*built=*/false).empty());
  EXPECT_EQ(device_registry.TakeBaselines(1, /*built=*/true).size(), 2u);
  EXPECT_TRUE(device_registry.TakeBaselines(2, /*built=*/true).empty());
}

}  // namespace
}  // namespace tilewright::measure::fleet
