// Measurement on a CUDA device, with a fake driver (tests/runtime/fake_cuda).

#include <gtest/gtest.h>

#include <optional>

#include "src/base/files/file.h"
#include "src/templates/registry.h"
#include "tests/measure/process_fixture.h"
#include "tests/support/built_in.h"

namespace tilewright::measure {
namespace {

Candidate CudaCandidate() {
  Candidate candidate = DenseCandidate();
  candidate.task.target = *Target::Parse("cuda -arch=sm_80");
  return candidate;
}

class CudaMeasurer : public testing::Test {
 protected:
  CudaMeasurer() {
    auto folder = ScopedTempDir::Create("tilewright-cuda-test");
    TW_CHECK(folder.ok());
    folder_.emplace(*std::move(folder));
  }

  std::unique_ptr<ProcessMeasurer> Create(const char* library = FAKE_CUDA,
                                          bool joules = false) const {
    ProcessMeasurerSettings settings = TestSettings();
    settings.runner.joules = joules;
    settings.runner.calibrate = false;
    settings.runner.cuda.library = library;
    settings.runner.cuda.nvml = library;
    settings.runner.cuda.lock_folder = folder_->path();  // each owner locks a device
    auto made = ProcessMeasurer::Create(settings);
    TW_CHECK(made.ok(), made.status().message());
    return *std::move(made);
  }
  static Trial Measure(ProcessMeasurer& measurer, const std::string& kernel) {
    TW_CHECK(measurer.SubmitWithFault(RequestFor(1, CudaCandidate()), ArtifactFault(kernel)).ok());
    return NextReply(measurer).trial;
  }

