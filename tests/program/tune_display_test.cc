#include "python_free_cli/tune_display.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/session/format.h"
#include "tests/support/set_clock.h"

namespace tilewright::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(ShortNameTest, SaysSizesOfPlainLayouts) {
  struct Case {
    const char *key, *name;
  };
  for (const Case& c : {
           Case{"conv2d(float32[1,64,56,56]NCHW,float32[128,64,3,3]OIHW,s2x2,p1x1x1x1,d1x1,g1)->"
                "float32",
                "conv2d 64->128 3x3 s2 56x56"},
           Case{"conv2d(int8[2,4,7,7,1,16]NCHW1n16c,int8[2,4,1,1,16,16]OIHW16o16i,s1x1,p0x0x0x0,"
                "d1x1,g1)->int32",
                "conv2d 64->32 1x1 n2 7x7"},
           Case{"dense(float32[6,96]MK,float32[72,96]NK)->float32", "dense 6x96x72"},
           Case{"batch_matmul(float32[3,12,32]BMK,float32[3,20,32]BNK)->float32",
                "batch_matmul 3x12x32x3"},
           Case{"identity(int8[1,4,56,56,1,16]NCHW1n16c)->int32", "identity 1x4x56x56x1x16"},
       }) {
    EXPECT_EQ(session::ShortName(*Workload::Parse(c.key)), c.name);
  }
}

TEST(ShortValueTest, PicksTheUnit) {
  EXPECT_EQ(session::ShortSeconds(0), "-");
  EXPECT_EQ(session::ShortSeconds(12.34e-6), "12.3 us");
  EXPECT_EQ(session::ShortSeconds(0.0123), "12.30 ms");
  EXPECT_EQ(session::ShortSeconds(1.5), "1.50 s");
  EXPECT_EQ(session::ShortValue("seconds", 0.0123), "12.30 ms");
  EXPECT_EQ(session::ShortValue("cycles", 455300), "455.3 kcycles");
  EXPECT_EQ(session::ShortValue("dram_bytes", 1234000), "1.234 MB");
  EXPECT_EQ(session::ShortValue("code_bytes", 992), "0.992 kB");
  EXPECT_EQ(session::ShortValue("joules", 2.5e-4), "250.0 uJ");
  EXPECT_EQ(session::ShortValue("joules", 0.0125), "12.50 mJ");
  EXPECT_EQ(session::ShortValue("joules", 3), "3.00 J");
  EXPECT_EQ(session::ShortValue("cycles", 0), "-");
  EXPECT_EQ(session::ShortDuration(12.4), "12s");
  EXPECT_EQ(session::ShortDuration(59.6), "1m00s");
  EXPECT_EQ(session::ShortDuration(185), "3m05s");
  EXPECT_EQ(session::ShortDuration(3720), "1h02m");
}

search::TaskReport Report() {
  search::TaskReport task;
  task.macs = 50'000'000;
  task.trials = 7;
  task.default_seconds = 4e-3;
  task.best_seconds = task.current_seconds = 2e-3;
  return task;
}

Trial Best() {
  Trial trial;
  trial.outcome = Outcome::kOk;
  trial.value = 2e-3;
  return trial;
}

TEST(TuneDisplayTest, ALogHasALineForEachImprovement) {
  SetClock clock;
  TuneDisplay display("seconds", {{1e-3}}, {"conv2d 3->8"}, /*terminal=*/false, clock);
  testing::internal::CaptureStderr();
  display.TrialDone(Report(), 0, Best(), 90);
  Trial worse = Best();
  worse.value = 3e-3;
  display.TrialDone(Report(), 0, worse, 80);
  Trial failed = Best();
  failed.outcome = Outcome::kBuildFailed;
  display.TrialDone(Report(), 0, failed, 70);
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_EQ(log,
            "[ 1/1] conv2d 3->8                                7 trials  now    50.0  best    50.0 "
            "GFLOP/s   50.0%  eta 1m30s\n");
}

