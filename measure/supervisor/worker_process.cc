#include "measure/supervisor/worker_process.h"

#include <signal.h>

#include "measure/messages.h"

namespace tilewright::measure {
namespace {

/// How long a worker may leave an order unread before it counts as gone.
constexpr double kWriteSeconds = 10;
/// How long a worker whose pipe closed may take to end by itself, so that its own way of ending is
/// reported and not our signal.
constexpr double kEndSeconds = 0.5;

}  // namespace

Status WorkerProcess::EnsureStarted() {
  if (process_) return {};
  auto process = Subprocess::Start(options_);
  TW_RETURN_IF_ERROR(process);
  process_.emplace(*std::move(process));
  reader_.Clear();
  tail_.Clear();
  busy_ = paused_ = false;
  orders_ = 0;
  told_.clear();
  return {};
}

Status WorkerProcess::Send(const Json& order, double now, double limit_seconds,
                           const std::string& before) {
  TW_RETURN_IF_ERROR(EnsureStarted());
  busy_ = true;
  limit_seconds_ = limit_seconds;
  deadline_ = now + limit_seconds;
  sent_at_ = now;
  processor_at_send_ = ProcessorSeconds(process_->pid());
  ++orders_;
  return WriteAll(process_->input(), before + LineOf(order), kWriteSeconds);
}

Status WorkerProcess::Push(const std::string& lines, double seconds) {
  TW_RETURN_IF_ERROR(EnsureStarted());
  return WriteAll(process_->input(), lines, seconds);
}

bool WorkerProcess::IsOverdue(double now) {
  if (!busy_ || paused_ || now < deadline_) return false;
  const double used = ProcessorSeconds(process_->pid()) - processor_at_send_;
  if (used > 0.7 * limit_seconds_ || now > sent_at_ + 3 * limit_seconds_) return true;
  deadline_ = now + 0.25 * limit_seconds_;
  return false;
}

Result<bool> WorkerProcess::Read() {
  if (!process_) return true;
  tail_.Fill(process_->error());
  auto state = reader_.Fill(process_->output(), /*blocking=*/false);
  TW_RETURN_IF_ERROR(state);
  return *state == LineReader::State::kOpen;
}

std::string WorkerProcess::End(bool at_once) {
  if (!process_) return "not started";
  auto ended = process_->Wait(at_once ? 0 : kEndSeconds);
  if (!ended) {
    process_->KillGroup();
    ended = process_->Wait(60);
  }
  tail_.Fill(process_->error());
  std::string text = ended ? ended->ToString() : "does not end";
  const std::string words = tail_.LastLine();
  if (!words.empty()) text += ": " + words;
  process_.reset();
  busy_ = paused_ = false;
  return text;
}

void WorkerProcess::LetEnd(double seconds) {
  if (!process_) return;
  process_->CloseInput();
  (void)process_->Wait(seconds);
}

void WorkerProcess::Pause(double now) {
  if (!process_ || paused_) return;
  paused_ = true;
  paused_at_ = now;
  ::kill(-process_->pid(), SIGSTOP);
}

void WorkerProcess::Resume(double now) {
  if (!process_ || !paused_) return;
  paused_ = false;
  deadline_ += now - paused_at_;
  sent_at_ += now - paused_at_;
  ::kill(-process_->pid(), SIGCONT);
}

}  // namespace tilewright::measure
