// Texts of the live display, of the table at the end of a job, and of the next commands.

#include "src/report/tune/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "src/base/shell/quote.h"
#include "src/base/strings.h"
#include "src/base/text/text_columns.h"

namespace tilewright::report {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

search::TaskReport Task() {
  search::TaskReport task;
  task.macs = 50'000'000;
  task.trials = 7;
  task.default_seconds = 4e-3;
  task.best_seconds = task.current_seconds = 2e-3;
  return task;
}

void ExpectNarrow(const std::string& text, int columns = kTableColumns) {
  for (const std::string& line : Split(text, '\n')) EXPECT_LT(Columns(line), columns + 1) << line;
}

TEST(TuneTextTest, FormatsTimesAndGains) {
  EXPECT_EQ(TimeText("seconds", 12.34e-6), "12.3 µs");
  EXPECT_EQ(TimeText("seconds", 0.0123), "12.30 ms");
  EXPECT_EQ(TimeText("cycles", 455300), "455.3k");
  EXPECT_EQ(TimeText("seconds", 0), "");
  EXPECT_EQ(GainText(1.12, 1), "1.12x");
  EXPECT_EQ(GainText(0, 1), "");
  EXPECT_EQ(ShellWord("a/b-c.onnx"), "a/b-c.onnx");
  EXPECT_EQ(ShellWord("llvm -mcpu=x"), "'llvm -mcpu=x'");
  EXPECT_EQ(ShellWord("it's"), "'it'\\''s'");
  EXPECT_EQ(ShellWord(""), "''");
}

TEST(TuneTextTest, RowsFitEveryWidth) {
  const std::string name = "depthwise_conv2d 模型 960->960 3x3 s2 n16 112x112";
  search::TaskReport task = Task();
  for (int columns = 1; columns < 220; ++columns) {
    const TaskColumns fitting = TaskColumns::Fitting(columns, Columns(name));
    const StyledLine row = TaskRow(fitting, "seconds", {name, &task, {1e-3, 0}, 12, ""});
    if (columns >= 25) {
      EXPECT_LE(Columns(PlainText(row)), columns);
    }
    EXPECT_EQ(Columns(PlainText(row)), Columns(PlainText(TaskHeader(fitting)))) << columns;
    JobLine job;
    job.share = 0.5;
    job.eta_seconds = 100;
    job.trials_per_second = 7;
    job.phase = "race 3 of 12";
    const StyledLine bar = JobRow(job, "seconds", {task, task}, columns);
    if (columns >= 20) {
      EXPECT_LE(Columns(PlainText(bar)), columns);
    }
  }
}

TEST(TuneTextTest, ATaskWithoutATimeHasNone) {
  search::TaskReport task;
  const auto columns = TaskColumns::Fitting(79, 10);
  EXPECT_EQ(PlainText(TaskRow(columns, "seconds", {"conv2d", &task, {}, 3, ""})),
            "   3 conv2d                                  0          ");
  task.trials = 1;
  EXPECT_THAT(PlainText(TaskRow(columns, "seconds", {"conv2d", &task, {}, 3, ""})),
              HasSubstr("failed"));
}

ClosingReport Closing(const search::TuneReport& report, std::vector<RooflineBound> bounds) {
  ClosingReport closing;
  closing.report = &report;
  for (std::size_t i = 0; i < report.tasks.size(); ++i) {
    closing.names.push_back("conv2d " + std::to_string(i));
  }
  closing.bounds = std::move(bounds);
  return closing;
}

TEST(ClosingTextTest, SaysWhatTheJobBrought) {
  search::TuneReport report;
  report.tasks.push_back(Task());
  report.tasks[0].occurrences = 3;
  report.tasks[0].failures = {{"build_failed", 2}};
  report.trials = report.trials_this_run = 7;
  report.wall_seconds = report.split.wall_seconds = 65;
  report.resolution = 0.01;
  const std::string text = ClosingText(Closing(report, {{1e-3}}));
  ExpectNarrow(text);
  EXPECT_THAT(text, HasSubstr("2.00x"));
  EXPECT_THAT(text, HasSubstr("12.00 ms")) << "default, three times";
  EXPECT_THAT(text, HasSubstr("failed: 2 build_failed"));
  EXPECT_THAT(text, HasSubstr("time 1m05s"));
  EXPECT_THAT(text, HasSubstr("all, uses counted"));
  EXPECT_THAT(text, Not(HasSubstr("calibrated in noise")));
  EXPECT_THAT(text, Not(HasSubstr("was ")));
}

TEST(ClosingTextTest, SaysWhatIsNotToBeTrusted) {
  search::TuneReport report;
  report.tasks.push_back(Task());
  report.tasks[0].noisy = true;
  report.resolution = 0.2;
  const std::string text = ClosingText(Closing(report, {{2.2e-3}}));
  ExpectNarrow(text);
  EXPECT_THAT(text, HasSubstr("~2.00 ms"));
  EXPECT_THAT(text, HasSubstr("~ disturbed: 1 of 1 task was measured"));
  EXPECT_THAT(text, HasSubstr("roofl. above 105 %"));
  EXPECT_THAT(text, HasSubstr("calibrated in noise"));
}

TEST(ClosingTextTest, SaysWhatTheSumLeavesOutAndWhatGotWorse) {
  search::TuneReport report;
  report.tasks = {Task(), Task(), search::TaskReport()};
  report.tasks[0].ties = {5};
  report.tasks[0].earlier_best_seconds = 1.9e-3;
  report.tasks[1].ties = {5, 7};
  report.tasks[1].earlier_best_seconds = 2.5e-3;
  report.tasks[1].best_product_share = 0.25;  // of a Winograd kernel
  report.tasks[1].front.resize(4);
  const std::string text = ClosingText(Closing(report, {{1e-3}, {1e-3}, {}}));
  ExpectNarrow(text);
  EXPECT_THAT(text, HasSubstr("2 of 3 tasks"));
  EXPECT_THAT(text, HasSubstr("50 %      7    2\n    was 1.90 ms after the earlier run\n"));
  EXPECT_THAT(text, HasSubstr("12 %      7    3\n    4 on the front\n"));
  EXPECT_THAT(text, HasSubstr("was: 1 of 3 tasks has a slower best than after the earlier run"));
  EXPECT_THAT(text, HasSubstr("ties: "));
}

TEST(ClosingTextTest, AdviceFollowsTheLimitOfTheJob) {
  search::TuneReport report;
  report.tasks = {Task()};
  report.tasks[0].noisy = true;
  report.trials_this_run = 7;
  report.resolution = 0.0002;
  search::JobSettings settings;
  settings.trials = 0;
  settings.budget_seconds = 30;
  ClosingReport closing = Closing(report, {{1e-3}});
  closing.settings = &settings;
  const auto words = [&closing] {
    std::string text = ClosingText(closing);
    std::ranges::replace(text, '\n', ' ');
    return text;
  };
  EXPECT_THAT(words(), HasSubstr("run the same command with a larger --budget"));
  EXPECT_THAT(words(), HasSubstr("smallest difference that can be told: below 0.1 %"));
  EXPECT_THAT(words(), HasSubstr("of the search, at the same time: device busy"));
  settings.budget_seconds = 0;
  settings.deadline = "8h";
  EXPECT_THAT(words(), HasSubstr("with a later --deadline"));
  settings.trials = 7;
  EXPECT_THAT(words(), HasSubstr("with a larger --trials"));
}

TEST(ClosingTextTest, FitsWithTheLongestNames) {
  search::TuneReport report;
  report.tasks = {Task()};
  report.tasks[0].occurrences = 1234;
  report.tasks[0].trials = 123456;
  report.tasks[0].noisy = true;
  report.tasks[0].ties = std::vector<std::int64_t>(99);
  ClosingReport closing = Closing(report, {{1e-3}});
  closing.names = {std::string(120, 'x')};
  ExpectNarrow(ClosingText(closing));
  ExpectNarrow(OutcomeText(closing));
  EXPECT_THAT(ClosingText(closing, 0), HasSubstr(closing.names[0])) << "nothing is cut in a pipe";
}

TEST(ClosingTextTest, NarrowTerminalsLoseColumnsAndTasksNeverLookEqual) {
  search::TuneReport report;
  report.tasks = {Task(), Task(), Task()};
  report.tasks[0].ties = {5};
  ClosingReport closing = Closing(report, {{1e-3}, {1e-3}, {1e-3}});
  const std::string same(40, 'x');
  closing.names = {same + " s1", same + " s2", "conv2d"};
  for (const int columns : {50, 60, 79, 80}) {
    const auto lines = Split(ClosingText(closing, columns), '\n');
    for (std::size_t i = 1; i < 6; ++i) EXPECT_LT(Columns(lines[i]), columns) << lines[i];
    EXPECT_NE(lines[2].substr(0, 30), lines[3].substr(0, 30)) << columns;
    EXPECT_THAT(lines[2], HasSubstr("… #0"));
    EXPECT_THAT(lines[3], HasSubstr("… #1"));
    EXPECT_THAT(lines[1].find("uses") == std::string::npos, columns < 60);
  }
  EXPECT_EQ(DistinctCuts({"ab", "abc", "abc"}, 3), (std::vector<std::string>{"ab", "abc", "abc"}));
}

TEST(ClosingTextTest, WithoutAMeasurementThereAreNoFigures) {
  search::TuneReport report;
  report.tasks = {search::TaskReport()};
  report.trials = 117;
  const std::string text = ClosingText(Closing(report, {{}}));
  EXPECT_THAT(text, HasSubstr("117 trials; failed: none\n"));
  EXPECT_THAT(text, Not(HasSubstr("smallest difference")));
  EXPECT_THAT(text, Not(HasSubstr("idle")));
  EXPECT_THAT(text, testing::ContainsRegex(" 1 +- +- ")) << "a time that is missing";
}

TEST(OutcomeTextTest, SaysWhyTheJobEnded) {
  search::TuneReport report;
  search::JobSettings settings;
  settings.trials = 64;
  settings.budget_seconds = 60;
  report.tasks = {Task()};
  ClosingReport closing = Closing(report, {{1e-3}});
  closing.settings = &settings;
  const auto after = [&](const char* end, std::int64_t new_trials) {
    report.end = end;
    report.trials_this_run = new_trials;
    const std::string text = OutcomeText(closing);
    ExpectNarrow(text);
    return text;
  };
  EXPECT_EQ(after("trials", 5),
            "64 trials of --trials are done; a larger number continues the job.\n");
  report.trials = 117;
  settings.trials = 10;
  EXPECT_EQ(after("trials", 5),
            "117 trials are done, --trials 10 allows no more; a larger number continues the\n"
            "job.\n");
  EXPECT_EQ(after("budget", 5), "");
  report.elapsed_seconds = 59;
  EXPECT_THAT(after("budget", 0),
              StartsWith("Nothing was measured: the budget of 1m00s is used up"));
  EXPECT_THAT(after("deadline", 0), StartsWith("Nothing was measured: the deadline"));
  EXPECT_THAT(after("exhausted", 0), StartsWith("Nothing is left to do: every config"));
  EXPECT_THAT(after("exhausted", 3), StartsWith("Every config of every task was measured"));
  EXPECT_THAT(after("no improvement", 0), StartsWith("Nothing is left to do: no task improved"));
  EXPECT_THAT(after("no improvement", 9), StartsWith("The search stopped: no task improved"));
  report.interrupted = true;
  closing.share_done = 0.627;
  EXPECT_THAT(after("stopped", 9), StartsWith("Stopped at 62 %: the same command resumes the job"));
}

TEST(OutcomeTextTest, SaysWhyNothingWasGained) {
  search::TuneReport report;
  report.tasks = {Task()};
  report.tasks[0].default_seconds = 2.01e-3;
  report.trials = 100;
  EXPECT_THAT(OutcomeText(Closing(report, {{1.97e-3}})),
              HasSubstr("they are at 98 % of the roofline,\nwhich no config"));
  EXPECT_THAT(OutcomeText(Closing(report, {{1e-3}})), HasSubstr("100 trials found nothing faster"));
  report.trials = 7;
  EXPECT_THAT(OutcomeText(Closing(report, {{1e-3}})), HasSubstr("7 trials for 1 task are too few"));
  report.tasks[0].default_seconds = 4e-3;
  EXPECT_EQ(OutcomeText(Closing(report, {{1e-3}})), "");
}

TEST(OutcomeTextTest, TheRooflineIsAReasonOnlyIfMostTasksHaveATime) {
  search::TuneReport report;
  report.tasks = {Task(), search::TaskReport(), search::TaskReport()};
  report.tasks[0].default_seconds = 2.01e-3;
  report.trials = 1;
  const std::string text = OutcomeText(Closing(report, {{1.97e-3}, {}, {}}));
  EXPECT_THAT(text, Not(HasSubstr("which no config")));
  EXPECT_THAT(text, HasSubstr("1 trial for 3 tasks is too few"));
}

TEST(OutcomeTextTest, SaysWhyTasksHaveNoTime) {
  search::TuneReport report;
  report.tasks = {Task(), search::TaskReport(), search::TaskReport(), search::TaskReport()};
  report.tasks[1].no_result_reason = "none of 9 configs is legal: loop 'n' is not innermost";
  report.tasks[2].trials = 3;
  const std::string text = OutcomeText(Closing(report, {{}, {}, {}, {}}));
  EXPECT_THAT(text, HasSubstr("1 of 4 tasks without a time: none of 9 configs is legal: loop 'n'"));
  EXPECT_THAT(text, HasSubstr("1 of 4 tasks without a time: no trial gave a correct result"));
  EXPECT_THAT(text, HasSubstr("1 of 4 tasks without a time: not measured before the job ended"));
}

TEST(NextStepsTest, AreCommandsWithTheUsersArguments) {
  JobCommand command;
  command.model = "nets/res net.onnx";
  command.records = "r.db";
  command.options = {"--target", "llvm -mcpu=core-avx2", "--shape", "x=1x3x4x4"};
  EXPECT_EQ(NextStepsText(command),
            "Next:\n"
            "  tilewright compile 'nets/res net.onnx' -o 'res net.so' --target 'llvm "
            "-mcpu=core-avx2' --shape x=1x3x4x4 --records r.db\n"
            "  tilewright report r.db -o report.html\n");
  command.model.clear();
  command.task = "mix.tw";
  command.options.clear();
  EXPECT_THAT(NextStepsText(command), HasSubstr("  tilewright query mix.tw --records r.db\n"));
}

}  // namespace
}  // namespace tilewright::report