TEST(TuneDisplayTest, ATerminalIsRedrawnNotTooOften) {
  SetClock clock;
  TuneDisplay display("seconds", {{1e-3}, {1e-3}}, {"one", "two"}, /*terminal=*/true, clock);
  testing::internal::CaptureStderr();
  display.TrialDone(Report(), 0, Best(), 90);
  clock.now = 0.1;
  display.TrialDone(Report(), 1, Best(), 90);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), Not(HasSubstr("\x1b[3A"))) << "once";
  clock.now = 0.3;
  testing::internal::CaptureStderr();
  display.TrialDone(Report(), 1, Best(), 60);
  const std::string again = testing::internal::GetCapturedStderr();
  EXPECT_THAT(again, HasSubstr("\x1b[3A")) << "over the lines before";
  EXPECT_THAT(again, HasSubstr("eta 1m00s"));
}

TEST(TuneDisplayTest, TheJobHasABar) {
  SetClock clock;
  TuneDisplay display("seconds", {{1e-3}}, {"one"}, /*terminal=*/true, clock);
  display.SetTrials(8);
  display.Resumed(1);
  clock.now = 2;
  testing::internal::CaptureStderr();
  display.TrialDone(Report(), 0, Best(), 30);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("[#####...............] 25 %  eta 30s  all 2.00 ms (default 4.00 ms)  0.5 "
                        "trials/s\n"));
}

TEST(TuneDisplayTest, OfManyTasksThoseThatChangedLastAreDrawn) {
  SetClock clock;
  TuneDisplay display("seconds", std::vector<RooflineBound>(40, RooflineBound{1e-3}),
                      std::vector<std::string>(40, "task"), /*terminal=*/true, clock);
  testing::internal::CaptureStderr();
  display.TrialDone(Report(), 33, Best(), 30);
  const std::string drawn = testing::internal::GetCapturedStderr();
  EXPECT_THAT(drawn, HasSubstr("[34/40] task"));
  EXPECT_EQ(std::count(drawn.begin(), drawn.end(), '\n'), 17);
}

TEST(TuneDisplayTest, ALogHasALineForTheJobEachMinute) {
  SetClock clock;
  TuneDisplay display("seconds", {{1e-3}}, {"one"}, /*terminal=*/false, clock);
  Trial worse = Best();
  worse.value = 3e-3;
  testing::internal::CaptureStderr();
  clock.now = 59;
  display.TrialDone(Report(), 0, worse, 60);
  clock.now = 61;
  display.TrialDone(Report(), 0, worse, 61);
  display.TrialDone(Report(), 0, worse, 61);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "job: 50 %  eta 1m01s  all 2.00 ms (default 4.00 ms)  0.0 trials/s\n");
}

TEST(TuneDisplayTest, SaysThatTrialsStayWhereALogIsLeft) {
  SetClock clock;
  TuneDisplay display("seconds", {{1e-3}}, {"one"}, /*terminal=*/false, clock);
  testing::internal::CaptureStderr();
  display.LogDiscarded("search log: batch 7, expected batch 3");
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "this job's log does not replay any more (search log: batch 7, expected batch 3): its "
            "trials stay in the store, and a new log begins\n");
}

TEST(TuneDisplayTest, SaysThatConfigsOfOtherVersionsAreMeasuredFirst) {
  SetClock clock;
  TuneDisplay display("seconds", {{1e-3}, {1e-3}}, {"one", "two"}, /*terminal=*/true, clock);
  testing::internal::CaptureStderr();
  display.StaleFirst(Report(), 1, 3);
  display.TrialDone(Report(), 1, Best(), 60);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::StartsWith("two: its records of other versions are not served; the fastest "
                                  "of their configs (3) are measured first\n\x1b[2K"));
  testing::internal::CaptureStderr();
  display.StaleFirst(Report(), 0, 1);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::StartsWith("\x1b[3A\x1b[Jone: "))
      << "over the lines before, which are drawn again";
}

TEST(PrintReportTest, SaysWhatTheJobBrought) {
  search::TuneReport report;
  report.tasks.push_back(Report());
  report.tasks[0].occurrences = 3;
  report.tasks[0].failures = {{"build_failed", 2}};
  report.trials = 7;
  report.wall_seconds = 65;
  report.split.wall_seconds = 65;
  report.resolution = 0.01;
  testing::internal::CaptureStdout();
  PrintReport(report, {"conv2d 3->8"}, {{1e-3}});
  std::fflush(stdout);
  const std::string text = testing::internal::GetCapturedStdout();
  EXPECT_THAT(text, HasSubstr("2.00x"));
  EXPECT_THAT(text, HasSubstr("12.00 ms")) << "default, three times";
  EXPECT_THAT(text, HasSubstr("failed: 2 build_failed"));
  EXPECT_THAT(text, HasSubstr("time 1m05s"));
  EXPECT_THAT(text, Not(HasSubstr("calibrated in noise")));
  EXPECT_THAT(text, Not(HasSubstr("stopped at")));
  EXPECT_THAT(text, HasSubstr("all tasks, as often as they are used"));
  EXPECT_THAT(text, Not(HasSubstr("was:")));
}

