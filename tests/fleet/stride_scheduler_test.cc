#include "measure/fleet/stride_scheduler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace tilewright::measure::fleet {
namespace {

constexpr double kOrder = 0.1;

JobName Numbered(int job) { return {"alice", "job" + std::to_string(job)}; }

/// Lets a device run one order and returns its job; `may` tells which jobs have work.
template <typename May>
int DoOne(StrideScheduler& device, int jobs, May may) {
  const auto chosen = device.Choose([&](const JobName& name) {
    for (int job = 0; job < jobs; ++job) {
      if (name == Numbered(job)) return may(job);
    }
    return false;
  });
  if (!chosen) return -1;
  device.Settle(*chosen, device.Charge(*chosen), kOrder);
  for (int job = 0; job < jobs; ++job) {
    if (*chosen == Numbered(job)) return job;
  }
  return -1;
}

/// Returns the largest error of a share of 20 jobs over 40 seconds. Job `first` starts before the
/// others and runs alone on 64 devices for `before` orders.
double WorstShare(int first, int before) {
  constexpr int kDevices = 64, kJobs = 20, kOrders = 400, kStart = 60;
  const auto weight = [](int job) { return job < 8 ? 1.0 : job < 15 ? 2.0 : 4.0; };
  constexpr double kWeights = 42;
  std::vector<double> had(kJobs, 0);
  for (std::uint64_t i = 0; i < kDevices; ++i) {
    StrideScheduler device(i);
    const auto all = [](int) { return true; };
    device.Set(Numbered(first), weight(first));
    for (int order = 0; order < before; ++order) DoOne(device, kJobs, all);
    for (int job = 0; job < kJobs; ++job) device.Set(Numbered(job), weight(job));
    for (int order = 0; order < kStart; ++order) DoOne(device, kJobs, all);
    for (int order = 0; order < kOrders; ++order) {
      had[static_cast<std::size_t>(DoOne(device, kJobs, all))] += 1;
    }
  }
  double worst = 0;
  for (int job = 0; job < kJobs; ++job) {
    const double asked = kDevices * kOrders * weight(job) / kWeights;
    worst = std::max(worst, std::abs(had[static_cast<std::size_t>(job)] / asked - 1));
  }
  return worst;
}

// The job of the smallest weight is entitled to 9.52 orders of a device, including the first one:
// half of the devices run 9 of them, the others 10.
TEST(FairSharesTest, DevicesDoNotRoundAlike) {
  EXPECT_LT(WorstShare(0, 0), 0.025);
  EXPECT_LT(WorstShare(0, 7), 0.025);
  EXPECT_LT(WorstShare(3, 1), 0.025);
}

TEST(FairSharesTest, AJobThatHadNothingToDoIsOwedOneOrder) {
  StrideScheduler device(1);
  for (int job = 0; job < 3; ++job) device.Set(Numbered(job), 1);
  const auto others = [](int job) { return job != 0; };
  for (int order = 0; order < 100; ++order) {
    EXPECT_NE(DoOne(device, 3, others), 0);
    device.Idle(Numbered(0));
  }
  int in_row = 0, most = 0;
  const auto all = [](int) { return true; };
  for (int order = 0; order < 30; ++order) {
    in_row = DoOne(device, 3, all) == 0 ? in_row + 1 : 0;
    most = std::max(most, in_row);
  }
  EXPECT_LE(most, 2);
}

}  // namespace
}  // namespace tilewright::measure::fleet
