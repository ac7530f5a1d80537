#include "src/report/terminal/tune_display.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/session/format.h"
#include "tests/support/set_clock.h"

namespace tilewright::report {
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
           Case{"conv2d(float32[1,8,9,9]NCHW,float32[8,8,3,3]OIHW,s1x2,p1x1x1x1,d1x1,g1)->float32",
                "conv2d 8->8 3x3 s1x2 9x9"},
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
  EXPECT_EQ(session::ShortSeconds(12.34e-6), "12.3 µs");
  EXPECT_EQ(session::ShortSeconds(0.0123), "12.30 ms");
  EXPECT_EQ(session::ShortSeconds(1.5), "1.50 s");
  EXPECT_EQ(session::ShortValue("seconds", 0.0123), "12.30 ms");
  EXPECT_EQ(session::ShortValue("cycles", 455300), "455.3 kcycles");
  EXPECT_EQ(session::ShortValue("dram_bytes", 1234000), "1.234 MB");
  EXPECT_EQ(session::ShortValue("code_bytes", 992), "0.992 kB");
  EXPECT_EQ(session::ShortValue("joules", 2.5e-4), "250.0 µJ");
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

TuneDisplay::Settings SettingsOf(std::vector<std::string> names, DisplayMode mode) {
  TuneDisplay::Settings settings;
  settings.bounds = std::vector<RooflineBound>(names.size(), RooflineBound{1e-3});
  settings.names = std::move(names);
  settings.mode = mode;
  settings.size = [] { return TerminalSize{100, 60}; };
  return settings;
}

TEST(TuneDisplayTest, ALogHasALineForEachImprovement) {
  SetClock clock;
  TuneDisplay display(SettingsOf({"conv2d 3->8"}, DisplayMode::kLog), clock);
  testing::internal::CaptureStderr();
  display.TrialDone(Report(), 0, Best(), 90);
  Trial worse = Best();
  worse.value = 3e-3;
  display.TrialDone(Report(), 0, worse, 80);
  Trial failed = Best();
  failed.outcome = Outcome::kBuildFailed;
  display.TrialDone(Report(), 0, failed, 70);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "[1/1] conv2d 3->8  7 trials  best 2.00 ms  2.00x  50 % of roofline  eta 1m30s\n");
}

TEST(TuneDisplayTest, QuietPrintsNothing) {
  SetClock clock;
  TuneDisplay display(SettingsOf({"conv2d 3->8"}, DisplayMode::kQuiet), clock);
  testing::internal::CaptureStderr();
  display.StartThread();
  display.Opened("job");
  display.Resumed(5);
  display.StaleFirst(Report(), 0, 2);
  clock.now = 100;
  display.TrialDone(Report(), 0, Best(), 90);
  display.RaceBegins(0);
  search::TuneReport report;
  report.tasks = {Report()};
  EXPECT_EQ(display.Finish(report), 1);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(TuneDisplayTest, ATerminalIsRedrawnNotTooOften) {
  SetClock clock;
  TuneDisplay display(SettingsOf({"one", "two"}, DisplayMode::kTerminal), clock);
  testing::internal::CaptureStderr();
  display.TrialDone(Report(), 0, Best(), 90);
  clock.now = 0.1;
  display.TrialDone(Report(), 1, Best(), 90);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), Not(HasSubstr("A"))) << "once";
  clock.now = 0.3;
  testing::internal::CaptureStderr();
  display.TrialDone(Report(), 1, Best(), 60);
  const std::string again = testing::internal::GetCapturedStderr();
  EXPECT_THAT(again, HasSubstr("\x1b[3A")) << "over the header, the first task and the bar";
  EXPECT_THAT(again, HasSubstr("eta 1m00s"));
}

TEST(TuneDisplayTest, TheJobHasABar) {
  SetClock clock;
  auto settings = SettingsOf({"one"}, DisplayMode::kTerminal);
  settings.trials = 8;
  TuneDisplay display(settings, clock);
  display.Resumed(1);
  clock.now = 2;
  testing::internal::CaptureStderr();
  display.TrialDone(Report(), 0, Best(), 30);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("[#####...............] 25 %  eta 30s  2.00 ms 2.00x  2/8 trials  "
                        "0.5/s\n"));
}