TEST(PrintReportTest, SaysWhatIsNotToBeTrusted) {
  search::TuneReport report;
  report.tasks.push_back(Report());
  report.tasks[0].noisy = true;
  report.resolution = 0.2;
  report.interrupted = true;
  testing::internal::CaptureStdout();
  PrintReport(report, {"conv2d 3->8"}, {{2.2e-3}}, 0.627);
  std::fflush(stdout);
  const std::string text = testing::internal::GetCapturedStdout();
  EXPECT_THAT(text, HasSubstr("disturbed: 1 of 1 tasks"));
  EXPECT_THAT(text, HasSubstr("roofl. above 105 %"));
  EXPECT_THAT(text, HasSubstr("calibrated in noise"));
  EXPECT_THAT(text, HasSubstr("stopped at 62 %; the same command goes on from here"));
}

TEST(PrintReportTest, SaysWhatTheSumLeavesOutAndWhatGotWorse) {
  search::TuneReport report;
  report.tasks = {Report(), Report(), search::TaskReport()};
  report.tasks[0].ties = {5};
  report.tasks[0].earlier_best_seconds = 1.9e-3;
  report.tasks[1].ties = {5, 7};
  report.tasks[1].earlier_best_seconds = 2.5e-3;
  report.tasks[1].best_product_share = 0.25;  // of a Winograd kernel
  testing::internal::CaptureStdout();
  PrintReport(report, {"one", "two", "three"}, {{1e-3}, {1e-3}, {}});
  std::fflush(stdout);
  const std::string text = testing::internal::GetCapturedStdout();
  EXPECT_THAT(text, HasSubstr("2 of 3 tasks (1 without a time)"));
  EXPECT_THAT(text, HasSubstr("50.0%       7  tie of 2  was 1.90 ms\n"));
  EXPECT_THAT(text, HasSubstr("12.5%       7  tie of 3\n"));
  EXPECT_THAT(text, HasSubstr("was: 1 of 3 tasks have a slower best than after the earlier run"));
  EXPECT_EQ(session::RooflineShareText(0, 1), "-");
  EXPECT_EQ(session::RooflineShareText(1, 0), "-");
  EXPECT_EQ(session::RooflineShareText(1, 3), "33.3%");
}

TEST(TuneDisplayTest, AJobThatIsStoppedShowsWhereItStopped) {
  for (const bool interrupted : {true, false}) {
    SetClock clock;
    TuneDisplay display("seconds", {{1e-3}}, {"one"}, /*terminal=*/true, clock);
    display.Opened("job");
    testing::internal::CaptureStderr();
    clock.now = 62;
    display.TrialDone(Report(), 0, Best(), 38);  // of a budget
    search::TuneReport report;
    report.tasks = {Report()};
    report.tasks[0].finished = true;
    report.tasks[0].finish_reason = interrupted ? "stopped" : "budget";
    report.interrupted = interrupted;
    report.trials_per_second = 0.5;
    clock.now = 70;  // races, and whatever else
    const double share = display.Finish(report);
    const std::string text = testing::internal::GetCapturedStderr();
    const std::string last = text.substr(text.rfind("\x1b[2A"));
    if (interrupted) {
      EXPECT_LT(share, 1);
      EXPECT_THAT(last, HasSubstr("  stopped\n"));
      EXPECT_THAT(last, HasSubstr("] 64 %  eta -  all 2.00 ms (default 4.00 ms)  0.5 trials/s"));
    } else {
      EXPECT_EQ(share, 1);
      EXPECT_THAT(last, HasSubstr("  done\n"));
      EXPECT_THAT(last, HasSubstr("] 100 %  eta -"));
    }
  }
}

}  // namespace
}  // namespace tilewright::cli
