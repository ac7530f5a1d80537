// Screens of `tune` on terminals of several widths: by a display with a set clock, and by the
// program itself behind a pseudo-terminal.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "src/base/files/file.h"
#include "src/base/files/locked_temp_dir.h"
#include "src/base/text/text_columns.h"
#include "src/report/terminal/messages.h"
#include "src/report/terminal/tune_display.h"
#include "tests/program/screen.h"
#include "tests/support/set_clock.h"

namespace tilewright::report {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr int kTasks = 6;
constexpr const char* kAbove = "a message above";

/// Display of a fake job on an emulated terminal.
class DrivenDisplay {
 public:
  DrivenDisplay(int columns, int rows, bool rewraps)
      : screen(columns, rows, rewraps), size_{columns, rows} {
    TuneDisplay::Settings settings;
    settings.names = {"conv2d 3->64 7x7 s2 224x224",   "conv2d 64->64 3x3 56x56",
                      "depthwise_conv2d 960->960 3x3", "expression µ模型 1x64x56x56",
                      "conv2d 512->512 3x3 7x7",       "dense 1x512x1000"};
    settings.bounds = {{1.8e-3, 0}, {4.9e-4, 0}, {1e-3, 0}, {3e-5, 0}, {8e-4, 0}, {2e-5, 0}};
    settings.mode = DisplayMode::kTerminal;
    settings.rewraps = rewraps;
    settings.size = [this] { return size_; };
    settings.trials = 40;
    Run([&] { PrintErr("{}\n", kAbove); });
    Run([&] { display = std::make_unique<TuneDisplay>(settings, clock); });
  }

  /// Runs it and writes its output to the screen.
  void Run(const std::function<void()>& body) {
    testing::internal::CaptureStderr();
    body();
    screen.Write(testing::internal::GetCapturedStderr());
  }
  void Trial(int task, double seconds) {
    clock.now += 0.5;
    Trial_ done;
    done.outcome = seconds > 0 ? Outcome::kOk : Outcome::kBuildFailed;
    done.value = seconds;
    search::TaskReport& report = reports[static_cast<std::size_t>(task)];
    ++report.trials;
    report.current_seconds = seconds;
    if (report.default_seconds == 0) report.default_seconds = seconds;
    if (seconds > 0 && (report.best_seconds == 0 || seconds < report.best_seconds)) {
      report.best_seconds = seconds;
    }
    Run([&] { display->TrialDone(report, task, done, 20 - 0.5 * clock.now); });
  }
  void Resize(int columns, int rows) {
    size_ = {columns, rows};
    screen.Resize(columns, rows);
  }
  void Stop() {
    search::TuneReport report;
    for (int i = 0; i < kTasks; ++i) {
      auto& task = reports[static_cast<std::size_t>(i)];
      task.finished = true;
      task.finish_reason = "stopped";
      Run([&] { display->TaskFinished(task, i); });
    }
    report.tasks = reports;
    report.trials = trials();
    report.trials_per_second = 2;
    report.interrupted = true;
    screen.Write("^C");  // as the terminal's driver echoes it
    Run([&] { share = display->Finish(report); });
  }
  std::int64_t trials() const {
    std::int64_t sum = 0;
    for (const auto& task : reports) sum += task.trials;
    return sum;
  }

  using Trial_ = tilewright::Trial;
  SetClock clock;
  Screen screen;
  std::unique_ptr<TuneDisplay> display;
  std::vector<search::TaskReport> reports = std::vector<search::TaskReport>(kTasks);
  double share = -1;

