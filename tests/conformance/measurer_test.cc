// Contract of the measurer of every device. A new device is one more line in kDevices.

#include "measure/measurer.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <set>
#include <utility>

#include "measure/null_measurer.h"
#include "measure/supervisor/process_measurer.h"
#include "src/base/clock.h"
#include "src/templates/device.h"
#include "src/templates/registry.h"
#include "tests/support/built_in.h"
#include "tests/support/opencl.h"

namespace tilewright::measure {
namespace {

constexpr const char* kCpu = "llvm";
constexpr const char* kDense = "dense(float32[1,64]MK,float32[48,64]NK)->float32";
constexpr const char* kVta = "vta -model=sim_1x16_i8w8a32_15_15_18_17";
constexpr const char* kPacked =
    "conv2d(int8[1,2,6,6,1,16]NCHW1n16c,int8[2,2,3,3,16,16]OIHW16o16i,s1x1,p1x1x1x1,d1x1,g1)->"
    "int32";
constexpr const char* kNarrow = "add(channel:int32);shift_right(7);clip(-127,127);cast(int8)";

std::unique_ptr<Measurer> MakeCpu(Clock&) {
  ProcessMeasurerSettings settings;
  settings.build_command = {MEASURE_WORKER, "build"};
  settings.run_commands = {{MEASURE_WORKER, "run"}};
  settings.build_limit_seconds = 60;
  auto made = ProcessMeasurer::Create(settings);
  TW_CHECK(made.ok(), made.status().message());
  return *std::move(made);
}

/// Null without a device.
std::unique_ptr<Measurer> MakeOpenCl(Clock&) {
  if (!WhyNoOpenCl().empty()) return nullptr;
  ProcessMeasurerSettings settings;
  settings.build_command = {MEASURE_WORKER, "build"};
  settings.run_commands = {{MEASURE_WORKER, "run"}};
  settings.build_limit_seconds = 60;
  settings.device = FingerprintOf(OpenClDevices()->front());
  settings.runner.calibrate = false;
  auto made = ProcessMeasurer::Create(settings);
  TW_CHECK(made.ok(), made.status().message());
  return *std::move(made);
}

std::unique_ptr<Measurer> MakeVta(Clock&) {
  ProcessMeasurerSettings settings;
  settings.build_command = {MEASURE_WORKER, "build"};
  settings.run_commands = {{MEASURE_WORKER, "run"}};
  settings.device = *DeviceFor(*Target::Parse(kVta));
  settings.runner.calibrate = false;
  auto made = ProcessMeasurer::Create(settings);
  TW_CHECK(made.ok(), made.status().message());
  return *std::move(made);
}

std::unique_ptr<Measurer> MakeNull(Clock& clock) {
  return std::make_unique<NullMeasurer>(BuiltInTemplates(), clock, 1e-3);
}

struct Device {
  const char* name;
  std::unique_ptr<Measurer> (*make)(Clock&);
  bool verifies;  // runs candidates and compares their results
  const char *target, *workload, *epilogue;
};
constexpr std::array kDevices = {Device{"Cpu", &MakeCpu, true, kCpu, kDense, ""},
                                 Device{"OpenCl", &MakeOpenCl, true, "opencl", kDense, ""},
                                 Device{"Null", &MakeNull, false, kCpu, kDense, ""},
                                 Device{"Vta", &MakeVta, true, kVta, kPacked, kNarrow}};

class MeasurerConformance : public testing::TestWithParam<Device> {
 protected:
  MeasurerConformance() : measurer_(GetParam().make(clock_)) {}
  void SetUp() override {
    if (measurer_ == nullptr) GTEST_SKIP() << WhyNoOpenCl();
  }

  static Candidate MakeCandidate() {
    auto workload = Workload::Parse(GetParam().workload);
    auto target = Target::Parse(GetParam().target);
    auto epilogue = Epilogue::Parse(GetParam().epilogue);
    TW_CHECK(workload.ok() && target.ok() && epilogue.ok());
    Candidate candidate;
    candidate.task = {*workload, *target};
    candidate.epilogue = *epilogue;
    const auto templates = BuiltInTemplates().For(*workload, *target);
    TW_CHECK(!templates.empty());
    candidate.template_key = std::string(templates.front()->key);
    candidate.template_version = templates.front()->version;
    auto config = templates.front()->default_config(*workload, *target);
    TW_CHECK(config.ok(), config.status().message());
    candidate.config = *config;
    return candidate;
  }
  Status Submit(std::uint64_t ticket, Candidate candidate, std::int64_t attempt = 0) {
    Request request;
    request.ticket = ticket;
    request.candidate = std::move(candidate);
    request.attempt = attempt;
    return measurer_->Submit(std::move(request));
  }
  Reply Next() {
    auto reply = measurer_->Next(120);
    TW_CHECK(reply.ok(), reply.status().message());
    TW_CHECK(reply->has_value(), "no trial came");
    return std::move(**reply);
  }

