// Energy counters: Linux's counters of processor packages in a fake system folder, and joules per
// call from counters with any step.

#include "measure/energy.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <filesystem>
#include <thread>

#include "measure/workers.h"
#include "src/base/files/file.h"
#include "src/templates/device.h"
#include "tests/measure/process_fixture.h"
#include "tests/support/set_clock.h"

namespace tilewright::measure {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr std::int64_t kRange = 1'000'000'000;

class PowercapTest : public testing::Test {
 protected:
  void SetUp() override {
    auto folder = ScopedTempDir::Create("tilewright-powercap-test");
    ASSERT_TRUE(folder.ok());
    folder_ = std::make_unique<ScopedTempDir>(*std::move(folder));
  }
  const std::string& folder() const { return folder_->path(); }
  void Put(const std::string& zone, const std::string& file, const std::string& text) const {
    std::filesystem::create_directory(folder() + "/" + zone);
    ASSERT_TRUE(WriteFile(folder() + "/" + zone + "/" + file, text + "\n").ok());
  }
  void PutZone(const std::string& zone, const std::string& name, std::int64_t microjoules) const {
    Put(zone, "name", name);
    Put(zone, "energy_uj", std::to_string(microjoules));
    Put(zone, "max_energy_range_uj", std::to_string(kRange));
  }
  /// Writes in place, because a counter is opened only once.
  void Count(const std::string& zone, std::int64_t microjoules) const {
    const std::string path = folder() + "/" + zone + "/energy_uj";
    const int descriptor = ::open(path.c_str(), O_WRONLY);
    ASSERT_GE(descriptor, 0);
    std::string text = std::to_string(microjoules);
    text = std::string(12 - text.size(), '0') + text + "\n";
    EXPECT_EQ(::pwrite(descriptor, text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
    ::close(descriptor);
  }
  std::string Refused() const {
    const auto counter = PowercapCounter::Open(folder());
    EXPECT_EQ(counter.status().code(), StatusCode::kUnsupported);
    return counter.status().message();
  }

 private:
  std::unique_ptr<ScopedTempDir> folder_;
};

TEST_F(PowercapTest, AddsPackagesAndNothingElse) {
  PutZone("intel-rapl:0", "package-0", 5'000'000);
  PutZone("intel-rapl:1", "package-1", 7'000'000);
  PutZone("intel-rapl:2", "psys", 9'000'000);
  PutZone("intel-rapl:0:0", "core", 1'000'000);
  PutZone("intel-rapl-mmio:0", "package-0", 5'000'000);
  auto counter = PowercapCounter::Open(folder());
  ASSERT_TRUE(counter.ok()) << counter.status().message();
  EXPECT_EQ(*counter->Joules(), 0);
  Count("intel-rapl:0", 5'250'000);
  EXPECT_DOUBLE_EQ(*counter->Joules(), 0.25);
  Count("intel-rapl:1", 9'000'000);
  for (const char* other : {"intel-rapl:2", "intel-rapl:0:0", "intel-rapl-mmio:0"}) {
    Count(other, 20'000'000);
  }
  EXPECT_DOUBLE_EQ(*counter->Joules(), 2.25);
}

TEST_F(PowercapTest, ACounterThatBeginsAgainGoesOn) {
  PutZone("intel-rapl:0", "package-0", kRange - 300'000);
  auto counter = PowercapCounter::Open(folder());
  ASSERT_TRUE(counter.ok()) << counter.status().message();
  Count("intel-rapl:0", 200'000);
  EXPECT_DOUBLE_EQ(*counter->Joules(), 0.5);
  Count("intel-rapl:0", 300'000);
  EXPECT_DOUBLE_EQ(*counter->Joules(), 0.6);
}

TEST_F(PowercapTest, SaysWhatIsMissingAndWhatToDo) {
  EXPECT_THAT(Refused(),
              AllOf(HasSubstr("no counter of energy: " + folder()), HasSubstr("intel_rapl_msr")));
  PutZone("intel-rapl:0", "psys", 1);
  EXPECT_THAT(Refused(), HasSubstr("no counter of energy"));
  Put("intel-rapl:1", "name", "package-0");
  EXPECT_THAT(Refused(),
              AllOf(HasSubstr("intel-rapl:1/energy_uj: No such file"), HasSubstr("tune as root")));
  Put("intel-rapl:1", "energy_uj", "many");
  EXPECT_THAT(Refused(), HasSubstr("max_energy_range_uj"));
  Put("intel-rapl:1", "max_energy_range_uj", "1000");
  EXPECT_THAT(Refused(), HasSubstr("'many', expected a number of microjoules"));
  Put("intel-rapl:1", "energy_uj", "1001");
  EXPECT_THAT(Refused(), HasSubstr("expected the largest number of energy_uj"));
  Put("intel-rapl:1", "energy_uj", "1000");
  EXPECT_TRUE(PowercapCounter::Open(folder()).ok());
  if (::geteuid() == 0) return;  // root may read everything
  std::filesystem::permissions(folder() + "/intel-rapl:1/energy_uj", std::filesystem::perms::none);
  EXPECT_THAT(Refused(), AllOf(HasSubstr("Permission denied"), HasSubstr("chmod a+r")));
}

TEST_F(PowercapTest, WhatCannotBeReadAnyMoreIsNoNumber) {
  PutZone("intel-rapl:0", "package-0", 500);
  auto counter = PowercapCounter::Open(folder());
  ASSERT_TRUE(counter.ok());
  std::filesystem::resize_file(folder() + "/intel-rapl:0/energy_uj", 0);
  const auto joules = counter->Joules();
  EXPECT_EQ(joules.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(joules.status().message(), HasSubstr("intel-rapl:0/energy_uj: ''"));
}

/// A device of constant power, whose counter has a step each millisecond unless set otherwise.
class FakeDevice final : public Benchmarkable, public EnergyCounter {
 public:
  bool Run(std::int64_t calls) override {
    if (++runs == failing_run) return false;
    clock.now += call_seconds * static_cast<double>(calls);
    max_calls = std::max(max_calls, calls);
    return true;
  }
  void Flush(std::int64_t) override {}
  double ProbeSeconds() override { return 0; }
  Result<double> Joules() override {
    return watts * std::floor(clock.now / real_step_seconds + 1e-9) * real_step_seconds;
  }
  double update_period_seconds() const override { return about_step_seconds; }
  Result<double> OfACall() { return JoulesPerCall(*this, *this, clock, call_seconds); }

  SetClock clock{100};
  double call_seconds = 1e-3, watts = 50;
  double about_step_seconds = 1e-3, real_step_seconds = 1e-3;
  std::int64_t max_calls = 0;
  int runs = 0, failing_run = -1;
};

TEST(JoulesPerCall, IsPowerByTime) {
  for (const double seconds : {2e-7, 1e-5, 0.3e-3, 1e-3, 7.3e-3, 0.06, 0.4, 3.0}) {
    FakeDevice device;
    device.call_seconds = seconds;
    const auto joules = device.OfACall();
    ASSERT_TRUE(joules.ok()) << joules.status().message();
    EXPECT_NEAR(*joules, 50 * seconds, 0.01 * 50 * seconds) << seconds;
    EXPECT_GE(device.clock.now - 100, 0.1);
    EXPECT_LE(device.clock.now - 100, 0.5 + 3 * seconds) << seconds;
  }
}

// Like the counters of GPU drivers, with steps of 20 to 100 ms. Wherever a measurement begins
// within a step, the error of its ends is at most that of docs/measuring.md.
TEST(JoulesPerCall, StepsOfGpusAreWaitedFor) {
  for (const double step : {0.02, 0.1}) {
    for (const double seconds : {1e-4, 4e-3, 7e-3, 0.019, 0.03, 0.07, 0.13, 0.4}) {
      const double off = seconds <= 0.02 ? 0.02 : std::min(seconds, step);
      for (int phase = 0; phase < 40; ++phase) {
        FakeDevice device;
        device.about_step_seconds = 0.02;
        device.real_step_seconds = step;
        device.call_seconds = seconds;
        device.clock.now += step * phase / 40;
        const auto joules = device.OfACall();
        ASSERT_TRUE(joules.ok()) << joules.status().message();
        EXPECT_NEAR(*joules / (50 * seconds), 1, off) << step << " " << seconds << " " << phase;
        EXPECT_LE(device.clock.now - 100, 1.4 + 3 * seconds) << step << " " << seconds;
      }
    }
  }
}

TEST(JoulesPerCall, ShortCallsAreMadeInBatches) {
  FakeDevice device;
  device.call_seconds = 1e-6;
  ASSERT_TRUE(device.OfACall().ok());
  EXPECT_NEAR(static_cast<double>(device.max_calls), 250, 1);
  EXPECT_LT(device.runs, 500);
}

TEST(JoulesPerCall, ACounterThatStandsStillIsNoNumber) {
  FakeDevice device;
  device.watts = 0;
  const auto joules = device.OfACall();
  EXPECT_EQ(joules.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(joules.status().message(), HasSubstr("stood still"));
}

TEST(CheckCounterAdvances, WaitsForAStep) {
  FakeDevice device;
  EXPECT_TRUE(CheckCounterAdvances(device, device.clock).ok());
  EXPECT_LT(device.clock.now, 100.01);
  device.watts = 0;
  const Status stands = CheckCounterAdvances(device, device.clock);
  EXPECT_EQ(stands.code(), StatusCode::kUnavailable);
  EXPECT_THAT(stands.message(), HasSubstr("stood still for 0.5 s"));
}

TEST(JoulesPerCall, ACallThatFailsEndsIt) {
  FakeDevice device;
  device.failing_run = 5;
  EXPECT_EQ(device.OfACall().status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(device.runs, 5);
}

TEST(CheckEnergyCounter, LooksWhereTheDeviceIs) {
  RunWorkerSettings settings;
  settings.powercap = "/no/such/folder";
  settings.cuda.library = settings.cuda.nvml = FAKE_CUDA;
  const Target cpu = *Target::Parse("llvm"), gpu = *Target::Parse("cuda -arch=sm_80");
  EXPECT_THAT(CheckEnergyCounter(cpu, settings).message(), HasSubstr("/no/such/folder"));
  EXPECT_TRUE(CheckEnergyCounter(gpu, settings).ok());
  const auto refused = [&](const char* nvml) {
    settings.cuda.nvml = nvml;
    const Status status = CheckEnergyCounter(gpu, settings);
    EXPECT_EQ(status.code(), StatusCode::kUnsupported);
    return status.message();
  };
  EXPECT_THAT(refused(FAKE_CUDA_NO_GRAPHS), HasSubstr("Volta"));
  EXPECT_THAT(refused("libno_such_library.so"), HasSubstr("cannot be loaded"));
}

/// Fixture whose counter runs during the object's lifetime.
class EnergyOfWorkersTest : public PowercapTest {
 protected:
  void SetUp() override {
    PowercapTest::SetUp();
    PutZone("intel-rapl:0", "package-0", 100'000'000'000);
    Put("intel-rapl:0", "max_energy_range_uj", "900000000000");
    counting_ = std::thread([this] {
      for (std::int64_t i = 0; !stop_; ++i) {
        Count("intel-rapl:0", 100'000'000'000 + 20'000 * i);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    });
  }
  void TearDown() override {
    stop_ = true;
    counting_.join();
  }

 private:
  std::atomic<bool> stop_ = false;
  std::thread counting_;
};

ProcessMeasurerSettings SettingsWithJoules(const std::string& folder) {
  ProcessMeasurerSettings settings = TestSettings();
  settings.runner.calibrate = false;
  settings.runner.joules = true;
  settings.runner.powercap = folder;
  return settings;
}

// Otherwise they would become results of all candidates.
TEST_F(PowercapTest, WhatACounterLacksIsNoTrial) {
  PutZone("intel-rapl:0", "package-0", 500);
  auto measurer = ProcessMeasurer::Create(SettingsWithJoules(folder()));
  ASSERT_TRUE(measurer.ok()) << measurer.status().message();
  const Fault right = ArtifactFault("good");
  ASSERT_TRUE((*measurer)->SubmitWithFault(RequestFor(1, DenseCandidate()), right).ok());
  const auto reply = (*measurer)->Next(120);
  EXPECT_EQ(reply.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(reply.status().message(), AllOf(HasSubstr("the counter of energy stood still"),
                                              HasSubstr("tune without the metric joules")));
}

// The failure of a candidate becomes a trial even if the counter fails.
TEST_F(PowercapTest, WhatACandidateLacksIsOneWhateverTheCounterDoes) {
  PutZone("intel-rapl:0", "package-0", 500);
  auto measurer = ProcessMeasurer::Create(SettingsWithJoules(folder()));
  ASSERT_TRUE(measurer.ok()) << measurer.status().message();
  const Fault wrong = ArtifactFault("wrong_lane");
  ASSERT_TRUE((*measurer)->SubmitWithFault(RequestFor(1, DenseCandidate()), wrong).ok());
  const Trial trial = NextReply(**measurer).trial;
  EXPECT_EQ(trial.outcome, Outcome::kWrongResult) << trial.reason;
}

// The counter is read in the candidate's process, which may not open files. This includes
// candidates whose timing is cut short.
TEST_F(EnergyOfWorkersTest, TrialsSayJoulesWhereTheyAreAskedTo) {
  auto measurer = ProcessMeasurer::Create(SettingsWithJoules(folder()));
  ASSERT_TRUE(measurer.ok()) << measurer.status().message();
  EXPECT_TRUE((*measurer)->measures_energy());
  const Fault right = ArtifactFault("good"), slow = ArtifactFault("much_slower");
  for (const Fault& artifact : {right, slow}) {
    ASSERT_TRUE((*measurer)->SubmitWithFault(RequestFor(1, DenseCandidate()), artifact).ok());
    const Trial trial = NextReply(**measurer).trial;
    ASSERT_EQ(trial.outcome, Outcome::kOk) << trial.reason;
    EXPECT_GT(trial.ValueOf(kJoules).value_or(0), 0);
    EXPECT_EQ(trial.verified, artifact == right);
  }
}

}  // namespace
}  // namespace tilewright::measure
