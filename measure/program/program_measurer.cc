// Threads: builders take requests from to_build and put them into to_run; the runner takes them
// from there. One mutex guards the queues. The runner's lock is held during runs, so that a race on
// the caller's thread and the runner do not disturb each other.

#include "measure/program/program_measurer.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "measure/program/build_cache.h"
#include "measure/program/runner.h"
#include "measure/program/trial.h"
#include "measure/race_judge.h"
#include "measure/statistics.h"
#include "src/base/clock.h"
#include "src/base/files/file.h"
#include "src/base/files/locked_temp_dir.h"
#include "src/base/thread.h"
#include "src/target/cpu.h"
#include "src/templates/device.h"

namespace tilewright::measure {
namespace {

constexpr double kUsualResolution = 0.02;
constexpr std::size_t kKnownNoises = 64;
// A run may take this many times the fastest one, and at least some seconds.
constexpr double kSlowestFactor = 20;
constexpr double kMinLimitSeconds = 5;
// Rounds of a race of commands that take longer than its usual time.
constexpr std::size_t kMinRounds = 3, kMaxRounds = 40;

/// Errors: kInvalidArgument for a program that does not exist. Programs with values in their names
/// are checked when they run, and paths if no build can make them.
Status CheckProgram(const OpenTask& task, const char* part, const std::vector<std::string>& words) {
  if (words.empty() || words[0].find_first_of("{}") != std::string::npos) return {};
  const std::string path = FindProgram(words[0]);
  if (path.empty()) {
    return InvalidArgument(std::string(part) + ": " + words[0] + ": no such program in PATH");
  }
  if (!task.build.empty() || ::access(path.c_str(), X_OK) == 0) return {};
  return InvalidArgument(std::string(part) + ": " + words[0] +
                         ": cannot be executed: " + ErrnoReason());
}

Status CheckPrograms(const OpenTask& task) {
  if (task.shell) return {};
  TW_RETURN_IF_ERROR(CheckProgram(task, "--build", task.build));
  TW_RETURN_IF_ERROR(CheckProgram(task, "--command", task.command));
  return CheckProgram(task, "--check", task.check);
}

/// Samples of one config over several runs.
struct Samples {
  std::map<std::string, std::vector<double>> all;
  std::vector<double> clean;  // of the first metric
  double seconds = 0;         // of all runs
  double max_abs_error = 0;
};

}  // namespace

struct ProgramMeasurer::Impl {
  struct Job {
    Request request;
    ProgramBuild build;
  };

  Impl(const OpenTask& open, ProgramMeasurerSettings chosen, LockedTempDir folder)
      : task(open),
        settings(std::move(chosen)),
        temp(std::move(folder)),
        builds(task, temp.path() + "/build", settings.build, BuildCores(), &stop),
        runner(
            task, temp.path(), settings.run, [this](const std::string& note) { Note(note); },
            &stop),
        start_seconds(clock.MonotonicSeconds()) {}

  ~Impl() {
    {
      const std::lock_guard lock(mutex);
      quit = true;
    }
    stop = true;  // commands in progress end
    wake.notify_all();
    for (std::thread& thread : threads) thread.join();
  }

  static std::vector<int> BuildCores() {
    std::vector<int> cores = AllowedCores();
    if (cores.size() > 1) cores.pop_back();
    return cores;
  }

  void Note(const std::string& note) const {
    if (settings.note) settings.note(note);
  }

  Trial NewTrial(const Candidate& candidate, std::int64_t attempt) const;
  void FailTrial(const ProgramRun& run, Trial& trial) const;
  void BuilderLoop();
  void RunnerLoop();
  /// Errors: those of ProgramRun::error.
  Result<Trial> Measure(const Job& job);
  bool StopRequested() const { return settings.stop != nullptr && settings.stop->load(); }
  bool IsEnough(const Samples& samples, double best) const;
  void Complete(const Samples& samples, Trial& trial) const;
  double LimitSeconds() const;
  void AddRun(const ProgramRun& run, Samples& samples);
  void SetBusy(int& count, int change);
  std::vector<ProgramBuild> BuildAll(const std::vector<Candidate>& candidates);

  const OpenTask& task;
  const ProgramMeasurerSettings settings;
  SystemClock clock;
  std::atomic<bool> stop{false};
  LockedTempDir temp;
  BuildCache builds;
  ProgramRunner runner;
  std::mutex running;          // held during runs
  double fastest_seconds = 0;  // wall time of a run; used with `running`
  DeviceFingerprint device;
  int builders = 1;

