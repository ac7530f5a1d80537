#include "measure/process_measurer.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <filesystem>
#include <thread>
#include <utility>

#include "measure/supervisor.h"
#include "src/base/thread.h"

namespace tilewright::measure {
namespace {

constexpr std::string_view kFolderPrefix = "tilewright-measure-";

/// Removes the folders of measurers that were killed: their names carry the process id.
void RemoveStaleFolders(const std::string& root) {
  std::error_code error;
  std::filesystem::directory_iterator entries(root, error), end;
  while (!error && entries != end) {
    const std::string name = entries->path().filename().string();
    if (name.starts_with(kFolderPrefix)) {
      int pid = 0;
      const char* first = name.data() + kFolderPrefix.size();
      const auto parsed = std::from_chars(first, name.data() + name.size(), pid);
      std::error_code ignored;
      if (parsed.ec == std::errc() && pid > 0 && ::kill(pid, 0) != 0 && errno == ESRCH) {
        std::filesystem::remove_all(entries->path(), ignored);
      }
    }
    entries.increment(error);
  }
}

std::string ShellQuoted(const std::string& text) {
  std::string quoted = "'";
  for (char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace

struct ProcessMeasurer::Impl {
  Impl(ProcessMeasurerSettings wanted, TemporaryFolder temporary)
      : settings(std::move(wanted)),
        folder(std::move(temporary)),
        device(settings.device ? *settings.device : ProbeHostCpu()) {}
  ~Impl() {
    {
      const std::lock_guard lock(mailbox.mutex);
      mailbox.stop = true;
    }
    Wake();
    if (thread.joinable()) thread.join();
    if (wake_fd >= 0) ::close(wake_fd);
  }
  void Wake() const {
    const std::uint64_t one = 1;
    (void)!::write(wake_fd, &one, sizeof(one));
  }
  /// The supervising thread. SIGPIPE stays blocked in it: writing to a worker that died is an
  /// ordinary error there.
  void Supervise() {
    sigset_t pipe;
    ::sigemptyset(&pipe);
    ::sigaddset(&pipe, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
    Supervisor supervisor(settings, mailbox, folder.path(), device, wake_fd);
    supervisor.Run();
  }

  ProcessMeasurerSettings settings;
  TemporaryFolder folder;
  DeviceFingerprint device;
  mutable Mailbox mailbox;
  int wake_fd = -1;
  int in_flight = 0;
  std::thread thread;
};

Result<std::unique_ptr<ProcessMeasurer>> ProcessMeasurer::Create(ProcessMeasurerSettings settings) {
  TW_CHECK(!settings.build_command.empty() && !settings.run_command.empty());
  for (const char* root : {"/dev/shm", "/tmp"}) RemoveStaleFolders(root);
  auto folder = TemporaryFolder::Create(std::string(kFolderPrefix) + std::to_string(::getpid()));
  TW_RETURN_IF_ERROR(folder);
  if (settings.builders <= 0) {
    const auto cores = static_cast<int>(AllowedCores().size());
    settings.builders = std::clamp(cores - 1, 1, 8);
  }
  auto impl = std::make_unique<Impl>(std::move(settings), *std::move(folder));
  impl->wake_fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (impl->wake_fd < 0) return Unavailable("no event descriptor can be made");
  impl->mailbox.ledger = TimeLedger(SystemClock().MonotonicSeconds());
  auto thread = StartThread([raw = impl.get()] { raw->Supervise(); });
  TW_RETURN_IF_ERROR(thread);
  impl->thread = *std::move(thread);
  return std::make_unique<ProcessMeasurer>(std::move(impl));
}

ProcessMeasurer::ProcessMeasurer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ProcessMeasurer::~ProcessMeasurer() = default;

Status ProcessMeasurer::Submit(Request request) {
  return SubmitWithFault(std::move(request), Fault());
}

Status ProcessMeasurer::SubmitWithFault(Request request, const Fault& fault) {
  {
    const std::lock_guard lock(impl_->mailbox.mutex);
    TW_RETURN_IF_ERROR(impl_->mailbox.broken);
    Job job;
    job.request = std::move(request);
    job.fault = fault;
    impl_->mailbox.incoming.push_back(std::move(job));
  }
  ++impl_->in_flight;
  impl_->Wake();
  return {};
}

Result<std::optional<Reply>> ProcessMeasurer::Next(double timeout_seconds) {
  Mailbox& mailbox = impl_->mailbox;
  std::unique_lock lock(mailbox.mutex);
  mailbox.changed.wait_for(lock, std::chrono::duration<double>(timeout_seconds),
                           [&] { return !mailbox.finished.empty() || !mailbox.broken.ok(); });
  if (!mailbox.finished.empty()) {
    std::optional<Reply> reply(std::move(mailbox.finished.front()));
    mailbox.finished.pop_front();
    --impl_->in_flight;
    return reply;
  }
  TW_RETURN_IF_ERROR(mailbox.broken);
  return std::optional<Reply>();
}

int ProcessMeasurer::in_flight() const { return impl_->in_flight; }

int ProcessMeasurer::capacity() const {
  return impl_->settings.builders + impl_->settings.queue_limit + 1;
}

TimeSplit ProcessMeasurer::time_split() const {
  const std::lock_guard lock(impl_->mailbox.mutex);
  return impl_->mailbox.ledger.At(SystemClock().MonotonicSeconds());
}

const DeviceFingerprint& ProcessMeasurer::device() const { return impl_->device; }

double ProcessMeasurer::resolution() const {
  constexpr double kWaitSeconds = 20;
  Mailbox& mailbox = impl_->mailbox;
  std::unique_lock lock(mailbox.mutex);
  mailbox.changed.wait_for(lock, std::chrono::duration<double>(kWaitSeconds),
                           [&] { return mailbox.greeting.has_value() || !mailbox.broken.ok(); });
  return mailbox.greeting ? mailbox.greeting->resolution : 0;
}

Result<std::vector<Trial>> ProcessMeasurer::Race(const std::vector<Candidate>& finalists) {
  if (finalists.empty()) return std::vector<Trial>();
  Mailbox& mailbox = impl_->mailbox;
  std::unique_lock lock(mailbox.mutex);
  TW_RETURN_IF_ERROR(mailbox.broken);
  mailbox.race_result.reset();
  mailbox.race.clear();
  for (const Candidate& finalist : finalists) {
    Job job;
    job.request.candidate = finalist;
    job.racing = true;
    mailbox.race.push_back(std::move(job));
  }
  impl_->Wake();
  mailbox.changed.wait(lock,
                       [&] { return mailbox.race_result.has_value() || !mailbox.broken.ok(); });
  if (!mailbox.race_result) return mailbox.broken;
  return *std::exchange(mailbox.race_result, std::nullopt);
}

std::vector<int> ProcessMeasurer::worker_pids() const {
  const std::lock_guard lock(impl_->mailbox.mutex);
  return impl_->mailbox.worker_pids;
}

std::string ReproduceCommand(const Candidate& candidate) {
  std::string command = "tilewright measure --task " + ShellQuoted(candidate.task.workload.Key()) +
                        " --target " + ShellQuoted(candidate.task.target.ToString()) +
                        " --template " + candidate.template_key + " --config " +
                        ShellQuoted(candidate.config.ToString());
  const std::string epilogue = candidate.epilogue.ToString();
  if (!epilogue.empty()) command += " --epilogue " + ShellQuoted(epilogue);
  return command;
}

}  // namespace tilewright::measure
