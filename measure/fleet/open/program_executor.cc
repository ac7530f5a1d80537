// One thread takes the orders in turn and owns the measurers. Orders that follow each other and are
// of one task are in its measurer together, so that their builds overlap.

#include "measure/fleet/open/program_executor.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <limits>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "measure/fleet/keys.h"
#include "src/base/clock.h"
#include "src/base/thread.h"
#include "src/space/open/open_space.h"
#include "src/templates/device.h"

namespace tilewright::measure::fleet {
namespace {

/// Returns the config of the task's space that has the values of an order. Errors: kInvalidArgument
/// for values that the space does not have or does not allow.
Result<Config> AllowedConfig(const OpenTask& task, const Config& asked) {
  if (asked.values.size() != task.knobs.knobs().size()) {
    return InvalidArgument("it has other parameters than the worker's space");
  }
  TW_ASSIGN_OR_RETURN(Config config, task.knobs.Locate(asked));
  const std::string violated = task.space.ViolatedCondition(task.space.FromIndex(config.index));
  if (!violated.empty()) return InvalidArgument("it violates the condition " + violated);
  return config;
}

}  // namespace

struct ProgramExecutor::Impl {
  /// Task of the worker's configuration, and its measurer.
  struct Listed {
    OpenTask task;
    std::unique_ptr<ProgramMeasurer> measurer;
  };
  struct Work {
    std::uint64_t number = 0;
    Listed* program = nullptr;
    Order order;  // its configs are those of the program's space
  };

  ~Impl() {
    {
      const std::lock_guard lock(mutex);
      quit = true;
    }
    stop = true;
    arrived.notify_all();
    if (thread.joinable()) thread.join();
  }

  Result<Work> WorkOf(std::uint64_t number, const Order& order,
                      const std::vector<std::string>& artifacts);
  void Loop();
  void Race(const Work& work);
  /// Measures the order, and those after it of the same task.
  void Measure(Work work);
  std::optional<Work> NextOf(const Listed* program);
  void Report(Event event);
  void Fail(const Status& status);

  std::map<std::string, Listed> programs;  // by key; not changed after Create
  DeviceFingerprint device;
  std::function<void()> wake;
  std::atomic<bool> stop{false};
  SystemClock clock;

