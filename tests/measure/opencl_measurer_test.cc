// Measurement on the OpenCL device of this machine (PoCL, where it is installed): compiled, run and
// timed by the driver. A PoCL kernel is code of the runner's own process, so one that crashes ends
// the runner.

#include <gtest/gtest.h>

#include <optional>

#include "src/base/files/file.h"
#include "src/templates/registry.h"
#include "tests/measure/process_fixture.h"
#include "tests/support/built_in.h"
#include "tests/support/opencl.h"

namespace tilewright::measure {
namespace {

Candidate OpenClCandidate() {
  Candidate candidate = DenseCandidate();
  candidate.task.target = *Target::Parse("opencl");
  return candidate;
}

/// Kernel of the workload dense(float32[4,16]MK,float32[32,16]NK)->float32, run by one work item.
std::string DenseSource(const std::string& statement) {
  return R"(__kernel void tw_candidate(__global float* a, __global float* b, __global float* c) {
  for (int m = 0; m < 4; ++m) {
    for (int n = 0; n < 32; ++n) {
      float sum = 0;
      for (int k = 0; k < 16; ++k) sum += a[m * 16 + k] * b[n * 16 + k];
      c[m * 32 + n] = sum;
    }
  }
  )" + statement +
         "\n}\n";
}

class OpenClMeasurer : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = WhyNoOpenCl(); !why.empty()) GTEST_SKIP() << why;
    auto folder = ScopedTempDir::Create("tilewright-opencl-test");
    ASSERT_TRUE(folder.ok());
    folder_.emplace(*std::move(folder));
    ProcessMeasurerSettings settings = TestSettings();
    settings.runner.calibrate = false;
    settings.runner.cuda.lock_folder = folder_->path();
    auto made = ProcessMeasurer::Create(settings);
    ASSERT_TRUE(made.ok()) << made.status().message();
    measurer_ = *std::move(made);
  }
  Trial Measure(const std::string& source) {
    Fault fault;
    fault.artifact = folder_->path() + "/kernel" + std::to_string(++files_) + ".cl";
    fault.symbol = "tw_candidate";
    TW_CHECK(WriteFile(fault.artifact, source).ok());
    TW_CHECK(measurer_->SubmitWithFault(RequestFor(1, OpenClCandidate()), fault).ok());
    return NextReply(*measurer_).trial;
  }

  std::optional<ScopedTempDir> folder_;
  std::unique_ptr<ProcessMeasurer> measurer_;
  int files_ = 0;
};

TEST_F(OpenClMeasurer, BuildsVerifiesAndTimesACandidate) {
  Candidate candidate = OpenClCandidate();
  const auto templates = BuiltInTemplates().For(candidate.task.workload, candidate.task.target);
  ASSERT_FALSE(templates.empty());
  candidate.template_key = std::string(templates.front()->key);
  candidate.config =
      *templates.front()->default_config(candidate.task.workload, candidate.task.target);
  ASSERT_TRUE(measurer_->Submit(RequestFor(7, candidate)).ok());
  const Reply reply = NextReply(*measurer_);
  EXPECT_EQ(reply.ticket, 7U);
  EXPECT_EQ(reply.trial.outcome, Outcome::kOk) << reply.trial.reason;
  EXPECT_TRUE(reply.trial.verified);
  EXPECT_GT(reply.trial.value, 0);
  EXPECT_EQ(reply.trial.metric, "seconds");
}

struct BadSource {
  const char* name;
  std::string source;
  Outcome outcome;
  const char* reason;
};

TEST_F(OpenClMeasurer, EachBadKernelCostsOneTrialAndTheNextOneIsMeasured) {
  const BadSource bad_sources[] = {
      {"words", "__kernel void tw_candidate() { nonsense; }", Outcome::kBuildFailed, "nonsense"},
      {"name", "__kernel void another(__global float* a) {}", Outcome::kRunFailed,
       "the program has no kernel tw_candidate"},
      {"wrong", DenseSource("c[37] += 1;"), Outcome::kWrongResult, "element 37 of 128 is"},
      {"past_end", DenseSource("c[128] = 1;"), Outcome::kRunFailed,
       "wrote out of bounds of parameter 2"},
      {"input", DenseSource("a[0] += 1;"), Outcome::kRunFailed,
       "wrote to parameter 0, which is an input"},
      {"group", "__attribute__((reqd_work_group_size(16, 1, 1))) " + DenseSource(""),
       Outcome::kRunFailed, "invalid work group size"},
      {"hang", DenseSource("while (((volatile __global float*)c)[0] != 1e30f) {}"),
       Outcome::kRunTimeout, "one call took more than"},
      {"crash", DenseSource("*(volatile __global float*)16 = c[0];"), Outcome::kDeviceLost,
       "the runner was lost"}};
  for (const BadSource& bad : bad_sources) {
    const Trial trial = Measure(bad.source);
    EXPECT_EQ(trial.outcome, bad.outcome) << bad.name << ": " << trial.reason;
    EXPECT_NE(trial.reason.find(bad.reason), std::string::npos) << bad.name << ": " << trial.reason;
    EXPECT_FALSE(trial.verified) << bad.name;
    const Trial good = Measure(DenseSource(""));
    EXPECT_EQ(good.outcome, Outcome::kOk) << "after " << bad.name << ": " << good.reason;
    EXPECT_TRUE(good.verified) << "after " << bad.name;
  }
}

}  // namespace
}  // namespace tilewright::measure