  SystemClock clock_;
  std::unique_ptr<Measurer> measurer_;
};

TEST_P(MeasurerConformance, NothingComesOfNothing) {
  EXPECT_EQ(measurer_->in_flight(), 0);
  EXPECT_GE(measurer_->capacity(), 1);
  EXPECT_GE(measurer_->resolution(), 0);
  auto reply = measurer_->Next(0);
  ASSERT_TRUE(reply.ok());
  EXPECT_FALSE(reply->has_value());
}

TEST_P(MeasurerConformance, EveryTicketComesBackOnceWithItsCandidate) {
  std::set<std::uint64_t> tickets;
  const int count = 2 * measurer_->capacity() + 1;
  for (int i = 0; i < count; ++i) {
    const auto ticket = static_cast<std::uint64_t>(1000 + 7 * i);
    ASSERT_TRUE(Submit(ticket, MakeCandidate(), i).ok());
    tickets.insert(ticket);
  }
  EXPECT_EQ(measurer_->in_flight(), count);
  for (int left = count; left > 0; --left) {
    const Reply reply = Next();
    ASSERT_EQ(tickets.erase(reply.ticket), 1U);
    EXPECT_EQ(measurer_->in_flight(), left - 1);
    EXPECT_EQ(reply.trial.attempt, static_cast<std::int64_t>((reply.ticket - 1000) / 7));
    EXPECT_EQ(reply.trial.candidate.config, MakeCandidate().config);
    EXPECT_EQ(reply.trial.candidate.task, MakeCandidate().task);
  }
}

TEST_P(MeasurerConformance, AGoodTrialIsComplete) {
  ASSERT_TRUE(Submit(1, MakeCandidate()).ok());
  const Trial trial = Next().trial;
  EXPECT_EQ(trial.outcome, Outcome::kOk) << trial.reason;
  EXPECT_EQ(trial.reason, "");
  EXPECT_NE(trial.metric, "");
  EXPECT_FALSE(trial.samples.empty());
  EXPECT_GT(trial.value, 0);
  EXPECT_GE(trial.noise, 0);
  EXPECT_EQ(trial.device, measurer_->device());
  EXPECT_GT(trial.finished_unix_seconds, 0);
  EXPECT_GT(trial.codegen_version, 0);
  EXPECT_EQ(trial.verified, GetParam().verifies);
}

TEST_P(MeasurerConformance, ABadCandidateIsATrialWithAReasonAndNotAnError) {
  Candidate candidate = MakeCandidate();
  candidate.template_key = "no_such_template";
  ASSERT_TRUE(Submit(1, candidate).ok());
  const Trial trial = Next().trial;
  EXPECT_EQ(trial.outcome, Outcome::kInvalid);
  EXPECT_NE(trial.reason, "");
  EXPECT_EQ(trial.reason.find('\n'), std::string::npos);
  EXPECT_FALSE(trial.verified);
  EXPECT_EQ(trial.value, 0);
  ASSERT_TRUE(Submit(2, MakeCandidate()).ok());
  EXPECT_EQ(Next().trial.outcome, Outcome::kOk);
}

TEST_P(MeasurerConformance, ARaceAnswersInItsOrder) {
  Candidate bad = MakeCandidate();
  bad.template_key = "no_such_template";
  auto trials = measurer_->Race({MakeCandidate(), bad, MakeCandidate()}, {});
  ASSERT_TRUE(trials.ok()) << trials.status().message();
  ASSERT_EQ(trials->size(), 3U);
  EXPECT_EQ((*trials)[0].outcome, Outcome::kOk) << (*trials)[0].reason;
  EXPECT_EQ((*trials)[1].outcome, Outcome::kInvalid);
  EXPECT_EQ((*trials)[2].outcome, Outcome::kOk);
  EXPECT_EQ(measurer_->in_flight(), 0);
}

TEST_P(MeasurerConformance, ThePartsOfTheTimeFitTheWhole) {
  const TimeSplit before = measurer_->time_split();
  ASSERT_TRUE(Submit(1, MakeCandidate()).ok());
  (void)Next();
  const TimeSplit after = measurer_->time_split();
  EXPECT_GE(after.wall_seconds, before.wall_seconds);
  for (double part : {after.runner_busy_seconds, after.builder_busy_seconds, after.idle_seconds}) {
    EXPECT_GE(part, 0);
    EXPECT_LE(part, after.wall_seconds + 1e-9);
  }
  EXPECT_LE(after.runner_timing_seconds, after.runner_busy_seconds + 1e-9);
}

INSTANTIATE_TEST_SUITE_P(Devices, MeasurerConformance, testing::ValuesIn(kDevices),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace tilewright::measure