  mutable std::mutex mutex;  // guards all below
  std::condition_variable arrived;
  std::deque<Work> queue;
  std::set<std::uint64_t> dropped;  // of orders that run
  std::set<std::uint64_t> running;
  std::vector<Event> events;
  Status broken;
  bool quit = false;
  std::thread thread;
};

Result<ProgramExecutor::Impl::Work> ProgramExecutor::Impl::WorkOf(
    std::uint64_t number, const Order& order, const std::vector<std::string>& artifacts) {
  if (!order.built.empty() || !artifacts.empty()) {
    return InvalidArgument("it brings a built program; this worker runs its own programs only");
  }
  if (order.stage != Stage::kWhole && order.stage != Stage::kRace) {
    return InvalidArgument("an open task is built where it runs");
  }
  Work work{number, nullptr, order};
  for (Candidate& candidate : work.order.candidates) {
    const auto found = programs.find(candidate.template_key);
    if (found == programs.end()) {
      return NotFound("this worker's configuration does not list the program " +
                      candidate.template_key);
    }
    Listed& program = found->second;
    const OpenTask& task = program.task;
    if (work.program != nullptr && work.program != &program) {
      return InvalidArgument("a race of several programs");
    }
    if (candidate.template_version != kOpenTaskVersion || !candidate.epilogue.steps.empty() ||
        candidate.task.workload != task.workload || candidate.task.target != task.target()) {
      return InvalidArgument("it is another task than " + task.key);
    }
    TW_ASSIGN_OR_RETURN(candidate.config, AllowedConfig(task, candidate.config));
    work.program = &program;
  }
  return work;
}

void ProgramExecutor::Impl::Report(Event event) {
  {
    const std::lock_guard lock(mutex);
    running.erase(event.number);
    if (event.over && dropped.erase(event.number) > 0) return;
    events.push_back(std::move(event));
  }
  wake();
}

void ProgramExecutor::Impl::Fail(const Status& status) {
  {
    const std::lock_guard lock(mutex);
    if (broken.ok()) broken = status;
    quit = true;
  }
  wake();
}

std::optional<ProgramExecutor::Impl::Work> ProgramExecutor::Impl::NextOf(const Listed* program) {
  const std::lock_guard lock(mutex);
  const bool next = !queue.empty() && !quit && queue.front().program == program &&
                    queue.front().order.stage == Stage::kWhole;
  if (!next) return std::nullopt;
  Work work = std::move(queue.front());
  queue.pop_front();
  running.insert(work.number);
  return work;
}

void ProgramExecutor::Impl::Loop() {
  while (true) {
    std::unique_lock lock(mutex);
    arrived.wait(lock, [&] { return quit || !queue.empty(); });
    if (quit) return;
    Work work = std::move(queue.front());
    queue.pop_front();
    running.insert(work.number);
    lock.unlock();
    if (work.order.stage == Stage::kRace) {
      Race(work);
    } else {
      Measure(std::move(work));
    }
  }
}

void ProgramExecutor::Impl::Race(const Work& work) {
  RaceSettings terms;
  terms.known_seconds = work.order.known_seconds;
  terms.anchor = work.order.anchor;
  terms.seconds = work.order.race_seconds;
  terms.wait_seconds = work.order.wait_seconds;
  Event event;
  event.number = work.number;
  const double began = clock.MonotonicSeconds();
  auto trials = work.program->measurer->Race(work.order.candidates, terms);
  if (!trials.ok()) return Fail(trials.status());
  event.trials = *std::move(trials);
  for (Trial& trial : event.trials) trial.device = device;
  event.seconds = clock.MonotonicSeconds() - began;
  Report(std::move(event));
}

void ProgramExecutor::Impl::Measure(Work work) {
  ProgramMeasurer& measurer = *work.program->measurer;
  std::optional<Work> next = std::move(work);
  const Listed* program = next->program;
  int open = 0;
  while (next || open > 0) {
    if (next) {
      Request request;
      request.ticket = next->number;
      request.candidate = next->order.candidates.front();
      request.best_seconds = next->order.best_seconds;
      if (const Status sent = measurer.Submit(std::move(request)); !sent.ok()) return Fail(sent);
      ++open;
    }
    constexpr double kWaitSeconds = 0.05;
    auto reply = measurer.Next(next ? 0 : kWaitSeconds);
    if (!reply.ok()) return Fail(reply.status());
    if (reply->has_value()) {
      --open;
      Event event;
      event.number = (*reply)->ticket;
      event.trials.push_back(std::move((*reply)->trial));
      event.trials[0].device = device;
      event.seconds = event.trials[0].run_seconds;
      Report(std::move(event));
    }
    if (stop) return;
    next = open < measurer.capacity() ? NextOf(program) : std::nullopt;
  }
}

ProgramExecutor::ProgramExecutor(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ProgramExecutor::~ProgramExecutor() = default;

Result<std::unique_ptr<ProgramExecutor>> ProgramExecutor::Create(std::vector<Program> programs,
                                                                 std::function<void()> wake) {
  auto impl = std::make_unique<Impl>();
  impl->wake = std::move(wake);
  for (Program& program : programs) {
    const std::string key = program.task.key;
    const auto [place, added] =
        impl->programs.try_emplace(key, Impl::Listed{std::move(program.task), nullptr});
    if (!added) return InvalidArgument("the program " + key + " is listed twice");
    Impl::Listed& listed = place->second;
    program.settings.stop = &impl->stop;
    TW_ASSIGN_OR_RETURN(listed.measurer,
                        ProgramMeasurer::Create(listed.task, std::move(program.settings)));
    impl->device = listed.measurer->device();
  }
  std::string all;
  for (const auto& [key, program] : impl->programs) all += key + "\n";
  constexpr std::size_t kDigits = 16;
  impl->device.extra = "programs " + Sha256(all).substr(0, kDigits);
  Impl* state = impl.get();
  TW_ASSIGN_OR_RETURN(impl->thread, StartThread([state] { state->Loop(); }));
  return std::make_unique<ProgramExecutor>(std::move(impl));
}

void ProgramExecutor::Start(std::uint64_t number, const Order& order,
                            const std::vector<std::string>& artifacts) {
  auto work = impl_->WorkOf(number, order, artifacts);
  if (!work.ok()) {
    Event event;
    event.number = number;
    event.refusal = work.status().message();
    return impl_->Report(std::move(event));
  }
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->queue.push_back(*std::move(work));
  }
  impl_->arrived.notify_all();
}

void ProgramExecutor::Drop(std::uint64_t number) {
  const std::lock_guard lock(impl_->mutex);
  std::erase_if(impl_->queue, [number](const Impl::Work& work) { return work.number == number; });
  if (impl_->running.contains(number)) impl_->dropped.insert(number);
}

std::vector<Executor::Event> ProgramExecutor::Take() {
  const std::lock_guard lock(impl_->mutex);
  return std::exchange(impl_->events, {});
}

double ProgramExecutor::next_event() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->events.empty() ? std::numeric_limits<double>::infinity() : 0;
}

Status ProgramExecutor::status() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->broken;
}

const DeviceFingerprint& ProgramExecutor::device() const { return impl_->device; }

std::vector<std::string> ProgramExecutor::keys() const {
  std::vector<std::string> keys;
  for (const auto& [key, program] : impl_->programs) keys.push_back(key);
  return keys;
}

int ProgramExecutor::capacity() const {
  int most = 1;
  for (const auto& [key, program] : impl_->programs) {
    most = std::max(most, program.measurer->capacity());
  }
  return most;
}

}  // namespace tilewright::measure::fleet