  std::optional<ScopedTempDir> folder_;
};

TEST_F(CudaMeasurer, BuildsVerifiesAndTimesACandidate) {
  auto measurer = Create();
  Candidate candidate = CudaCandidate();
  const auto templates = BuiltInTemplates().For(candidate.task.workload, candidate.task.target);
  ASSERT_FALSE(templates.empty());
  candidate.template_key = std::string(templates.front()->key);
  candidate.config =
      *templates.front()->default_config(candidate.task.workload, candidate.task.target);
  ASSERT_TRUE(measurer->Submit(RequestFor(7, candidate)).ok());
  const Reply reply = NextReply(*measurer);
  EXPECT_EQ(reply.ticket, 7U);
  EXPECT_EQ(reply.trial.outcome, Outcome::kOk) << reply.trial.reason;
  EXPECT_TRUE(reply.trial.verified);
  EXPECT_NEAR(reply.trial.value, 19e-6,
              1e-9);  // events of a graph's replay, not a clock of this CPU
  EXPECT_EQ(reply.trial.metric, "seconds");
}

TEST_F(CudaMeasurer, BuildsVerifiesAndTimesACandidateOfAnAmdGpu) {
  auto measurer = Create(FAKE_CUDA_HIP);
  Candidate candidate = DenseCandidate();
  candidate.task.target = *Target::Parse("rocm -model=gfx906");
  const auto templates = BuiltInTemplates().For(candidate.task.workload, candidate.task.target);
  ASSERT_FALSE(templates.empty());
  candidate.template_key = std::string(templates.front()->key);
  candidate.config =
      *templates.front()->default_config(candidate.task.workload, candidate.task.target);
  ASSERT_TRUE(measurer->Submit(RequestFor(7, candidate)).ok());
  const Reply reply = NextReply(*measurer);
  EXPECT_EQ(reply.trial.outcome, Outcome::kOk) << reply.trial.reason;
  EXPECT_TRUE(reply.trial.verified);
  EXPECT_NEAR(reply.trial.value, 19e-6, 1e-9);
}

TEST_F(CudaMeasurer, CountsTheEnergyOfTheDeviceWhereAskedTo) {
  auto measurer = Create(FAKE_CUDA, /*joules=*/true);
  const Trial trial = Measure(*measurer, "tw_candidate");
  ASSERT_EQ(trial.outcome, Outcome::kOk) << trial.reason;
  EXPECT_NEAR(trial.ValueOf("joules").value_or(0), 100 * trial.value, 2 * trial.value);
}

struct BadKernel {
  const char* kernel;
  Outcome outcome;
  const char* reason;
};
const BadKernel kBadKernels[] = {
    {"skip", Outcome::kWrongResult, "element 0 of 128 was not written (random inputs)"},
    {"wrong", Outcome::kWrongResult, "element 37 of 128 is"},
    {"late", Outcome::kWrongResult, "(after timing)"},
    {"past_end", Outcome::kRunFailed,
     "wrote out of bounds of parameter 2: 60 bytes past its end (random inputs)"},
    {"before_start", Outcome::kRunFailed,
     "wrote out of bounds of parameter 2: 8 bytes before its start"},
    {"input", Outcome::kRunFailed, "wrote to parameter 0, which is an input (after timing)"},
    {"fault", Outcome::kRunFailed,
     "crashed: the kernel: an illegal memory access was encountered (700)"},
    {"lost", Outcome::kDeviceLost, "the device was lost: "},
    {"hang", Outcome::kRunTimeout, "one call took more than 1 s (random inputs)"},
    {"killed", Outcome::kDeviceLost, "the runner was lost: signal 9"},
    {"nobody", Outcome::kRunFailed, "the module has no kernel nobody"}};

TEST_F(CudaMeasurer, EachBadKernelCostsOneTrialAndTheNextOneIsMeasured) {
  auto measurer = Create();
  for (const auto& [kernel, outcome, reason] : kBadKernels) {
    const Trial bad = Measure(*measurer, kernel);
    EXPECT_EQ(bad.outcome, outcome) << kernel << ": " << bad.reason;
    EXPECT_NE(bad.reason.find(reason), std::string::npos) << kernel << ": " << bad.reason;
    EXPECT_FALSE(bad.verified) << kernel;
    const Trial good = Measure(*measurer, "tw_candidate");
    EXPECT_EQ(good.outcome, Outcome::kOk) << "after " << kernel << ": " << good.reason;
    EXPECT_TRUE(good.verified) << "after " << kernel;
  }
}

TEST_F(CudaMeasurer, KeepsTheDriversWordsAboutCodeItRefuses) {
  auto measurer = Create();
  auto folder = ScopedTempDir::Create("tilewright-cuda-test");
  ASSERT_TRUE(folder.ok());
  Fault fault;
  fault.artifact = folder->path() + "/refused.ptx";
  fault.symbol = "tw_candidate";
  ASSERT_TRUE(WriteFile(fault.artifact, "refuse").ok());
  ASSERT_TRUE(measurer->SubmitWithFault(RequestFor(1, CudaCandidate()), fault).ok());
  const Trial trial = NextReply(*measurer).trial;
  EXPECT_EQ(trial.outcome, Outcome::kBuildFailed);
  EXPECT_EQ(trial.reason,
            "the driver refuses the code: cuModuleLoadDataEx: a fake error (218): line 1: "
            "unexpected token");
}

// 131 KiB of shared memory: devices of the target have it, this one does not.
TEST_F(CudaMeasurer, SharedMemoryTheDriverRefusesCostsOneTrial) {
  Candidate candidate = CudaCandidate();
  candidate.task.workload = *Workload::Parse("dense(int8[64,1024]MK,int8[64,1024]NK)->int32");
  candidate.template_key = "dense_mma.cuda";
  candidate.config = *Config::Parse(
      R"({"index":0,"values":{"warps_m":2,"warps_n":2,"tiles_m":2,"tiles_n":4,"steps_k":8,)"
      R"("copy_bytes":16,"stages":4,"pad_bytes":32,"auto_unroll_max_step":0}})");
  auto measurer = Create(FAKE_CUDA_NO_GRAPHS);
  ASSERT_TRUE(measurer->Submit(RequestFor(1, candidate)).ok());
  const Trial trial = NextReply(*measurer).trial;
  EXPECT_EQ(trial.outcome, Outcome::kRunFailed) << trial.reason;
  EXPECT_NE(trial.reason.find(" bytes of shared memory: cuFuncSetAttribute: "), std::string::npos)
      << trial.reason;
  const Trial good = Measure(*measurer, "tw_candidate");
  EXPECT_EQ(good.outcome, Outcome::kOk) << good.reason;
}

TEST_F(CudaMeasurer, StopsEarlyWithWhatIsFarAboveTheBest) {
  auto measurer = Create();
  const Trial trial = Measure(*measurer, "slow");
  EXPECT_EQ(trial.outcome, Outcome::kOk) << trial.reason;
  EXPECT_FALSE(trial.verified);
  EXPECT_EQ(trial.samples.size(), 1U);
}

TEST_F(CudaMeasurer, WithoutADriverTheJobIsToldAndNotKeptWaiting) {
  auto measurer = Create("libno_such_driver.so");
  const Trial trial = Measure(*measurer, "tw_candidate");
  EXPECT_EQ(trial.outcome, Outcome::kDeviceLost);
  EXPECT_NE(trial.reason.find("libno_such_driver.so cannot be loaded"), std::string::npos)
      << trial.reason;
}

TEST_F(CudaMeasurer, RacesFinalistsOnOneDevice) {
  auto measurer = Create();
  Candidate candidate = CudaCandidate();
  const auto templates = BuiltInTemplates().For(candidate.task.workload, candidate.task.target);
  candidate.template_key = std::string(templates.front()->key);
  candidate.config =
      *templates.front()->default_config(candidate.task.workload, candidate.task.target);
  Candidate bad = candidate;
  bad.template_key = "nobody";
  const auto trials = measurer->Race({candidate, bad, candidate}, {});
  ASSERT_TRUE(trials.ok()) << trials.status().message();
  ASSERT_EQ(trials->size(), 3U);
  EXPECT_TRUE((*trials)[0].verified) << (*trials)[0].reason;
  EXPECT_EQ((*trials)[1].outcome, Outcome::kInvalid);
  EXPECT_TRUE((*trials)[2].verified) << (*trials)[2].reason;
  EXPECT_NEAR((*trials)[2].value, 19e-6, 1e-9);
}

TEST_F(CudaMeasurer, ReplaysLaunchByLaunchWithAnOldDriver) {
  auto measurer = Create(FAKE_CUDA_NO_GRAPHS);
  const Trial trial = Measure(*measurer, "tw_candidate");
  EXPECT_EQ(trial.outcome, Outcome::kOk) << trial.reason;
  EXPECT_NEAR(trial.value, 20e-6, 1e-9);
}

}  // namespace
}  // namespace tilewright::measure
