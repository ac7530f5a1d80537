#include "src/session/open/tile_trials.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "records/package/catalog.h"
#include "records/store.h"
#include "search/deadline.h"
#include "search/tune/job_name.h"
#include "src/compiler/plan/block_kernels.h"
#include "src/target/device.h"

namespace tilewright::session {
namespace {

constexpr double kShareOfTiles = 0.05;  // of a budget

/// Returns the configs to measure, each once.
Result<std::vector<Candidate>> CandidatesOf(const SizeRange& range,
                                            std::span<const search::TuneTask> tasks,
                                            const search::JobSettings& settings,
                                            const search::TuneContext& context) {
  TW_ASSIGN_OR_RETURN(auto store,
                      records::Store::Open(settings.records, records::Store::Mode::kReadOnly));
  records::Catalog catalog;
  catalog.AddStore(std::move(store));
  std::vector<Candidate> candidates;
  for (const search::TuneTask& task : tasks) {
    CompileOptions options;
    options.templates = context.templates;
    options.target = task.task.target;
    options.catalog = &catalog;
    options.device = context.measurer->device();
    options.open.emplace();
    options.open->range = range;
    TW_ASSIGN_OR_RETURN(auto own, TilesToMeasure(task.task.workload, task.epilogue, options));
    for (Candidate& candidate : own) {
      const auto same = [&](const Candidate& other) { return SameKernel(other, candidate); };
      if (std::ranges::none_of(candidates, same)) candidates.push_back(std::move(candidate));
    }
  }
  return candidates;
}

}  // namespace

TileLimits ReserveForTiles(search::JobSettings& settings) {
  constexpr std::int64_t kOneOf = 8;
  TileLimits limits{settings.trials / kOneOf, settings.budget_seconds};
  settings.trials -= limits.trials;
  settings.budget_seconds *= 1 - kShareOfTiles;
  return limits;
}

Result<std::int64_t> MeasureTiles(const SizeRange& range, std::span<const search::TuneTask> tasks,
                                  const search::JobSettings& settings, const TileLimits& limits,
                                  const search::TuneContext& context) {
  const bool limited = settings.trials > 0;
  if (tasks.empty() || !DeviceTraitsOf(tasks.front().task.target).machine_code) return 0;
  const auto stopped = [&] { return context.stop != nullptr && *context.stop; };
  const double now = context.clock->MonotonicSeconds();
  const double begun = context.begun_seconds.value_or(now);
  double deadline = std::numeric_limits<double>::infinity();  // of the monotonic clock
  if (!settings.deadline.empty()) {
    const double unix_begun = context.clock->UnixSeconds() - (now - begun);
    TW_ASSIGN_OR_RETURN(deadline, search::ParseDeadline(settings.deadline, unix_begun));
    deadline += begun - unix_begun;
  }
  if (stopped() || now >= deadline) return 0;
  TW_ASSIGN_OR_RETURN(auto candidates, CandidatesOf(range, tasks, settings, context));
  if (candidates.empty()) return 0;
  const std::vector<search::TuneTask> all(tasks.begin(), tasks.end());
  const std::string name = search::JobName(all, settings, context.only_templates, 0) + ".tiles";
  TW_ASSIGN_OR_RETURN(const auto job,
                      context.store->OpenJob(name, search::ToJson(settings), settings.seed));
  records::TrialFilter of_job;
  of_job.job = job.id;
  TW_ASSIGN_OR_RETURN(const auto earlier, context.store->CountTrials(of_job));
  if (limited) {
    const std::int64_t left = std::max<std::int64_t>(0, limits.trials - earlier);
    candidates.resize(std::min(candidates.size(), static_cast<std::size_t>(left)));
  }
  // The budget of a job that goes on is spent but for the tiles' share.
  double end = deadline;
  if (limits.seconds > 0) {
    end =
        std::min(end, earlier > 0 ? now + kShareOfTiles * limits.seconds : begun + limits.seconds);
  }
  measure::Measurer& measurer = *context.measurer;
  const auto over = [&] { return stopped() || context.clock->MonotonicSeconds() > end; };
  std::int64_t measured = 0;
  std::size_t next = 0;
  while (!stopped()) {
    while (!over() && next < candidates.size() && measurer.in_flight() < measurer.capacity()) {
      measure::Request request;
      request.ticket = next;
      request.candidate = candidates[next++];
      TW_RETURN_IF_ERROR(measurer.Submit(std::move(request)));
    }
    if (measurer.in_flight() == 0) break;
    constexpr double kWait = 0.2;
    TW_ASSIGN_OR_RETURN(auto reply, measurer.Next(kWait));
    if (!reply) continue;
    TW_RETURN_IF_ERROR(context.store->Append(job.id, {reply->trial}, {}));
    measurer.MarkStored(reply->ticket);
    if (!reply->again) ++measured;
  }
  if (!stopped()) TW_RETURN_IF_ERROR(context.store->FinishJob(job.id));
  return measured;
}

}  // namespace tilewright::session
