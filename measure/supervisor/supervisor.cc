// The supervisor is a loop: take what the caller wants, give every idle worker its next order, wait
// until one answers or a deadline passes. A job goes through to_build_ (candidates that wait for a
// builder), to_run_ (built, waiting for the runner) and is finished by its outcome. Each worker has
// one order at a time, so that it is always clear which candidate a crash belongs to.

#include "measure/supervisor/supervisor.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "measure/device/builders.h"
#include "measure/worker/inputs.h"
#include "src/base/sanitizer.h"
#include "src/target/device.h"
#include "src/target/library.h"
#include "src/templates/device.h"

namespace tilewright::measure {
namespace {

constexpr double kCalibrationLimitSeconds = 60;
/// Beyond the limits the runner itself keeps: only a runner that itself hangs gets there.
constexpr double kRunnerGraceSeconds = 60;
/// Builders share their cores with the caller as equals, and give way where the runner's is theirs
/// too.
constexpr int kBuilderPriority = 0;
constexpr int kSharedCorePriority = 10;
constexpr int kRunnerPriority = -20;
/// How long a runner on another machine may take to read the files of one order.
constexpr double kFilesSeconds = 300;
/// How long an idle runner on another machine may take to clean up and end.
constexpr double kGoodbyeSeconds = 5;

SubprocessOptions OptionsOf(const std::vector<std::string>& command, std::vector<int> cores,
                            int priority, std::int64_t memory_bytes) {
  SubprocessOptions options;
  options.command = command;
  options.cores = std::move(cores);
  options.priority = priority;
  options.address_space_bytes = kHasShadowMemory ? 0 : memory_bytes;
  return options;
}

/// A kernel in the workload's own layouts, for artifacts a test brings along.
Result<KernelSpec> PlainKernel(const Candidate& candidate, const Fault& fault) {
  const Workload& workload = candidate.task.workload;
  KernelSpec kernel = KernelOf(candidate);
  kernel.artifact = fault.artifact;
  kernel.symbol = fault.symbol;
  const DeviceTraits& device = DeviceTraitsOf(kernel.target);
  if (!device.loops) return kernel;
  if (device.grids) kernel.launches = {{fault.symbol, {1, 1, 1}, {1, 1, 1}}};
  auto inputs = MakeAnchorInputs(workload, candidate.epilogue, InputSet::kZeroPoint);
  TW_RETURN_IF_ERROR(inputs);
  auto result = ResultType(workload, candidate.epilogue);
  TW_RETURN_IF_ERROR(result);
  std::vector<TensorType> types = {workload.data, workload.weight};
  for (const Tensor& operand : inputs->operands) types.push_back(operand.type());
  types.push_back(*result);
  auto signature = SignatureOf(workload, candidate.epilogue, {}, types);
  TW_RETURN_IF_ERROR(signature);
  kernel.signature = *std::move(signature);
  return kernel;
}

}  // namespace

Supervisor::Supervisor(const ProcessMeasurerSettings& settings, Mailbox& mailbox,
                       std::string folder, DeviceFingerprint device, const CoreChoice& cores,
                       int wake_fd)
    : settings_(settings),
      mailbox_(mailbox),
      folder_(std::move(folder)),
      device_(std::move(device)),
      wake_fd_(wake_fd) {
  const int priority = cores.builders == cores.runner ? kSharedCorePriority : kBuilderPriority;
  const auto add = [&](Role role, const SubprocessOptions& options) {
    workers_.push_back(Worker{role, WorkerProcess(options), {}, {}, 0});
  };
  const SubprocessOptions build =
      OptionsOf(settings.build_command, cores.builders, priority, settings.builder_memory_bytes);
  for (int i = 0; i < settings.builders; ++i) add(Role::kBuild, build);
  add(Role::kReference, OptionsOf(settings.build_command, cores.builders, priority, 0));
  for (const std::vector<std::string>& command : settings.run_commands) {
    SubprocessOptions run = OptionsOf(command, cores.runner,
                                      settings.remote ? kBuilderPriority : kRunnerPriority, 0);
    // The runner forks once per candidate: with huge pages that takes a tenth of the time.
    if (!settings.remote) run.environment = {"GLIBC_TUNABLES=glibc.malloc.hugetlb=1"};
    add(Role::kRun, run);
    workers_.back().runner.connected_at = clock_.MonotonicSeconds();
  }
}

void Supervisor::Run() {
  for (Worker& worker : workers_) {
    if (worker.role == Role::kRun) EnsureRunner(worker);
  }
  while (true) {
    {
      const std::lock_guard lock(mailbox_.mutex);
      if (mailbox_.stop) break;
    }
    // A worker may be at work before the order is off our hands: its time begins here.
    const double now = clock_.MonotonicSeconds();
    TakeMail();
    DropWaiting();
    Dispatch();
    UpdateLedger(now);
    Wait();
    CheckDeadlines();
  }
  if (!settings_.remote) return;
  // A runner on a board removes its own files; one that is at work would be waited for in vain.
  for (Worker& worker : workers_) {
    if (worker.role == Role::kRun && !worker.process.busy()) worker.process.LetEnd(kGoodbyeSeconds);
  }
}

void Supervisor::TakeMail() {
  std::deque<Job> incoming;
  std::vector<Job> race;
  {
    const std::lock_guard lock(mailbox_.mutex);
    incoming.swap(mailbox_.incoming);
    if (racing_.empty()) race.swap(mailbox_.race);
    if (!race.empty()) race_terms_ = mailbox_.race_terms;
  }
  const auto take = [&](Job job) {
    const std::uint64_t id = next_id_++;
    job.trial.candidate = job.request.candidate;
    job.trial.attempt = job.request.attempt;
    const KernelLibrary* library = LibraryOfTemplate(job.request.candidate.template_key);
    job.trial.device = library != nullptr ? WithLibrary(device_, *library) : device_;
    job.trial.metric = MetricOf(job.request.candidate.task.target);
    job.trial.codegen_version = DeviceTraitsOf(job.request.candidate.task.target).codegen_version;
    job.task = tasks_.NumberOf(job.request.candidate);
    WantReference(job);
    auto kept = job.racing ? kept_.Take(job.task, job.request.candidate) : std::nullopt;
    if (kept) {
      job.kernel = *std::move(kept);
      --race_waiting_;
    } else {
      to_build_.push_back(id);
    }
    jobs_.emplace(id, std::move(job));
    return id;
  };
  const bool first = next_id_ == 1;
  for (Job& job : incoming) (void)take(std::move(job));
  race_waiting_ += race.size();
  if (!race.empty()) race_trials_.assign(race.size(), Trial());
  for (Job& job : race) racing_.push_back(take(std::move(job)));
  if (first && !jobs_.empty()) probe_ = ProbeState::kWanted;
}

void Supervisor::DropWaiting() {
  {
    const std::lock_guard lock(mailbox_.mutex);
    if (!mailbox_.drop_wanted) return;
  }
  std::vector<std::uint64_t> ids(to_build_.begin(), to_build_.end());
  ids.insert(ids.end(), to_run_.begin(), to_run_.end());
  to_build_.clear();
  to_run_.clear();
  for (Worker& worker : workers_) {
    if (worker.role != Role::kBuild || !worker.job) continue;
    ids.push_back(*std::exchange(worker.job, std::nullopt));
    (void)worker.process.End(/*at_once=*/true);
  }
  std::vector<std::uint64_t> tickets;
  for (const std::uint64_t id : ids) {
    const auto node = jobs_.extract(id);
    const Job& job = node.mapped();
    tickets.push_back(job.request.ticket);
    if (!job.kernel.artifact.empty() && job.fault.artifact.empty()) {
      ::unlink(job.kernel.artifact.c_str());
    }
  }
  const std::lock_guard lock(mailbox_.mutex);
  mailbox_.dropped = std::move(tickets);
  mailbox_.drop_wanted = false;
  mailbox_.changed.notify_all();
}

void Supervisor::WantReference(const Job& job) {
  const auto [found, added] = references_.try_emplace(job.task);
  if (!added) return;
  const std::string& root =
      settings_.reference_folder.empty() ? folder_ : settings_.reference_folder;
  found->second.path = root + "/" +
                       ExpectedFileName(job.request.candidate.task.workload.Key(),
                                        job.request.candidate.epilogue.ToString());
  references_wanted_.push_back(job.task);
}

void Supervisor::Dispatch() {
  if (broken_) return;
  const double now = clock_.MonotonicSeconds();
  // Twice: what the runner takes makes room for a build, and the other way round.
  for (int pass = 0; pass < 2; ++pass) {
    for (Worker& worker : workers_) {
      if (worker.process.busy() || worker.ready_after > now || broken_) continue;
      if (worker.runner.given_up) continue;
      if (worker.role == Role::kRun) EnsureRunner(worker);
      if (worker.process.busy() || worker.ready_after > now || broken_) continue;
      if (DispatchProbe(worker) || Halted()) continue;
      switch (worker.role) {
        case Role::kBuild:
          DispatchBuild(worker);
          break;
        case Role::kReference:
          DispatchReference(worker);
          break;
        case Role::kRun:
          DispatchRun(worker);
          break;
      }
    }
  }
}

void Supervisor::SendTo(Worker& worker, const Json& order, double limit_seconds,
                        const std::vector<std::uint64_t>& tasks) {
  const Status started = worker.process.EnsureStarted();
  std::string before;
  for (const std::uint64_t task : tasks) {
    if (worker.process.Tell(task)) before += LineOf(ToJson(TaskMessage{task, *tasks_.Find(task)}));
  }
  const Status sent = !started.ok() ? started
                                    : worker.process.Send(order, clock_.MonotonicSeconds(),
                                                          limit_seconds, before);
  if (sent.ok()) return;
  // Of one that is gone it says more how it went.
  const bool gone = worker.process.started() && sent.message().ends_with(std::strerror(EPIPE));
  Lose(worker, gone ? std::string() : sent.message(), /*timed_out=*/false);
}

void Supervisor::SendRun(Worker& worker, RunOrder order, double limit_seconds) {
  if (settings_.remote) {
    const auto lines = worker.runner.files.LinesFor(order);
    if (!lines.ok()) return Withdraw(worker, order, lines.status().message());
    const Status sent = worker.process.Push(*lines, kFilesSeconds);
    if (!sent.ok()) return Lose(worker, sent.message(), /*timed_out=*/false);
  }
  std::vector<std::uint64_t> tasks;
  for (const RunOrder::Item& item : order.items) tasks.push_back(item.kernel.task);
  SendTo(worker, ToJson(order), limit_seconds, tasks);
}

void Supervisor::Withdraw(Worker& worker, const RunOrder& order, const std::string& why) {
  worker.job.reset();
  for (const RunOrder::Item& item : order.items) {
    if (jobs_.contains(item.ticket)) Finish(item.ticket, Outcome::kRunFailed, why);
  }
  if (worker.runner.racing) FinishRace();
  PauseBuilders(false);
}

void Supervisor::DispatchReference(Worker& worker) {
  // First what is waited for first: nothing else is run before it.
  if (references_wanted_.empty()) {
    // One that has failed and is wanted again.
    const auto again = std::ranges::find_if(references_, [](const auto& entry) {
      return entry.second.state == ReferenceState::kWanted;
    });
    if (again == references_.end()) return;
    references_wanted_.push_back(again->first);
  }
  const std::uint64_t task = references_wanted_.front();
  references_wanted_.pop_front();
  Reference& reference = references_.at(task);
  MoveReference(reference);
  reference.state = ReferenceState::kUnderWay;
  worker.reference = task;
  SendTo(worker, ToJson(PrepareOrder{task, reference.path}), settings_.prepare_limit_seconds,
         {task});
}

void Supervisor::DispatchBuild(Worker& worker) {
  std::size_t under_way = to_run_.size();
  for (const Worker& other : workers_) {
    under_way += other.role == Role::kBuild && other.job.has_value() ? 1 : 0;
  }
  while (!to_build_.empty() && under_way < static_cast<std::size_t>(settings_.queue_limit)) {
    const std::uint64_t id = to_build_.front();
    to_build_.pop_front();
    Job& job = jobs_.at(id);
    if (!job.fault.artifact.empty()) {
      auto kernel = PlainKernel(job.request.candidate, job.fault);
      if (!kernel.ok()) {
        Finish(id, Outcome::kInvalid, kernel.status().message());
        continue;
      }
      job.kernel = *std::move(kernel);
      job.kernel.task = job.task;
      to_run_.push_back(id);
      ++under_way;
      continue;
    }
    if (worker.process.orders() >= settings_.builds_per_worker) (void)worker.process.End(true);
    BuildOrder order;
    order.ticket = id;
    order.task = job.task;
    order.candidate = job.request.candidate;
    order.path = folder_ + "/candidate." + std::to_string(id) + ".so";
    order.fault = job.fault;
    worker.job = id;
    SendTo(worker, ToJson(order), BuildLimit(), {job.task});
    return;
  }
}

void Supervisor::EnsureRunner(Worker& worker) {
  if (worker.process.started()) return;
  worker.runner.greeted = false;
  worker.runner.files.Forget();
  SendTo(worker, ToJson(settings_.runner), kCalibrationLimitSeconds);
}

double Supervisor::RunLimit(const Job& job) const {
  if (job.trial.metric != "seconds") return kRunnerGraceSeconds;  // nor is its best
  return 20 * CallLimitSeconds(job.request.best_seconds) + kRunnerGraceSeconds;
}

/// How long the runner may go on with one candidate because the next one is not built yet: a part
/// of a usual build, spent on more samples instead of waiting.
double Supervisor::Patience() const {
  if (!to_run_.empty() || to_build_.empty()) return 0;
  const double next_seconds = 0.7 * build_seconds_ / settings_.builders;
  return std::min(next_seconds, settings_.runner.sampling.budget_seconds);
}

RunOrder::Item Supervisor::ItemOf(std::uint64_t id, const Job& job) const {
  RunOrder::Item item;
  item.ticket = id;
  item.kernel = job.kernel;
  item.best_seconds = job.request.best_seconds;
  item.known_seconds = job.known_seconds;
  item.anchor = job.anchor;
  item.fault = job.fault;
  const Reference& reference = references_.at(job.task);
  item.reference = reference.path;
  // Of what was submitted before it, some has been measured since.
  if (reference.best > 0 && !job.racing) {
    item.best_seconds =
        item.best_seconds > 0 ? std::min(item.best_seconds, reference.best) : reference.best;
  }
  return item;
}

void Supervisor::DispatchRun(Worker& worker) {
  if (StartRace(worker)) return;
  for (std::size_t i = 0; i < to_run_.size();) {
    const std::uint64_t id = to_run_[i];
    const Job& job = jobs_.at(id);
    RunOrder::Item item = ItemOf(id, job);
    const Reference& reference = references_.at(job.task);
    if (reference.state == ReferenceState::kFailed) {
      to_run_.erase(to_run_.begin() + static_cast<std::ptrdiff_t>(i));
      Finish(id, Outcome::kRunFailed, "no reference result: " + reference.reason);
      continue;
    }
    if (reference.state != ReferenceState::kReady) {
      ++i;  // another task's candidate may be ready to run
      continue;
    }
    to_run_.erase(to_run_.begin() + static_cast<std::ptrdiff_t>(i));
    worker.job = id;
    item.patience_seconds = Patience();
    if (item.kernel.threads > 1) PauseBuilders(true);
    SendRun(worker, RunOrder{{item}}, RunLimit(job));
    return;
  }
}

/// Sends the racers off once all of them are built. Builders stand still meanwhile.
bool Supervisor::StartRace(Worker& worker) {
  if (racing_.empty() || race_waiting_ > 0 || race_running_) return false;
  RunOrder order;
  order.race_seconds = race_terms_.seconds;
  order.wait_seconds = race_terms_.wait_seconds;
  double limit = kRunnerGraceSeconds + race_terms_.seconds + race_terms_.wait_seconds;
  for (std::uint64_t id : racing_) {
    const auto job = jobs_.find(id);
    if (job == jobs_.end()) continue;  // failed to build
    RunOrder::Item item = ItemOf(id, job->second);
    const ReferenceState state = references_.at(job->second.task).state;
    if (state == ReferenceState::kFailed) {
      Finish(id, Outcome::kRunFailed,
             "no reference result: " + references_.at(job->second.task).reason);
      continue;
    }
    if (state != ReferenceState::kReady) return false;
    limit += RunLimit(job->second);
    order.items.push_back(std::move(item));
  }
  if (order.items.empty()) {
    FinishRace();
    return false;
  }
  race_running_ = worker.runner.racing = true;
  PauseBuilders(true);
  SendRun(worker, std::move(order), limit);
  return true;
}

void Supervisor::PauseBuilders(bool pause) {
  if (settings_.remote) return;  // they are in nobody's way
  const double now = clock_.MonotonicSeconds();
  for (Worker& worker : workers_) {
    if (worker.role == Role::kRun) continue;
    if (pause) {
      worker.process.Pause(now);
    } else {
      worker.process.Resume(now);
    }
  }
}

}  // namespace tilewright::measure
