// The caller's side: a mailbox shared with the supervising thread. Submit and Race put requests
// into it, Next waits for results from it.

#include "measure/supervisor/process_measurer.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <chrono>
#include <thread>
#include <utility>

#include "measure/supervisor/core_assignment.h"
#include "measure/supervisor/supervisor.h"
#include "src/base/files/locked_temp_dir.h"
#include "src/base/process/subprocess.h"
#include "src/base/shell/quote.h"
#include "src/base/thread.h"
#include "src/runtime/cpu_limit.h"
#include "src/target/library.h"
#include "src/tensor/open_workload.h"

namespace tilewright::measure {
namespace {

/// Returns the cores of builders and runner. Reserves cores only for timing on this CPU, not for
/// remote runners, simulated counts or a GPU, whose runner only waits.
CoreAssignment CoresFor(const ProcessMeasurerSettings& settings) {
  const std::vector<int> allowed = AllowedCores();
  if (settings.remote) return CoreAssignment{{}, allowed, {}, {}, {}};
  if (settings.counts) return CoreAssignment{allowed, allowed, {}, {}, {}};
  if (!settings.runner.calibrate) return SplitCores(allowed);
  return ReserveCores(allowed, settings.core_folder, settings.user_lock_folders);
}

}  // namespace

struct ProcessMeasurer::Impl {
  Impl(ProcessMeasurerSettings wanted, LockedTempDir temporary, CoreAssignment chosen)
      : settings(std::move(wanted)),
        folder(std::move(temporary)),
        cores(std::move(chosen)),
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
  Status Put(Job job) {
    {
      const std::lock_guard lock(mailbox.mutex);
      TW_RETURN_IF_ERROR(mailbox.broken);
      mailbox.incoming.push_back(std::move(job));
    }
    ++in_flight;
    Wake();
    return {};
  }
  /// Supervising thread. SIGPIPE stays blocked in it: writing to a dead worker is an ordinary error
  /// there.
  void Supervise() {
    sigset_t pipe;
    ::sigemptyset(&pipe);
    ::sigaddset(&pipe, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
    Supervisor supervisor(settings, mailbox, folder.path(), device, cores, wake_fd);
    supervisor.Run();
  }

  ProcessMeasurerSettings settings;
  LockedTempDir folder;
  CoreAssignment cores;
  DeviceFingerprint device;
  mutable Mailbox mailbox;
  int wake_fd = -1;
  int in_flight = 0;
  std::thread thread;
};

Result<std::unique_ptr<ProcessMeasurer>> ProcessMeasurer::Create(ProcessMeasurerSettings settings) {
  TW_CHECK(!settings.build_command.empty() && !settings.run_commands.empty());
  TW_ASSIGN_OR_RETURN(auto folder, LockedTempDir::Create(LockedTempDir::kMeasurerPrefix));
  CoreAssignment cores = CoresFor(settings);
  if (!cores.note.empty() && settings.on_core_shared) settings.on_core_shared(cores.note);
  if (settings.builders <= 0) {
    // If the builders may use all cores, leave one to this process.
    const std::size_t busy = settings.remote || settings.counts ? 1 : 0;
    settings.builders = std::clamp(static_cast<int>(cores.builders.size() - busy), 1, 8);
    // Leave a processor of the container's CPU quota, so that the runner is not throttled.
    settings.builders = std::clamp(TwUsableCpus() - 1, 1, settings.builders);
    settings.opportunistic_builder = !settings.remote && cores.builders != cores.runner &&
                                     static_cast<int>(cores.builders.size()) == settings.builders;
    if (settings.opportunistic_builder) ++settings.builders;
  }
  TW_CHECK(!settings.opportunistic_builder || settings.builders > 1);
  settings.queue_limit *= static_cast<int>(settings.run_commands.size());
  auto impl = std::make_unique<Impl>(std::move(settings), std::move(folder), std::move(cores));
  impl->wake_fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (impl->wake_fd < 0) return Unavailable("no event descriptor can be made");
  impl->mailbox.ledger = TimeLedger(SystemClock().MonotonicSeconds());
  TW_ASSIGN_OR_RETURN(impl->thread, StartThread([raw = impl.get()] { raw->Supervise(); }));
  return std::make_unique<ProcessMeasurer>(std::move(impl));
}

ProcessMeasurer::ProcessMeasurer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ProcessMeasurer::~ProcessMeasurer() = default;

Status ProcessMeasurer::Submit(Request request) {
  return SubmitWithFault(std::move(request), Fault());
}

Status ProcessMeasurer::SubmitWithFault(Request request, const Fault& fault) {
  Job job;
  job.request = std::move(request);
  job.fault = fault;
  return impl_->Put(std::move(job));
}

Status ProcessMeasurer::SubmitBuild(Request request) {
  Job job;
  job.request = std::move(request);
  job.part = JobPart::kBuild;
  return impl_->Put(std::move(job));
}

Status ProcessMeasurer::SubmitBuilt(Request request, KernelSpec kernel) {
  Job job;
  job.request = std::move(request);
  job.part = JobPart::kRun;
  job.kernel = std::move(kernel);
  return impl_->Put(std::move(job));
}

Result<KernelSpec> ProcessMeasurer::TakeBuilt(std::uint64_t ticket) {
  const std::lock_guard lock(impl_->mailbox.mutex);
  auto node = impl_->mailbox.built.extract(ticket);
  if (node.empty()) return NotFound("no kernel was built for ticket " + std::to_string(ticket));
  return std::move(node.mapped());
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

std::vector<std::uint64_t> ProcessMeasurer::CancelPending() {
  Mailbox& mailbox = impl_->mailbox;
  std::unique_lock lock(mailbox.mutex);
  mailbox.cancel_requested = true;
  impl_->Wake();
  mailbox.changed.wait(lock, [&] { return !mailbox.cancel_requested || !mailbox.broken.ok(); });
  mailbox.cancel_requested = false;
  impl_->in_flight -= static_cast<int>(mailbox.dropped.size());
  return std::exchange(mailbox.dropped, {});
}

int ProcessMeasurer::in_flight() const { return impl_->in_flight; }

int ProcessMeasurer::capacity() const {
  return impl_->settings.builders + impl_->settings.queue_limit +
         static_cast<int>(impl_->settings.run_commands.size());
}

TimeSplit ProcessMeasurer::time_split() const {
  const std::lock_guard lock(impl_->mailbox.mutex);
  return impl_->mailbox.ledger.At(SystemClock().MonotonicSeconds());
}

const DeviceFingerprint& ProcessMeasurer::device() const { return impl_->device; }
bool ProcessMeasurer::measures_energy() const {
  return impl_->settings.runner.joules && !impl_->settings.remote;
}

double ProcessMeasurer::resolution() const {
  constexpr double kWaitSeconds = 20;
  Mailbox& mailbox = impl_->mailbox;
  std::unique_lock lock(mailbox.mutex);
  mailbox.changed.wait_for(lock, std::chrono::duration<double>(kWaitSeconds),
                           [&] { return mailbox.handshake.has_value() || !mailbox.broken.ok(); });
  return mailbox.handshake ? mailbox.handshake->resolution : 0;
}

double ProcessMeasurer::probe_seconds() const {
  const std::lock_guard lock(impl_->mailbox.mutex);
  return impl_->mailbox.probe_seconds;
}

Status ProcessMeasurer::BeginRace(const std::vector<Candidate>& finalists,
                                  const RaceSettings& terms, std::vector<KernelSpec> kernels) {
  TW_CHECK(!finalists.empty() && (kernels.empty() || kernels.size() == finalists.size()));
  Mailbox& mailbox = impl_->mailbox;
  const std::lock_guard lock(mailbox.mutex);
  TW_RETURN_IF_ERROR(mailbox.broken);
  mailbox.race_result.reset();
  mailbox.race.clear();
  mailbox.race_settings = terms;
  for (std::size_t i = 0; i < finalists.size(); ++i) {
    Job job;
    job.request.candidate = finalists[i];
    job.racing = true;
    job.known_seconds = i < terms.known_seconds.size() ? terms.known_seconds[i] : 0;
    job.anchor = terms.anchor == i;
    if (!kernels.empty()) {
      job.part = JobPart::kRun;
      job.kernel = std::move(kernels[i]);
    }
    mailbox.race.push_back(std::move(job));
  }
  impl_->Wake();
  return {};
}

Result<std::optional<std::vector<Trial>>> ProcessMeasurer::TakeRace() {
  Mailbox& mailbox = impl_->mailbox;
  const std::lock_guard lock(mailbox.mutex);
  if (!mailbox.race_result) TW_RETURN_IF_ERROR(mailbox.broken);
  return std::exchange(mailbox.race_result, std::nullopt);
}

Result<std::vector<Trial>> ProcessMeasurer::Race(const std::vector<Candidate>& finalists,
                                                 const RaceSettings& terms) {
  if (finalists.empty()) return std::vector<Trial>();
  TW_RETURN_IF_ERROR(BeginRace(finalists, terms, {}));
  Mailbox& mailbox = impl_->mailbox;
  std::unique_lock lock(mailbox.mutex);
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
  if (IsOpen(candidate.task.workload)) return {};
  std::string command = "tilewright measure --task " + ShellQuoted(candidate.task.workload.Key()) +
                        " --target " + ShellQuoted(candidate.task.target.ToString()) +
                        " --template " + candidate.template_key + " --config " +
                        ShellQuoted(candidate.config.ToString());
  const std::string epilogue = candidate.epilogue.ToString();
  if (!epilogue.empty()) command += " --epilogue " + ShellQuoted(epilogue);
  if (const KernelLibrary* library = LibraryOfTemplate(candidate.template_key)) {
    command += " --libs " + std::string(library->name);  // targets of trials do not name it
  }
  return command;
}

}  // namespace tilewright::measure
