// Progress of a tuning job: lines that are redrawn on a terminal, or one line for each improvement
// in a log.

#include "src/report/terminal/tune_display.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <numeric>

#include "src/base/printable.h"
#include "src/base/text/plural.h"
#include "src/base/text/text_columns.h"
#include "src/base/thread.h"
#include "src/report/terminal/messages.h"

namespace tilewright::report {
namespace {

// Redrawing more often would flicker.
constexpr double kRedrawSeconds = 0.2;
// Without events: the forecast counts down.
constexpr double kTickSeconds = 1;
constexpr std::size_t kMaxLines = 16;   // of tasks on a terminal
constexpr std::size_t kOtherLines = 2;  // the header and the bar
constexpr double kJobLineSeconds = 60;

// Set after Ctrl-Z and fg: the shell has written below the lines.
std::atomic<bool> continued{false};

}  // namespace

TuneDisplay::TuneDisplay(Settings settings, Clock& clock)
    : settings_(std::move(settings)),
      clock_(clock),
      tasks_(settings_.names.size()),
      touched_(settings_.names.size(), 0),
      begun_(clock.MonotonicSeconds()),
      last_line_(begun_) {
  longest_name_ = Columns("task");
  for (const std::string& name : settings_.names) {
    longest_name_ = std::max(longest_name_, Columns(Printable(name)));
  }
  if (settings_.mode == DisplayMode::kTerminal) {
    lines_.emplace(settings_.size, settings_.rewraps, settings_.color);
  }
}

TuneDisplay::~TuneDisplay() { StopThread(); }

void TuneDisplay::StartThread() {
  if (settings_.mode != DisplayMode::kTerminal) return;
  std::signal(SIGCONT, [](int) { continued = true; });
  Result<std::thread> thread = tilewright::StartThread([this] { Loop(); });
  if (thread.ok()) thread_ = *std::move(thread);  // without the thread only events redraw
}

void TuneDisplay::StopThread() {
  {
    const std::lock_guard lock(mutex_);
    quit_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void TuneDisplay::Loop() {
  std::unique_lock lock(mutex_);
  while (!quit_) {
    wake_.wait_for(lock, std::chrono::duration<double>(kRedrawSeconds));
    if (quit_) return;
    const bool due = clock_.MonotonicSeconds() - last_draw_ >= kTickSeconds;
    if (due || lines_->resized()) Draw(JobNow());
  }
}

void TuneDisplay::Opened(const std::string& /*job_name*/) {
  const std::lock_guard lock(mutex_);
  begun_ = clock_.MonotonicSeconds();  // start of the search
}

void TuneDisplay::Resumed(std::int64_t trials) {
  const std::lock_guard lock(mutex_);
  resumed_ = trials;
  if (settings_.mode != DisplayMode::kQuiet && trials > 0) {
    PrintErr("going on with a job that has {}\n", Counted(trials, "trial"));
  }
}

void TuneDisplay::LogDiscarded(const std::string& why) {
  PrintErr(
      "this job's log does not replay any more ({}): its trials stay in the store, and a new "
      "log begins\n",
      why);
}

void TuneDisplay::StaleFirst(const search::TaskReport& /*task*/, int task_index,
                             std::int64_t configs) {
  if (settings_.mode == DisplayMode::kQuiet) return;
  PrintErr(
      "{}: its records of other versions are not served; the fastest of their configs ({}) "
      "are measured first\n",
      settings_.names[static_cast<std::size_t>(task_index)], configs);
  const std::lock_guard lock(mutex_);
  last_draw_ = -1;  // the message has removed the lines
}

TaskLine TuneDisplay::LineOf(std::size_t task, std::string_view state) const {
  return {settings_.names[task], &tasks_[task], settings_.bounds[task], static_cast<int>(task) + 1,
          state};
}

void TuneDisplay::TrialDone(const search::TaskReport& task, int task_index, const Trial& trial,
                            double eta_seconds) {
  const std::lock_guard lock(mutex_);
  const auto i = static_cast<std::size_t>(task_index);
  const bool improved = trial.outcome == Outcome::kOk && task.best_seconds == trial.value;
  tasks_[i] = task;
  touched_[i] = ++done_;
  eta_ = eta_seconds;
  eta_at_ = clock_.MonotonicSeconds();
  if (settings_.mode == DisplayMode::kTerminal) DrawIfDue();
  if (settings_.mode != DisplayMode::kLog) return;
  if (improved) {
    PrintErr("{}  eta {}\n", TaskLogText(settings_.metric, LineOf(i), std::ssize(tasks_)),
             eta_seconds > 0 ? session::ShortDuration(eta_seconds) : "-");
  }
  if (eta_at_ - last_line_ < kJobLineSeconds) return;
  last_line_ = eta_at_;
  PrintErr("{}\n", JobLogText(JobNow(), settings_.metric, tasks_));
}

void TuneDisplay::TaskFinished(const search::TaskReport& task, int task_index) {
  const std::lock_guard lock(mutex_);
  const auto i = static_cast<std::size_t>(task_index);
  if (stopped_share_ < 0 && task.finish_reason == "stopped") stopped_share_ = ShareDone();
  tasks_[i] = task;
  if (settings_.mode == DisplayMode::kLog) {
    PrintErr("{}\n",
             TaskLogText(settings_.metric, LineOf(i, task.finish_reason), std::ssize(tasks_)));
  }
}

void TuneDisplay::RaceBegins(int task_index) {
  const std::lock_guard lock(mutex_);
  racing_ = task_index;
  if (settings_.mode == DisplayMode::kTerminal) DrawIfDue();
}

double TuneDisplay::EtaNow() const {
  return std::max(0.0, eta_ - (clock_.MonotonicSeconds() - eta_at_));
}

double TuneDisplay::ShareDone() const {
  if (stopped_share_ >= 0) return stopped_share_;
  const double passed = clock_.MonotonicSeconds() - begun_, left = EtaNow();
  const double of_time = eta_ > 0 && passed + left > 0 ? passed / (passed + left) : 0;
  if (settings_.trials == 0) return of_time;
  // Tasks may stop before all trials are made; earlier runs have made some.
  const double of_trials =
      static_cast<double>(resumed_ + done_) / static_cast<double>(settings_.trials);
  return std::clamp(of_trials, of_time, 1.0);
}

JobLine TuneDisplay::JobNow() const {
  const double passed = clock_.MonotonicSeconds() - begun_;
  JobLine job;
  job.share = ShareDone();
  job.eta_seconds = EtaNow();
  job.trials = resumed_ + done_;
  job.limit = settings_.trials;
  job.trials_per_second = passed > 0 ? static_cast<double>(done_) / passed : 0;
  if (racing_ >= 0 && racing_ < std::ssize(tasks_)) {
    job.phase = fmt::format("race {} of {}", racing_ + 1, tasks_.size());
  }
  return job;
}

std::vector<std::size_t> TuneDisplay::Shown(std::size_t most) const {
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    if (tasks_[i].trials > 0) shown.push_back(i);
  }
  if (shown.size() <= most) return shown;
  std::ranges::stable_sort(shown, std::greater(), [this](std::size_t i) { return touched_[i]; });
  shown.resize(most);
  std::ranges::sort(shown);
  return shown;
}

void TuneDisplay::DrawIfDue() {
  const double now = clock_.MonotonicSeconds();
  if (last_draw_ >= 0 && now - last_draw_ < kRedrawSeconds && !lines_->resized()) return;
  Draw(JobNow());
}

void TuneDisplay::Draw(const JobLine& job) {
  last_draw_ = clock_.MonotonicSeconds();
  if (continued.exchange(false)) lines_->Keep();
  const TerminalSize size = lines_->size();
  const auto columns = TaskColumns::Fitting(size.columns - 1, longest_name_);
  const std::size_t rows = static_cast<std::size_t>(std::max(0, size.rows));
  // At most half of the terminal, so that the lines still fit when it is made half as wide.
  const std::size_t half = rows > 0 ? (rows - 1) / 2 : 0;
  const auto shown = Shown(std::min(kMaxLines, half > kOtherLines ? half - kOtherLines : 0));
  std::vector<StyledLine> lines;
  if (!shown.empty()) lines.push_back(TaskHeader(columns));
  for (const std::size_t i : shown) {
    const bool races = static_cast<int>(i) == racing_;
    lines.push_back(TaskRow(columns, settings_.metric, LineOf(i, races ? "racing" : "")));
  }
  lines.push_back(JobRow(job, settings_.metric, tasks_, size.columns - 1));
  lines_->Draw(lines);
}

double TuneDisplay::Finish(const search::TuneReport& report) {
  StopThread();
  const std::lock_guard lock(mutex_);
  JobLine job = JobNow();
  if (!report.interrupted) job.share = 1;
  racing_ = -1;
  job.phase.clear();
  job.eta_seconds = 0;
  job.trials = report.trials;
  job.trials_per_second = report.trials_per_second;
  tasks_ = report.tasks;
  if (lines_) {
    Draw(job);
    lines_.reset();
  }
  return job.share;
}

}  // namespace tilewright::report
