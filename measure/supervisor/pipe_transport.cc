#include "measure/supervisor/pipe_transport.h"

#include <signal.h>

#include <cerrno>
#include <cstring>

namespace tilewright::measure {
namespace {

/// Time limit for a worker whose pipe closed to end by itself, so that the report contains its own
/// exit status and not our signal.
constexpr double kEndSeconds = 0.5;

}  // namespace

Status PipeTransport::Connect() {
  if (process_) return {};
  TW_ASSIGN_OR_RETURN(auto process, Subprocess::Start(options_));
  process_.emplace(std::move(process));
  reader_.Clear();
  tail_.Clear();
  return {};
}

Status PipeTransport::Send(std::string_view lines, double seconds) {
  const Status written = WriteAll(process_->input(), lines, seconds);
  const bool gone = !written.ok() && written.message().ends_with(std::strerror(EPIPE));
  return gone ? Unavailable({}) : written;
}

Result<bool> PipeTransport::Receive() {
  if (!process_) return true;
  tail_.Fill(process_->error());
  TW_ASSIGN_OR_RETURN(auto state, reader_.Fill(process_->output(), /*blocking=*/false));
  return state == LineReader::State::kOpen;
}

std::vector<int> PipeTransport::descriptors() const {
  if (!process_) return {};
  return {process_->output(), process_->error()};
}

std::string PipeTransport::End(bool at_once) {
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
  reader_.Clear();
  return text;
}

void PipeTransport::RequestShutdown(double seconds) {
  if (!process_) return;
  process_->CloseInput();
  (void)process_->Wait(seconds);
}

bool PipeTransport::Pause(bool pause) {
  return process_ && ::kill(-process_->pid(), pause ? SIGSTOP : SIGCONT) == 0 && pause;
}

double PipeTransport::ProcessCpuSeconds() const {
  return process_ ? tilewright::ProcessCpuSeconds(process_->pid()) : 0;
}

}  // namespace tilewright::measure