TEST(TuneDisplayTest, TheForecastCountsDownAndRacesAreNamed) {
  SetClock clock;
  TuneDisplay display(SettingsOf({"one"}, DisplayMode::kTerminal), clock);
  display.TrialDone(Report(), 0, Best(), 30);
  clock.now = 10;
  testing::internal::CaptureStderr();
  display.RaceBegins(0);
  const std::string drawn = testing::internal::GetCapturedStderr();
  EXPECT_THAT(drawn, HasSubstr("33 %  race 1 of 1  eta 20s"));
  EXPECT_THAT(drawn, HasSubstr("racing"));
}

TEST(TuneDisplayTest, OfManyTasksThoseThatChangedLastAreDrawn) {
  SetClock clock;
  TuneDisplay display(SettingsOf(std::vector<std::string>(40, "task"), DisplayMode::kTerminal),
                      clock);
  for (int i = 0; i < 39; ++i) display.TrialDone(Report(), i, Best(), 30);
  clock.now = 1;
  testing::internal::CaptureStderr();
  display.TrialDone(Report(), 3, Best(), 30);
  const std::string drawn = testing::internal::GetCapturedStderr();
  EXPECT_THAT(drawn, HasSubstr("   4 task"));
  EXPECT_THAT(drawn, HasSubstr("  39 task"));
  EXPECT_THAT(drawn, Not(HasSubstr("   5 task")));
  EXPECT_THAT(drawn, Not(HasSubstr("  40 task"))) << "has no trial";
  EXPECT_EQ(std::count(drawn.begin(), drawn.end(), '\n'), 18);
}

TEST(TuneDisplayTest, ALogHasALineForTheJobEachMinute) {
  SetClock clock;
  TuneDisplay display(SettingsOf({"one"}, DisplayMode::kLog), clock);
  Trial worse = Best();
  worse.value = 3e-3;
  testing::internal::CaptureStderr();
  clock.now = 59;
  display.TrialDone(Report(), 0, worse, 60);
  clock.now = 61;
  display.TrialDone(Report(), 0, worse, 61);
  display.TrialDone(Report(), 0, worse, 61);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "job: 50 %  eta 1m01s  2.00 ms 2.00x  2 trials  0.0/s\n");
}

TEST(TuneDisplayTest, SaysThatTrialsStayWhereALogIsLeft) {
  SetClock clock;
  TuneDisplay display(SettingsOf({"one"}, DisplayMode::kLog), clock);
  testing::internal::CaptureStderr();
  display.LogDiscarded("search log: batch 7, expected batch 3");
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "this job's log does not replay any more (search log: batch 7, expected batch 3): its "
            "trials stay in the store, and a new log begins\n");
}

TEST(TuneDisplayTest, AJobThatIsStoppedShowsWhereItStopped) {
  for (const bool interrupted : {true, false}) {
    SetClock clock;
    TuneDisplay display(SettingsOf({"one"}, DisplayMode::kTerminal), clock);
    display.Opened("job");
    testing::internal::CaptureStderr();
    clock.now = 62;
    display.TrialDone(Report(), 0, Best(), 38);  // of a budget
    search::TuneReport report;
    report.tasks = {Report()};
    report.tasks[0].finished = true;
    report.tasks[0].finish_reason = interrupted ? "stopped" : "budget";
    report.interrupted = interrupted;
    report.trials = 7;
    report.trials_per_second = 0.5;
    display.TaskFinished(report.tasks[0], 0);
    clock.now = 70;  // races, and whatever else
    const double share = display.Finish(report);
    const std::string text = testing::internal::GetCapturedStderr();
    const std::string last = text.substr(text.rfind("\x1b[3A"));
    if (interrupted) {
      EXPECT_DOUBLE_EQ(share, 0.62);
      EXPECT_THAT(last, HasSubstr("stopped"));
      EXPECT_THAT(last, HasSubstr("] 62 %  2.00 ms 2.00x  7 trials  0.5/s"));
    } else {
      EXPECT_EQ(share, 1);
      EXPECT_THAT(last, HasSubstr("done"));
      EXPECT_THAT(last, HasSubstr("] 100 %  2.00 ms"));
    }
  }
}

}  // namespace
}  // namespace tilewright::report
