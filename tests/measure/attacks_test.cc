// Hostile kernels: data that they must not read, and results and times that they must not falsify.

#include <dirent.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "measure/device/builders.h"
#include "measure/evaluate/inputs.h"
#include "measure/sandbox/sandbox.h"
#include "measure/worker/timing_validator.h"
#include "src/base/files/file.h"
#include "tests/measure/process_fixture.h"

namespace tilewright::measure {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

Fault Attack(const std::string& symbol) {
  Fault fault;
  fault.artifact = MEASURE_ATTACKS;
  fault.symbol = symbol;
  return fault;
}

/// Returns the trial of one kernel, measured by a separate measurer.
Trial TrialOf(const std::string& symbol, double best_seconds = 1e-4) {
  auto measurer = ProcessMeasurer::Create(TestSettings());
  TW_CHECK(measurer.ok(), measurer.status().message());
  Request request = RequestFor(2, DenseCandidate());
  request.best_seconds = best_seconds;
  const Status submitted = (*measurer)->SubmitWithFault(std::move(request), Attack(symbol));
  TW_CHECK(submitted.ok(), submitted.message());
  return NextReply(**measurer).trial;
}

void ExpectRefused(const char* symbol, Outcome outcome, const char* reason) {
  const Trial trial = TrialOf(symbol);
  EXPECT_EQ(trial.outcome, outcome) << symbol << ": " << trial.reason;
  EXPECT_THAT(trial.reason, HasSubstr(reason)) << symbol;
  EXPECT_FALSE(trial.verified) << symbol;
}

class Attacks : public testing::Test {
 protected:
  void SetUp() override {
    if (!TestSandbox().files.empty()) GTEST_SKIP() << "no Landlock: " << TestSandbox().files;
  }
};

TEST_F(Attacks, ReadNothingButWhatIsListed) {
  ASSERT_EQ(::setenv("TILEWRIGHT_TEST_SECRET", "of the test", 1), 0);
  for (const char* symbol : {"read_files", "read_needs", "read_secret", "tell_file"}) {
    const Trial trial = TrialOf(symbol);
    EXPECT_EQ(trial.outcome, Outcome::kOk) << symbol << ": " << trial.reason;
    EXPECT_TRUE(trial.verified) << symbol;
  }
  ::unsetenv("TILEWRIGHT_TEST_SECRET");
}

TEST(AttacksOnText, ThePreparationsTextIsNoChannel) {
  const Trial trial = TrialOf("tell_text");
  EXPECT_EQ(trial.outcome, Outcome::kRunFailed);
  EXPECT_EQ(trial.reason,
            "artifact: the library that it calls cannot be used: not on this machine");
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they report there
TEST(AttacksOnText, DescriptorTwoLeadsNowhere) {
  const Trial trial = TrialOf("print_errors");
  EXPECT_EQ(trial.outcome, Outcome::kOk) << trial.reason;
}
#endif

TEST(AttacksOnReplies, AreNoReplies) {
  ExpectRefused("forged_reply", Outcome::kRunFailed, "sent something that is not a reply");
  const Trial forged = TrialOf("forged_steps");
  EXPECT_NE(forged.outcome, Outcome::kOk);
  EXPECT_FALSE(forged.verified);
  ExpectRefused("early_exit", Outcome::kRunFailed, "ended without a result: exit code 0");
}

TEST(AttacksOnVerification, TheLastTimedRunIsVerifiedWithDataThatNobodyKnew) {
  ExpectRefused("only_proved", Outcome::kWrongResult, "was not written (after timing)");
  ExpectRefused("kept_result", Outcome::kWrongResult, "(after timing)");
  ExpectRefused("known_inputs", Outcome::kWrongResult, "(after timing)");
  ExpectRefused("known_weight", Outcome::kWrongResult, "was not written (after timing)");
  ExpectRefused("changed_inputs", Outcome::kRunFailed, "wrote to parameter 0, which is an input");
}

// The result is read before any other step of the process, while all its threads are stopped.
TEST(AttacksOnVerification, AResultThatIsComputedAfterTheAnswerIsNone) {
  for (const char* symbol : {"late_in_thread", "late_in_traces"}) {
#if !defined(__x86_64__)
    if (std::string_view(symbol) == "late_in_traces") continue;  // the patch is x86-64 code
#endif
    const Trial trial = TrialOf(symbol);
    EXPECT_FALSE(trial.verified) << symbol;
    // If the machine lets the thread compute before the stop, its processor time is counted.
    EXPECT_THAT(trial.reason, AnyOf(HasSubstr("was not written (after timing)"),
                                    HasSubstr("where their result was verified")))
        << symbol;
  }
}

TEST(AttacksOnTimes, TheVerifiedRunTakesNoLongerThanTheSamplesSay) {
  ExpectRefused("slow_when_fresh", Outcome::kRunFailed, "where their result was verified");
}

// A racer whose times disagree with its trial is verified again in new processes; the results of
// the others are kept.
TEST(AttacksOnTimes, ARaceRepeatsTheVerificationsOfWhoDisagrees) {
  auto measurer = ProcessMeasurer::Create(TestSettings());
  ASSERT_TRUE(measurer.ok()) << measurer.status().message();
  auto folder = ScopedTempDir::Create("tilewright-race-test");
  ASSERT_TRUE(folder.ok());
  const Candidate candidate = DenseCandidate();
  const Workload& workload = candidate.task.workload;
  const std::vector<TensorType> types = {workload.data, workload.weight,
                                         *ResultType(workload, Epilogue())};
  std::vector<KernelSpec> kernels;
  for (const std::string symbol : {"honest", "slow_when_fresh"}) {
    KernelSpec kernel = KernelOf(candidate);
    kernel.artifact = folder->path() + "/" + symbol + ".so";  // the measurer owns it from now on
    std::filesystem::copy_file(MEASURE_ATTACKS, kernel.artifact);
    kernel.symbol = symbol;
    kernel.signature = *SignatureOf(workload, Epilogue(), {}, types);
    kernels.push_back(std::move(kernel));
  }
  ASSERT_TRUE((*measurer)->BeginRace({candidate, candidate}, {}, std::move(kernels)).ok());
  std::optional<std::vector<Trial>> trials;
  while (!trials) {
    auto taken = (*measurer)->TakeRace();
    ASSERT_TRUE(taken.ok()) << taken.status().message();
    trials = *std::move(taken);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  ASSERT_EQ(trials->size(), 2U);
  EXPECT_EQ((*trials)[0].outcome, Outcome::kOk) << (*trials)[0].reason;
  EXPECT_TRUE((*trials)[0].verified);
  EXPECT_EQ((*trials)[1].outcome, Outcome::kRunFailed);
  EXPECT_THAT((*trials)[1].reason, HasSubstr("where their result was verified"));
  EXPECT_FALSE((*trials)[1].verified);
}

TEST(AttacksOnTimes, AClockThatIsPatchedDisagreesWithTheRunners) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "the patch is for x86-64";
#endif
  ExpectRefused("patched_clock", Outcome::kRunFailed, "it has used the processor for");
}

TEST(TimingValidator, MustAgreeWithTheRunnersClock) {
  TimingValidator honest({1e-6, 1});
  const std::vector<double> samples(20, 100e-6);
  EXPECT_EQ(honest.AddSlice(samples, 1, {2.05e-3, 2.04e-3}), std::nullopt);
  EXPECT_EQ(honest.CheckVerifiedRun(1, 100e-6, {180e-6, 170e-6}), std::nullopt);
  TimingValidator too_long({1e-6, 1});
  EXPECT_THAT(*too_long.AddSlice(samples, 1, {1.5e-3, 1.5e-3}), HasSubstr("by the runner's clock"));
  TimingValidator too_fast({1e-6, 1});
  EXPECT_THAT(*too_fast.AddSlice(std::vector<double>{1e-9}, 1, {2e-3, 1e-5}),
              HasSubstr("this machine needs 1e-06 s for one at least"));
  TimingValidator too_little({1e-6, 1});
  EXPECT_THAT(*too_little.AddSlice(std::vector<double>(20, 10e-6), 1, {20e-3, 20e-3}),
              HasSubstr("it has used the processor for"));
  for (const double none : {0.0, -1.0, HUGE_VAL, std::nan("")}) {
    TimingValidator times({0, 1});
    EXPECT_TRUE(times.AddSlice(std::vector<double>{none}, 1, {1, 1}).has_value()) << none;
  }
  EXPECT_TRUE(TimingValidator({0, 1}).AddSlice({}, 1, {1, 1}).has_value());
}

// Computing between samples is not part of any sample, but idle threads of a pool spin there.
TEST(TimingValidator, CountTheProcessorTimeBetweenSteps) {
  const std::vector<double> samples(20, 100e-6);
  TimingValidator one({0, 1});
  EXPECT_EQ(one.AddSlice(samples, 1, {2.1e-3, 2.1e-3, 1e-3}), std::nullopt);
  EXPECT_EQ(one.AddSlice(samples, 1, {2.1e-3, 2.1e-3, 2e-3}), std::nullopt) << "not added up";
  EXPECT_THAT(*one.AddSlice(samples, 1, {2.1e-3, 2.1e-3, 20e-3}),
              HasSubstr("it has used the processor for"));
  TimingValidator several({0, 4});
  EXPECT_EQ(several.AddSlice(samples, 1, {2.1e-3, 8.4e-3, 80e-3}), std::nullopt);
}

// Threads of a pool spin while the first one waits for the core.
TEST(TimingValidator, OfSeveralThreadsCountTheProcessorTimeOfEach) {
  TimingValidator times({0, 4});
  EXPECT_EQ(times.AddSlice(std::vector<double>(20, 100e-6), 1, {2.1e-3, 8.4e-3}), std::nullopt);
  EXPECT_EQ(times.CheckVerifiedRun(1, 100e-6, {10e-3, 400e-6}), std::nullopt) << "it had to wait";
  EXPECT_TRUE(times.CheckVerifiedRun(1, 100e-6, {10e-3, 40e-3}).has_value());
}

/// Returns the parent of a process; 0 if there is no such process.
int ParentOf(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(')');
  return name_end == std::string::npos ? 0 : std::atoi(text.c_str() + name_end + 4);
}

/// Sends SIGKILL to every process that a child of this one has started.
void KillGrandchildren() {
  DIR* processes = ::opendir("/proc");
  if (processes == nullptr) return;
  while (const dirent* entry = ::readdir(processes)) {
    const int pid = std::atoi(entry->d_name);
    if (pid > 0 && ParentOf(ParentOf(pid)) == ::getpid()) ::kill(pid, SIGKILL);
  }
  ::closedir(processes);
}

// The system kills the largest process when memory runs out. That may be the candidate's, which is
// not at fault.
TEST(KilledCandidates, AreTheMachinesFault) {
  auto measurer = ProcessMeasurer::Create(TestSettings());
  ASSERT_TRUE(measurer.ok());
  ASSERT_TRUE(
      (*measurer)
          ->SubmitWithFault(RequestFor(1, DenseCandidate()), ArtifactFault("sleep_for_ever"))
          .ok());
  std::atomic<bool> over{false};
  std::thread killer([&] {
    while (!over) {
      KillGrandchildren();
      ::usleep(20'000);
    }
  });
  const Trial trial = NextReply(**measurer).trial;
  over = true;
  killer.join();
  EXPECT_EQ(trial.outcome, Outcome::kDeviceLost) << trial.reason;
  EXPECT_THAT(trial.reason, HasSubstr("SIGKILL from outside"));
}

}  // namespace
}  // namespace tilewright::measure
