// Supervisor loop: take the caller's requests, let the pools give every free worker its next order,
// wait for a reply or a deadline, deliver finished trials. A candidate is a job of the table
// (job_table.h): the build pool builds it, and the runner pool measures it. A probe
// (machine_health.h) diagnoses failures that may be the machine's.

#include "measure/supervisor/supervisor.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "measure/supervisor/pipe_transport.h"
#include "src/base/sanitizer.h"

namespace tilewright::measure {
namespace {

/// Builders share their cores with the caller at equal priority, and have a lower one on the
/// runner's core.
constexpr int kBuilderPriority = 0;
constexpr int kSharedCorePriority = 10;
constexpr int kRunnerPriority = -20;

using Transports = std::vector<std::unique_ptr<Transport>>;

Transports BuilderTransports(const ProcessMeasurerSettings& settings, const CoreAssignment& cores) {
  SubprocessOptions options;
  options.command = settings.build_command;
  options.cores = cores.builders;
  const bool shared = cores.builders == cores.runner && !settings.counts;
  options.priority = shared ? kSharedCorePriority : kBuilderPriority;
  options.address_space_bytes = kHasShadowMemory ? 0 : settings.builder_memory_bytes;
  Transports transports;
  for (int i = 0; i < settings.builders; ++i) {
    const bool opportunistic_builder = settings.opportunistic_builder && i + 1 == settings.builders;
    SubprocessOptions own = options;
    if (opportunistic_builder) {
      own.cores = cores.runner;
      own.priority = kSharedCorePriority;
    }
    transports.push_back(std::make_unique<PipeTransport>(std::move(own)));
  }
  options.address_space_bytes = 0;  // of the reference maker
  transports.push_back(std::make_unique<PipeTransport>(options));
  return transports;
}

Transports RunnerTransports(const ProcessMeasurerSettings& settings, const CoreAssignment& cores) {
  Transports transports;
  for (const std::vector<std::string>& command : settings.run_commands) {
    SubprocessOptions options;
    options.command = command;
    options.cores = cores.runner;
    options.priority = settings.remote || settings.counts ? kBuilderPriority : kRunnerPriority;
    // The runner forks once per candidate: with huge pages that takes a tenth of the time.
    if (!settings.remote) options.environment = {"GLIBC_TUNABLES=glibc.malloc.hugetlb=1"};
    transports.push_back(std::make_unique<PipeTransport>(options));
  }
  return transports;
}

}  // namespace

Supervisor::Supervisor(const ProcessMeasurerSettings& settings, Mailbox& mailbox,
                       std::string folder, DeviceFingerprint device, const CoreAssignment& cores,
                       int wake_fd)
    : settings_(settings),
      mailbox_(mailbox),
      wake_fd_(wake_fd),
      jobs_(device, clock_),
      health_(settings_, std::move(folder), jobs_, clock_),
      builders_({settings_, jobs_, health_, clock_}, BuilderTransports(settings, cores)),
      runners_({settings_, jobs_, health_, clock_}, RunnerTransports(settings, cores), device) {}

void Supervisor::Run() {
  while (DrainMailbox()) {
    // A worker may start before sending the order returns: its time begins here.
    const double now = clock_.MonotonicSeconds();
    Dispatch();
    UpdateLedger(now);
    Deliver();
    Wait();
    for (WorkerPool* pool : pools_) pool->CheckDeadlines();
    Deliver();
  }
  // A runner on a board removes its own files; a busy one would not end in time.
  if (settings_.remote) runners_.RequestShutdown();
}

bool Supervisor::DrainMailbox() {
  std::deque<Job> incoming;
  std::vector<Job> race;
  RaceSettings terms;
  bool drop = false;
  {
    const std::lock_guard lock(mailbox_.mutex);
    if (mailbox_.stop) return false;
    incoming.swap(mailbox_.incoming);
    if (!jobs_.HasRace()) race.swap(mailbox_.race);
    if (!race.empty()) terms = mailbox_.race_settings;
    drop = mailbox_.cancel_requested;
  }
  for (Job& job : incoming) (void)jobs_.Add(std::move(job));
  if (!race.empty()) jobs_.AddRace(std::move(race), terms);
  if (!drop) return true;
  std::vector<std::uint64_t> dropped = jobs_.CancelPending();
  builders_.EndCancelled();
  const std::lock_guard lock(mailbox_.mutex);
  mailbox_.dropped = std::move(dropped);
  mailbox_.cancel_requested = false;
  mailbox_.changed.notify_all();
  return true;
}

void Supervisor::Deliver() {
  std::vector<Reply> finished = jobs_.TakeFinished();
  auto race = jobs_.TakeRaceResult();
  auto built = jobs_.TakeBuilt();
  const std::lock_guard lock(mailbox_.mutex);
  mailbox_.ledger.AddTiming(runners_.TakeTimingSeconds());
  mailbox_.probe_seconds = runners_.probe_seconds();
  const bool handshake_done = !mailbox_.handshake && runners_.handshake();
  const bool breaks = mailbox_.broken.ok() && !jobs_.broken().ok();
  if (finished.empty() && !race && !handshake_done && !breaks) return;
  std::ranges::move(finished, std::back_inserter(mailbox_.finished));
  mailbox_.built.merge(built);
  if (race) mailbox_.race_result = std::move(race);
  if (handshake_done) mailbox_.handshake = runners_.handshake();
  if (breaks) mailbox_.broken = jobs_.broken();
  mailbox_.changed.notify_all();
  if (settings_.on_finished) settings_.on_finished();
}

void Supervisor::Dispatch() {
  // Twice: a job that the runner takes makes room for a build, and the other way round.
  for (int pass = 0; pass < 2; ++pass) {
    builders_.Pause(runners_.blocks_builders(), runners_.busy());
    builders_.Dispatch();
    if (!builders_.OpportunisticBuilderIsStarved()) runners_.Dispatch();
  }
  builders_.Pause(runners_.blocks_builders(), runners_.busy());
}

void Supervisor::Wait() {
  const double now = clock_.MonotonicSeconds();
  double until = now + 60;
  std::vector<pollfd> watched = {{wake_fd_, POLLIN, 0}};
  std::vector<std::pair<WorkerPool*, Worker*>> owners = {{nullptr, nullptr}};
  for (WorkerPool* pool : pools_) {
    for (Worker& worker : pool->workers()) {
      if (worker.ready_after > now) until = std::min(until, worker.ready_after);
      until = std::min(until, worker.deadline());
      for (const int fd : worker.transport().descriptors()) {
        watched.push_back({fd, POLLIN, 0});
        owners.emplace_back(pool, &worker);
      }
    }
  }
  const auto milliseconds = static_cast<int>(std::ceil(std::max(until - now, 0.0) * 1e3));
  if (::poll(watched.data(), watched.size(), milliseconds) <= 0) return;
  if (watched[0].revents != 0) {
    std::uint64_t count = 0;
    (void)!::read(wake_fd_, &count, sizeof(count));
  }
  for (std::size_t i = 1; i < watched.size(); ++i) {
    const auto [pool, worker] = owners[i];
    if (watched[i].revents != 0 && worker->connected()) pool->HandleInput(*worker);
  }
}

void Supervisor::UpdateLedger(double since) {
  std::vector<int> pids;
  for (WorkerPool* pool : pools_) {
    for (const Worker& worker : pool->workers()) {
      if (worker.transport().pid() > 0) pids.push_back(worker.transport().pid());
    }
  }
  const std::lock_guard lock(mailbox_.mutex);
  mailbox_.ledger.Set(since, runners_.working(), builders_.working(), runners_.preparing());
  mailbox_.worker_pids = std::move(pids);
}

}  // namespace tilewright::measure