  mutable std::mutex mutex;  // guards all below
  std::condition_variable wake, finished_one;
  std::deque<Job> to_build, to_run;
  std::deque<Reply> finished;
  Status broken;  // the first error of a run
  int in_work = 0;
  bool quit = false;
  std::deque<double> noises;
  double start_seconds;
  int building = 0, running_now = 0;
  double busy_since = 0, build_since = 0;
  TimeSplit split;
  std::vector<std::thread> threads;
};

Trial ProgramMeasurer::Impl::NewTrial(const Candidate& candidate, std::int64_t attempt) const {
  return NewProgramTrial(task, candidate, device, attempt);
}

void ProgramMeasurer::Impl::FailTrial(const ProgramRun& run, Trial& trial) const {
  trial.outcome = run.outcome;
  trial.reason = run.reason;
}

/// Counts busy threads. Called with the lock.
void ProgramMeasurer::Impl::SetBusy(int& count, int change) {
  const double now = clock.MonotonicSeconds();
  if (building + running_now > 0) split.idle_seconds -= now - busy_since;
  if (building > 0) split.builder_busy_seconds += now - build_since;
  if (running_now > 0) split.runner_busy_seconds += now - busy_since;
  count += change;
  busy_since = build_since = now;
}

void ProgramMeasurer::Impl::BuilderLoop() {
  std::unique_lock lock(mutex);
  while (true) {
    wake.wait(lock, [&] { return quit || !to_build.empty(); });
    if (quit) return;
    Job job = std::move(to_build.front());
    to_build.pop_front();
    ++in_work;
    SetBusy(building, 1);
    lock.unlock();
    job.build = builds.Get(job.request.candidate.config);
    lock.lock();
    SetBusy(building, -1);
    --in_work;
    to_run.push_back(std::move(job));
    wake.notify_all();
  }
}

void ProgramMeasurer::Impl::RunnerLoop() {
  std::unique_lock lock(mutex);
  while (true) {
    wake.wait(lock, [&] { return quit || !to_run.empty(); });
    if (quit) return;
    const Job job = std::move(to_run.front());
    to_run.pop_front();
    ++in_work;
    SetBusy(running_now, 1);
    lock.unlock();
    Result<Trial> trial = Measure(job);
    lock.lock();
    SetBusy(running_now, -1);
    --in_work;
    if (trial.ok()) {
      finished.push_back({job.request.ticket, *std::move(trial)});
    } else if (broken.ok()) {
      broken = trial.status();
    }
    finished_one.notify_all();
  }
}

double ProgramMeasurer::Impl::LimitSeconds() const {
  if (fastest_seconds <= 0) return 0;
  return std::max(kMinLimitSeconds, kSlowestFactor * fastest_seconds);
}

void ProgramMeasurer::Impl::AddRun(const ProgramRun& run, Samples& samples) {
  samples.seconds += run.seconds;
  samples.max_abs_error = std::max(samples.max_abs_error, run.max_abs_error);
  for (const auto& [metric, values] : run.samples) {
    std::vector<double>& all = samples.all[metric];
    all.insert(all.end(), values.begin(), values.end());
    if (metric == task.metrics.front() && run.clean) {
      samples.clean.insert(samples.clean.end(), values.begin(), values.end());
    }
  }
  if (fastest_seconds <= 0 || run.seconds < fastest_seconds) fastest_seconds = run.seconds;
}

bool ProgramMeasurer::Impl::IsEnough(const Samples& samples, double best) const {
  const std::vector<double>& all = samples.all.at(task.metrics.front());
  const auto count = static_cast<int>(all.size());
  if (count >= settings.max_samples) return true;
  // Noise makes values slower, never faster.
  if (best > 0 && *std::ranges::min_element(all) > settings.cutoff_factor * best) return true;
  if (count < settings.min_samples) return false;
  if (samples.seconds >= settings.sampling_seconds) return true;
  return samples.clean.size() >= 2 && EstimateOf(samples.clean).noise <= settings.converged_noise;
}

void ProgramMeasurer::Impl::Complete(const Samples& samples, Trial& trial) const {
  SetProgramValues(task, samples.all, samples.clean, samples.max_abs_error, trial);
}

Result<Trial> ProgramMeasurer::Impl::Measure(const Job& job) {
  const Config& config = job.request.candidate.config;
  Trial trial = NewTrial(job.request.candidate, job.request.attempt);
  trial.build_seconds = job.build.command.seconds;
  const std::lock_guard lock(running);
  const double began = clock.MonotonicSeconds();
  const auto run_it = [&]() -> ProgramRun {
    if (!job.build.ok()) {
      return FailedRun(job.build.command, Outcome::kBuildFailed, Outcome::kBuildTimeout);
    }
    Samples samples;
    do {
      ProgramRun run = runner.Run(config, job.build.out, LimitSeconds());
      if (run.outcome != Outcome::kOk) return run;
      AddRun(run, samples);
    } while (!IsEnough(samples, job.request.best_seconds));
    ProgramRun checked = runner.Check(config, job.build.out);
    if (checked.outcome == Outcome::kOk) Complete(samples, trial);
    return checked;
  };
  const ProgramRun last = run_it();
  TW_RETURN_IF_ERROR(last.error);
  if (last.outcome != Outcome::kOk) FailTrial(last, trial);
  trial.run_seconds = clock.MonotonicSeconds() - began;
  trial.finished_unix_seconds = clock.UnixSeconds();
  const std::lock_guard state(mutex);
  split.runner_timing_seconds += trial.run_seconds;
  if (trial.outcome == Outcome::kOk && trial.samples.size() > 1) {
    noises.push_back(trial.noise);
    if (noises.size() > kKnownNoises) noises.pop_front();
  }
  return trial;
}

std::vector<ProgramBuild> ProgramMeasurer::Impl::BuildAll(
    const std::vector<Candidate>& candidates) {
  std::vector<ProgramBuild> results(candidates.size());
  RunInParallel(builders, std::ssize(candidates), [&](std::int64_t candidate) {
    const auto i = static_cast<std::size_t>(candidate);
    results[i] = builds.Get(candidates[i].config);
  });
  return results;
}

ProgramMeasurer::ProgramMeasurer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ProgramMeasurer::~ProgramMeasurer() = default;

Result<std::unique_ptr<ProgramMeasurer>> ProgramMeasurer::Create(const OpenTask& task,
                                                                 ProgramMeasurerSettings settings) {
  TW_RETURN_IF_ERROR(CheckPrograms(task));
  TW_ASSIGN_OR_RETURN(auto folder, LockedTempDir::Create(LockedTempDir::kMeasurerPrefix));
  auto impl = std::make_unique<Impl>(task, std::move(settings), std::move(folder));
  if (impl->settings.device.has_value()) {
    impl->device = *impl->settings.device;
  } else {
    TW_ASSIGN_OR_RETURN(impl->device, DeviceFor(task.target()));
  }
  const int cores = static_cast<int>(AllowedCores().size());
  constexpr int kMaxBuilders = 16;
  impl->builders = impl->settings.builders > 0 ? impl->settings.builders
                                               : std::clamp(cores - 1, 1, kMaxBuilders);
  Impl* state = impl.get();
  if (!task.build.empty()) {
    for (int i = 0; i < impl->builders; ++i) {
      TW_ASSIGN_OR_RETURN(auto thread, StartThread([state] { state->BuilderLoop(); }));
      impl->threads.push_back(std::move(thread));
    }
  }
  TW_ASSIGN_OR_RETURN(auto thread, StartThread([state] { state->RunnerLoop(); }));
  impl->threads.push_back(std::move(thread));
  return std::make_unique<ProgramMeasurer>(std::move(impl));
}

Status ProgramMeasurer::Submit(Request request) {
  if (request.candidate.template_key != impl_->task.key) {
    return Internal("a candidate of " + request.candidate.template_key + ", expected " +
                    impl_->task.key);
  }
  const std::lock_guard lock(impl_->mutex);
  (impl_->task.build.empty() ? impl_->to_run : impl_->to_build).push_back({std::move(request), {}});
  impl_->wake.notify_all();
  return {};
}

Result<std::optional<Reply>> ProgramMeasurer::Next(double timeout_seconds) {
  std::unique_lock lock(impl_->mutex);
  impl_->finished_one.wait_for(lock, std::chrono::duration<double>(timeout_seconds),
                               [&] { return !impl_->finished.empty() || !impl_->broken.ok(); });
  if (impl_->finished.empty() && !impl_->broken.ok()) return impl_->broken;
  if (impl_->finished.empty()) return std::optional<Reply>();
  std::optional<Reply> reply(std::move(impl_->finished.front()));
  impl_->finished.pop_front();
  return reply;
}

std::vector<std::uint64_t> ProgramMeasurer::CancelPending() {
  const std::lock_guard lock(impl_->mutex);
  std::vector<std::uint64_t> dropped;
  for (std::deque<Impl::Job>* queue : {&impl_->to_build, &impl_->to_run}) {
    for (const Impl::Job& job : *queue) dropped.push_back(job.request.ticket);
    queue->clear();
  }
  return dropped;
}

int ProgramMeasurer::in_flight() const {
  const std::lock_guard lock(impl_->mutex);
  return static_cast<int>(impl_->to_build.size() + impl_->to_run.size() + impl_->finished.size()) +
         impl_->in_work;
}

int ProgramMeasurer::capacity() const {
  return impl_->task.build.empty() ? 2 : impl_->builders + 3;
}

TimeSplit ProgramMeasurer::time_split() const {
  const std::lock_guard lock(impl_->mutex);
  impl_->SetBusy(impl_->running_now, 0);
  TimeSplit split = impl_->split;
  split.wall_seconds = impl_->clock.MonotonicSeconds() - impl_->start_seconds;
  split.idle_seconds += split.wall_seconds;
  return split;
}

const DeviceFingerprint& ProgramMeasurer::device() const { return impl_->device; }

double ProgramMeasurer::resolution() const {
  const std::lock_guard lock(impl_->mutex);
  if (impl_->noises.empty()) return kUsualResolution;
  const std::vector<double> noises(impl_->noises.begin(), impl_->noises.end());
  return Median(noises);
}

Result<std::vector<Trial>> ProgramMeasurer::Race(const std::vector<Candidate>& finalists,
                                                 const RaceSettings& terms) {
  Impl& impl = *impl_;
  const std::vector<ProgramBuild> builds = impl.BuildAll(finalists);
  const std::lock_guard lock(impl.running);
  const double start = impl.clock.MonotonicSeconds();
  constexpr double kSecondsEach = 0.5;
  const double seconds =
      terms.seconds > 0 ? terms.seconds : kSecondsEach * static_cast<double>(finalists.size());
  std::vector<double> known = terms.known_seconds;
  known.resize(finalists.size());
  RaceJudge judge(known, terms.anchor.value_or(RaceJudge::kNoAnchor));
  std::vector<Trial> trials;
  std::vector<Samples> samples(finalists.size());
  for (std::size_t i = 0; i < finalists.size(); ++i) {
    trials.push_back(impl.NewTrial(finalists[i], 0));
    trials[i].build_seconds = builds[i].command.seconds;
    if (!builds[i].ok()) {
      const ProgramRun run =
          FailedRun(builds[i].command, Outcome::kBuildFailed, Outcome::kBuildTimeout);
      TW_RETURN_IF_ERROR(run.error);
      impl.FailTrial(run, trials[i]);
    }
  }
  const auto failed = [&](std::size_t i) { return !trials[i].reason.empty(); };
  while (!judge.converged() && judge.rounds() < kMaxRounds) {
    const bool over = impl.clock.MonotonicSeconds() - start >= seconds;
    if (over && (judge.rounds() >= kMinRounds || terms.seconds > 0) && judge.rounds() > 0) break;
    RoundInterference interference;
    std::vector<std::pair<std::size_t, std::vector<double>>> round_samples;
    bool stopped = false;
    for (std::size_t k = 0; k < finalists.size(); ++k) {
      const std::size_t i = (k + judge.rounds()) % finalists.size();
      if (judge.IsOut(i)) continue;
      stopped = judge.rounds() > 0 && impl.StopRequested();
      if (stopped) break;
      std::vector<double> round;
      if (!failed(i)) {
        const ProgramRun run =
            impl.runner.Run(finalists[i].config, builds[i].out, impl.LimitSeconds());
        interference.core_clean = interference.core_clean && run.clean;
        if (run.outcome == Outcome::kOk) {
          impl.AddRun(run, samples[i]);
          round = run.samples.at(impl.task.metrics.front());
        } else {
          TW_RETURN_IF_ERROR(run.error);
          impl.FailTrial(run, trials[i]);
        }
      }
      round_samples.emplace_back(i, std::move(round));
    }
    if (stopped) break;  // an incomplete round does not count
    for (const auto& [racer, round] : round_samples) judge.Add(racer, round);
    judge.EndRound(interference);
  }
  for (std::size_t i = 0; i < finalists.size(); ++i) {
    Trial& trial = trials[i];
    trial.run_seconds = samples[i].seconds;
    trial.finished_unix_seconds = impl.clock.UnixSeconds();
    if (failed(i)) continue;
    const ProgramRun checked = impl.runner.Check(finalists[i].config, builds[i].out);
    TW_RETURN_IF_ERROR(checked.error);
    if (checked.outcome != Outcome::kOk) {
      impl.FailTrial(checked, trial);
      continue;
    }
    impl.Complete(samples[i], trial);
    const Estimate estimate = judge.Of(i);
    trial.value = estimate.value;
    trial.noise = estimate.noise;
  }
  return trials;
}

}  // namespace tilewright::measure
