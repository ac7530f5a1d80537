#include "src/report/terminal/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "src/base/printable.h"
#include "src/base/thread.h"
#include "src/report/terminal/messages.h"
#include "src/report/tune/text.h"
#include "src/session/format.h"

namespace tilewright::report {
namespace {

constexpr double kSilentSeconds = 1;
constexpr double kRedrawBarSeconds = 0.1;
constexpr double kLineSeconds = 10;
constexpr int kBarWidth = 24;

}  // namespace

Progress::Progress(std::string what, bool terminal, Clock& clock, LiveLines::Size size)
    : what_(Printable(what)), clock_(clock), begun_(clock.MonotonicSeconds()) {
  if (terminal) lines_.emplace(std::move(size), TerminalRewraps(), /*color=*/false);
}

Progress::~Progress() { Clear(); }

void Progress::Clear() {
  if (lines_) lines_->Clear();
}

void Progress::Update(double done, double total, std::string_view now) {
  const double time = clock_.MonotonicSeconds();
  const double passed = time - begun_;
  if (passed < kSilentSeconds || IsQuiet()) return;
  if (told_ >= 0 && time - told_ < (lines_ ? kRedrawBarSeconds : kLineSeconds)) return;
  told_ = time;
  const double share = total > 0 ? std::clamp(done / total, 0.0, 1.0) : 0;
  std::string state;
  if (total > 0) {
    state = fmt::format("{:.0f} %", 100 * share);
    // An estimate from the first percent would be noise.
    if (share > 0.02 && share < 1)
      state += "  eta " + session::ShortDuration(passed * (1 - share) / share);
  } else {
    state = done > 0 ? fmt::format("{:.0f}", done) : session::ShortDuration(passed);
  }
  const std::string text = now.empty() ? "" : "  " + Printable(now);
  if (!lines_) {
    PrintErr("{}: {}{}\n", what_, state, text);
    return;
  }
  const std::string bar = total > 0 ? BarText(share, kBarWidth) + " " : "";
  lines_->Draw({{{what_ + " " + bar + state + text}}});
}

WorkProgress::WorkProgress(std::string what)
    : progress_(std::move(what), ::isatty(STDERR_FILENO) == 1, clock_) {
  Result<std::thread> thread = StartThread([this] { Loop(); });
  if (thread.ok()) thread_ = *std::move(thread);  // without the thread no progress is shown
}

WorkProgress::~WorkProgress() { Stop(); }

void WorkProgress::Set(double done, double total, std::string_view now) {
  const std::lock_guard lock(mutex_);
  done_ = done;
  total_ = total;
  now_ = now;
}

void WorkProgress::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
  progress_.Clear();
}

void WorkProgress::Loop() {
  std::unique_lock lock(mutex_);
  while (!stopped_) {
    wake_.wait_for(lock, std::chrono::duration<double>(kRedrawBarSeconds));
    if (!stopped_) progress_.Update(done_, total_, now_);
  }
}

}  // namespace tilewright::report