 private:
  TerminalSize size_;
};

/// Counts the lines that contain a text.
std::int64_t Count(const std::vector<std::string>& lines, std::string_view text) {
  return std::ranges::count_if(
      lines, [&](const std::string& line) { return line.find(text) != std::string::npos; });
}

/// Checks that each line of the display is on the screen once and fits, and nothing else.
void CheckClean(const Screen& screen, int columns, const std::string& when) {
  const std::vector<std::string> lines = screen.AllLines();
  EXPECT_EQ(Count(lines, "task "), 1) << when << "\n" << screen.Text();
  EXPECT_EQ(Count(lines, "[#") + Count(lines, "[."), 1) << when << "\n" << screen.Text();
  EXPECT_EQ(screen.wrapped(), 0) << when;
  EXPECT_EQ(screen.overwritten(), 0) << when;
  EXPECT_EQ(screen.unknown(), "") << when;
  for (const std::string& line : screen.Lines()) EXPECT_LT(Columns(line), columns) << line;
}

void PlayHalf(DrivenDisplay& run) {
  run.Trial(0, 1.99e-3);
  run.Trial(1, 598.6e-6);
  run.Trial(3, 65.3e-6);
  run.Trial(3, 37.3e-6);
  run.Trial(1, 0);
  run.Trial(4, 1.22e-3);
}

/// The screen of half a job.
std::string HalfJob(int columns) {
  DrivenDisplay run(columns, 24, /*rewraps=*/true);
  PlayHalf(run);
  CheckClean(run.screen, columns, "half");
  return run.screen.Text();
}

TEST(TuneScreenTest, At60Columns) {
  EXPECT_EQ(HalfJob(60), R"(a message above
   # task                             best   gain       now
   1 conv2d 3->64 7x7 s2 224x224   1.99 ms  1.00x   1.99 ms
   2 conv2d 64->64 3x3 56x56      598.6 µs  1.00x    failed
   4 expression µ模型 1x64x56x56   37.3 µs  1.75x   37.3 µs
   5 conv2d 512->512 3x3 7x7       1.22 ms  1.00x   1.22 ms
[##........] 15 %  eta 19s  4 of 6 tasks 3.85 ms 1.01x
)");
}
TEST(TuneScreenTest, At80Columns) {
  EXPECT_EQ(HalfJob(80), R"(a message above
   # task                               best   gain roofl. trials       now
   1 conv2d 3->64 7x7 s2 224x224     1.99 ms  1.00x   90 %      1   1.99 ms
   2 conv2d 64->64 3x3 56x56        598.6 µs  1.00x   82 %      2    failed
   4 expression µ模型 1x64x56x56     37.3 µs  1.75x   80 %      2   37.3 µs
   5 conv2d 512->512 3x3 7x7         1.22 ms  1.00x   66 %      1   1.22 ms
[###.................] 15 %  eta 19s  4 of 6 tasks 3.85 ms 1.01x  6/40 trials
)");
}
TEST(TuneScreenTest, At120Columns) {
  EXPECT_EQ(HalfJob(120), R"(a message above
   # task                               best   gain roofl. trials       now
   1 conv2d 3->64 7x7 s2 224x224     1.99 ms  1.00x   90 %      1   1.99 ms
   2 conv2d 64->64 3x3 56x56        598.6 µs  1.00x   82 %      2    failed
   4 expression µ模型 1x64x56x56     37.3 µs  1.75x   80 %      2   37.3 µs
   5 conv2d 512->512 3x3 7x7         1.22 ms  1.00x   66 %      1   1.22 ms
[###.................] 15 %  eta 19s  4 of 6 tasks 3.85 ms 1.01x  6/40 trials  2.0/s
)");
}
TEST(TuneScreenTest, At200Columns) {
  EXPECT_EQ(HalfJob(200), HalfJob(120)) << "no wider than needed";
}

TEST(TuneScreenTest, ATerminalThatIsResizedHasNoLeftovers) {
  for (const bool rewraps : {true, false}) {
    for (const int first : {60, 80, 120, 200}) {
      DrivenDisplay run(first, 24, rewraps);
      PlayHalf(run);
      for (const int columns : {first / 2 + 10, 200, 60}) {
        run.Resize(columns, 24);
        run.Trial(2, 1.5e-3);
        CheckClean(run.screen, columns,
                   "from " + std::to_string(first) + " to " + std::to_string(columns));
      }
      if (rewraps) {
        EXPECT_EQ(run.screen.AllLines().front(), kAbove) << first;
      }
      run.Stop();
      CheckClean(run.screen, 60, "at the end");
      EXPECT_THAT(run.screen.Text(), Not(HasSubstr("^C")));
    }
  }
}

TEST(TuneScreenTest, ALowTerminalShowsTheTasksThatChangedLast) {
  DrivenDisplay run(80, 10, /*rewraps=*/true);
  PlayHalf(run);
  CheckClean(run.screen, 80, "low");
  const std::vector<std::string> lines = run.screen.Lines();
  EXPECT_EQ(Count(lines, "conv2d 512->512"), 1);
  EXPECT_EQ(Count(lines, "conv2d 64->64"), 1);
  EXPECT_EQ(Count(lines, "conv2d 3->64"), 0);
  run.Resize(80, 4);
  run.Trial(0, 1e-3);
  EXPECT_EQ(run.screen.Lines().size(), 1U) << run.screen.Text();
}

TEST(TuneScreenTest, MessagesAppearAboveTheLines) {
  DrivenDisplay run(80, 24, /*rewraps=*/true);
  PlayHalf(run);
  run.Run([] { PrintErr("a worker has gone\n"); });
  run.Trial(0, 1.5e-3);
  CheckClean(run.screen, 80, "message");
  const std::vector<std::string> lines = run.screen.AllLines();
  EXPECT_EQ(lines[0], kAbove);
  EXPECT_EQ(lines[1], "a worker has gone");
}

TEST(TuneScreenTest, TheBarEndsWhereCtrlCStoppedIt) {
  DrivenDisplay run(80, 24, /*rewraps=*/true);
  PlayHalf(run);
  run.Stop();
  EXPECT_EQ(run.share, 6.0 / 40);
  EXPECT_THAT(run.screen.Text(), HasSubstr("[###.................] 15 %"));
  EXPECT_THAT(run.screen.Text(), HasSubstr("stopped"));
  EXPECT_THAT(run.screen.Text(), Not(HasSubstr("eta")));
}

/// The program behind a pseudo-terminal.
class ProgramOnTerminal {
 public:
  ProgramOnTerminal(const std::vector<std::string>& arguments, int columns, int rows)
      : screen(columns, rows, /*rewraps=*/true) {
    std::vector<char*> argv;
    for (const std::string& one : arguments) argv.push_back(const_cast<char*>(one.c_str()));
    argv.push_back(nullptr);
    winsize size = {};
    size.ws_col = static_cast<unsigned short>(columns);
    size.ws_row = static_cast<unsigned short>(rows);
    pid_ = ::forkpty(&terminal_, nullptr, nullptr, &size);
    if (pid_ == 0) {
      ::setenv("TERM", "xterm-256color", 1);
      ::unsetenv("XTERM_VERSION");
      ::unsetenv("STY");
      ::execv(argv[0], argv.data());
      ::_exit(127);
    }
  }
  ~ProgramOnTerminal() {
    if (pid_ > 0 && !ended_) ::kill(pid_, SIGKILL);
    Wait();
    ::close(terminal_);
  }

  /// Reads the program's output for so long, or until it ends.
  void Read(double seconds) {
    using Clock = std::chrono::steady_clock;
    const auto until = Clock::now() + std::chrono::duration<double>(seconds);
    while (!ended_ && Clock::now() < until) {
      pollfd ready = {terminal_, POLLIN, 0};
      if (::poll(&ready, 1, 20) <= 0) continue;
      char bytes[4096];
      const ssize_t count = ::read(terminal_, bytes, sizeof bytes);
      if (count <= 0) {
        ended_ = true;
        break;
      }
      screen.Write(std::string_view(bytes, static_cast<std::size_t>(count)));
    }
  }
  /// Reads until the screen has the text.
  bool ReadUntil(std::string_view text, double seconds) {
    for (double passed = 0; passed < seconds && !ended_; passed += 0.1) {
      if (Count(screen.AllLines(), text) > 0) return true;
      Read(0.1);
    }
    return Count(screen.AllLines(), text) > 0;
  }
  void Resize(int columns, int rows) {
    winsize size = {};
    size.ws_col = static_cast<unsigned short>(columns);
    size.ws_row = static_cast<unsigned short>(rows);
    screen.Resize(columns, rows);
    ::ioctl(terminal_, TIOCSWINSZ, &size);
  }
  void Type(char key) { (void)!::write(terminal_, &key, 1); }
  /// Returns the exit code, after the program has ended.
  int Wait() {
    if (pid_ > 0) ::waitpid(pid_, &status_, 0);
    pid_ = -1;
    return WIFEXITED(status_) ? WEXITSTATUS(status_) : -1;
  }

  Screen screen;

 private:
  int terminal_ = -1;
  pid_t pid_ = -1;
  int status_ = -1;
  bool ended_ = false;
};

TEST(TuneTerminalTest, TheProgramRedrawsItsLinesAndStopsAtCtrlC) {
  const auto folder = LockedTempDir::Create("tilewright-test");
  ASSERT_TRUE(folder.ok());
  const std::string job = folder->path() + "/job.json";
  ASSERT_TRUE(WriteFile(job, R"({"graph": "dense(float32[64,256]MK,float32[512,256]NK)->float32",
      "strategy": "random", "early_stop_trials": 0, "budget_seconds": "10m"})")
                  .ok());
  ProgramOnTerminal program(
      {TILEWRIGHT_PROGRAM, "tune", "--job", job, "--records", folder->path() + "/r.db"}, 120, 24);
  ASSERT_TRUE(program.ReadUntil("[#", 60) || program.ReadUntil("[.", 60)) << program.screen.Text();
  ASSERT_TRUE(program.ReadUntil("best   gain", 60)) << program.screen.Text();
  for (const int columns : {60, 90}) {
    program.Resize(columns, 24);
    const bool wide = columns > 80;
    const auto drawn = [&] {  // a narrow screen has no column for the roofline
      const auto lines = program.screen.AllLines();
      return Count(lines, "best   gain") == 1 && Count(lines, "roofl.") == (wide ? 1 : 0);
    };
    for (int i = 0; i < 300 && !drawn(); ++i) program.Read(0.1);
    const std::vector<std::string> lines = program.screen.AllLines();
    EXPECT_TRUE(drawn()) << program.screen.Text();
    EXPECT_EQ(Count(lines, "[#") + Count(lines, "[."), 1) << program.screen.Text();
  }
  EXPECT_EQ(program.screen.wrapped(), 0) << program.screen.Text();
  program.Type('\x03');
  program.Read(60);
  EXPECT_EQ(program.Wait(), 130);
  const std::vector<std::string> lines = program.screen.AllLines();
  EXPECT_EQ(Count(lines, "[#") + Count(lines, "[."), 1) << program.screen.Text();
  EXPECT_EQ(Count(lines, "] 100 %"), 0) << program.screen.Text();
  EXPECT_EQ(Count(lines, "Stopped at"), 1) << program.screen.Text();
  EXPECT_EQ(program.screen.unknown(), "");
}

}  // namespace
}  // namespace tilewright::report
