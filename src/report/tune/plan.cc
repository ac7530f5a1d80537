// Forecast of a tuning job. What the present config of a task takes is known from a record, or
// estimated from the loops of the default config (cost_model/analytical_cost.h); what no config can
// be faster than is the roofline.

#include "src/report/tune/plan.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "cost_model/analytical_cost.h"
#include "cost_model/cost_model.h"
#include "search/deadline.h"
#include "search/space.h"
#include "search/static_analyzer.h"
#include "search/tune/budget.h"
#include "search/tune/job_name.h"
#include "src/base/clock.h"
#include "src/base/json.h"
#include "src/codegen/codegen.h"
#include "src/report/gather.h"
#include "src/report/machine_peaks.h"
#include "src/schedule/lower/lower.h"
#include "src/session/device_support.h"
#include "src/target/cpu.h"
#include "src/target/device.h"
#include "src/templates/device.h"
#include "src/templates/limits.h"
#include "src/templates/products.h"

namespace tilewright::report {
namespace {

// A trial of a job without stored trials: build and run of a kernel of about a millisecond, as
// measured for ResNet-18 on a Zen 4.
constexpr double kUsualBuildSeconds = 0.05;
constexpr double kUsualRunSeconds = 0.05;
constexpr std::size_t kTimedBuilds = 3;
// A builder also links and stores the kernel, and starts.
constexpr double kShareOfBuild = 0.8;
constexpr double kUsualCountSeconds = 0.01;   // of a simulator, instead of both
constexpr std::int64_t kSampledTrials = 400;  // for the rate
// The analytical cost is made for ranking: on a Zen 4, default configs of ResNet-18 took this share
// of its cycles.
constexpr double kShareOfCost = 0.7;
// Default configs that fit their task well reach about this share of the roofline.
constexpr double kShareOfRoofline = 0.92;
// Higher estimates are beyond what the cost describes.
constexpr double kMaxSlowness = 4;

/// Returns the seconds of one cycle of the analytical cost; 0: unknown.
double SecondsPerCycle(const Target& target, const MachinePeaks& peaks) {
  const auto features = FeaturesOf(target);
  if (!features.ok() || peaks.float_ops_per_second <= 0) return 0;
  // Two multiply-adds of whole vectors in a cycle; of vectors in two halves, one.
  const double operations = features->float_lanes() * (features->double_pumped_512 ? 2 : 4);
  return kShareOfCost * operations / peaks.float_ops_per_second;
}

/// Returns the analytical cost of a config; 0: none.
double CostOf(const search::SearchSpace& space, search::Point point) {
  const search::TemplateAnalyzer analyzer(space);
  std::vector<float> row(static_cast<std::size_t>(cost_model::FeatureCount()));
  if (!analyzer.Features(point, row).ok()) return 0;
  const double cost = cost_model::AnalyticalCost(space.task.target, row);
  return std::isfinite(cost) ? cost : 0;
}

/// Returns an estimate of the default config's value; 0: none.
double EstimateDefault(const search::SearchSpace& space, const std::vector<search::Point>& defaults,
                       double bound, const MachinePeaks& peaks) {
  if (defaults.empty()) return 0;
  const Target& target = space.task.target;
  if (IsSimulated(target)) return CostOf(space, defaults.front());
  if (!DeviceTraitsOf(target).machine_code || bound <= 0) return 0;
  // The cost does not describe dot products of integers.
  if (!space.task.workload.data.dtype.is_float()) return 0;
  const double least = bound / kShareOfRoofline;
  return std::clamp(SecondsPerCycle(target, peaks) * CostOf(space, defaults.front()), least,
                    kMaxSlowness * bound);
}

double ShareOf(const search::SearchSpace& space, const Epilogue& epilogue, search::Point point) {
  const auto which = static_cast<std::size_t>(point.space);
  return ProductShareOf(*space.templates[which], space.task.workload, epilogue, space.task.target,
                        space.spaces[which].At(point.index));
}

Result<PlannedTask> PlanTask(const search::TuneTask& task, const PlanSources& sources) {
  TW_ASSIGN_OR_RETURN(const auto space,
                      search::MakeSearchSpace(*sources.templates, task.task, task.epilogue));
  PlannedTask planned;
  planned.key = task.task.workload.Key();
  planned.uses = task.occurrences;
  planned.configs = space.size();
  const std::vector<search::Point> defaults = search::DefaultPoints(space);
  double share = 1;  // the least of any template: Winograd's
  for (const search::Point& point : defaults) {
    share = std::min(share, ShareOf(space, task.epilogue, point));
  }
  planned.bound = task.bound.LowerBound(share);
  if (sources.store != nullptr) {
    TW_ASSIGN_OR_RETURN(const auto answer,
                        sources.store->Query(*sources.templates, task.task.workload,
                                             task.task.target, sources.device));
    if (answer.kind == records::AnswerKind::kHit) planned.now = answer.record->trial.value;
  }
  if (planned.now <= 0) {
    planned.now = EstimateDefault(space, defaults, planned.bound, sources.peaks);
    planned.estimated = planned.now > 0;
  }
  if (planned.now > 0) {
    const double room = planned.bound > 0 ? std::max(0.0, planned.now - planned.bound) : 0;
    planned.expected = planned.now - kUsualGain * room;
  }
  return planned;
}

/// Builds the default config of a task in this process. Errors: those of lowering and code
/// generation.
Status BuildDefault(const search::TuneTask& task, const TemplateRegistry& templates) {
  TW_ASSIGN_OR_RETURN(const auto space,
                      search::MakeSearchSpace(templates, task.task, task.epilogue));
  const std::vector<search::Point> defaults = search::DefaultPoints(space);
  if (defaults.empty()) return NotFound("no default config");
  const auto which = static_cast<std::size_t>(defaults.front().space);
  TW_ASSIGN_OR_RETURN(
      const auto kernel,
      ApplyTemplate(*space.templates[which], task.task.workload, task.epilogue, task.task.target,
                    space.spaces[which].At(defaults.front().index)));
  TW_ASSIGN_OR_RETURN(const auto program,
                      Lower(kernel.schedule, "kernel", LowerLimitsFor(task.task.target)));
  return Generate({program}, task.task.target, Emit::kObject).status();
}

/// Returns the seconds of a build, as those of the tasks with the most headroom; 0: unknown.
double TimeBuilds(const std::vector<search::TuneTask>& tasks, const PlanSources& sources,
                  const TunePlan& plan) {
  double seconds = 0;
  std::size_t timed = 0;
  bool first = true;
  SystemClock clock;
  for (const PlannedTask* planned : plan.ByHeadroom()) {
    if (timed == kTimedBuilds) break;
    const search::TuneTask& task = tasks[static_cast<std::size_t>(planned - plan.tasks.data())];
    // The first build also prepares the code generator.
    if (std::exchange(first, false)) (void)BuildDefault(task, *sources.templates);
    const double start = clock.MonotonicSeconds();
    if (!BuildDefault(task, *sources.templates).ok()) continue;
    seconds += clock.MonotonicSeconds() - start;
    ++timed;
  }
  return timed > 0 ? seconds / static_cast<double>(timed) / kShareOfBuild : 0;
}

/// Sets the rate of trials from stored trials of the target, from builds, or the usual one.
Status SetRate(const std::vector<search::TuneTask>& tasks, const PlanSources& sources,
               TunePlan& plan) {
  const Target& target = tasks.front().task.target;
  double build = 0, run = 0;
  std::int64_t trials = 0;
  if (sources.store != nullptr) {
    records::TrialFilter filter;
    filter.target = target.ToString();
    filter.limit = kSampledTrials;
    TW_RETURN_IF_ERROR(sources.store->ForEachTrial(filter, [&](const records::Record& record) {
      build += record.trial.build_seconds;
      run += record.trial.run_seconds;
      ++trials;
      return Status();
    }));
  }
  if (trials > 0 && build + run > 0) {
    plan.rate = TunePlan::Rate::kOfTrials;
    build /= static_cast<double>(trials);
    run /= static_cast<double>(trials);
  } else {
    build = IsSimulated(target) ? kUsualCountSeconds : kUsualBuildSeconds;
    run = IsSimulated(target) ? kUsualCountSeconds : kUsualRunSeconds;
    if (sources.times_builds && DeviceTraitsOf(target).machine_code) {
      const double timed = TimeBuilds(tasks, sources, plan);
      if (timed > 0) {
        plan.rate = TunePlan::Rate::kOfBuilds;
        build = timed;
      }
    }
  }
  // Builders and the runner work at the same time.
  plan.seconds_per_trial = std::max(build / std::max(1, sources.builders), run);
  return {};
}

/// Sets trials, seconds and the limit that ends the job first.
Status SetEnd(const search::JobSettings& settings, TunePlan& plan) {
  std::int64_t until_stale = 0;
  for (const PlannedTask& task : plan.tasks) {
    const std::int64_t stop =
        settings.early_stop_trials > 0
            ? std::max(settings.early_stop_trials, settings.min_trials_per_task)
            : task.configs;
    until_stale += std::min(stop, task.configs);
  }
  plan.ends_by = "no improvement";
  plan.trials = std::max<std::int64_t>(0, until_stale - plan.earlier_trials);
  const std::int64_t trials_left = std::max<std::int64_t>(0, settings.trials - plan.earlier_trials);
  if (settings.trials > 0 && trials_left <= plan.trials) {
    plan.ends_by = "trials";
    plan.trials = trials_left;
  }
  const std::int64_t racers =
      settings.finalists > 0 ? std::ssize(plan.tasks) * (settings.finalists + 1) : 0;
  const double races = search::kRacerSeconds * static_cast<double>(std::min(racers, plan.trials));
  plan.seconds = plan.seconds_per_trial * static_cast<double>(plan.trials) + races;
  const bool has_budget = settings.budget_seconds > 0;
  double limit = std::max(0.0, settings.budget_seconds - plan.earlier_seconds);
  bool limited = has_budget;
  std::string name = "budget";
  if (!settings.deadline.empty()) {
    const double now = SystemClock().UnixSeconds();
    TW_ASSIGN_OR_RETURN(const double end, search::ParseFutureDeadline(settings.deadline, now));
    if (!has_budget || end - now < limit) {
      limit = end - now;
      name = "deadline";
    }
    limited = true;
  }
  if (limited && limit < plan.seconds) {
    plan.ends_by = name;
    plan.seconds = limit;
    const double search = std::max(limit - races, 0.75 * limit);
    plan.trials =
        std::min<std::int64_t>(plan.trials, std::llround(search / plan.seconds_per_trial));
  }
  return {};
}

Json OrNull(double value) { return value > 0 ? Json(value) : Json(nullptr); }

}  // namespace

double PlannedTask::Headroom() const {
  return now > 0 && bound > 0 ? static_cast<double>(uses) * std::max(0.0, now - bound) : 0;
}

PlanTotals TunePlan::Totals() const {
  PlanTotals totals;
  for (const PlannedTask& task : tasks) {
    if (task.now <= 0 || task.bound <= 0) continue;
    const auto uses = static_cast<double>(task.uses);
    totals.now += uses * task.now;
    totals.bound += uses * std::min(task.bound, task.now);
    totals.expected += uses * task.expected;
    ++totals.with;
    totals.estimated += task.estimated ? 1 : 0;
  }
  return totals;
}

std::vector<const PlannedTask*> TunePlan::ByHeadroom() const {
  std::vector<const PlannedTask*> sorted;
  for (const PlannedTask& task : tasks) sorted.push_back(&task);
  std::ranges::stable_sort(sorted, std::greater(), &PlannedTask::Headroom);
  return sorted;
}

std::vector<RooflineBound> BoundsOf(const std::vector<search::TuneTask>& tasks,
                                    const Target& target, const MachinePeaks& peaks) {
  const session::DeviceSupport* device = session::DeviceSupportOf(target);
  if (device == nullptr || device->bounds == nullptr) {
    return std::vector<RooflineBound>(tasks.size());
  }
  return device->bounds(tasks, target, peaks);
}

Result<MachinePeaks> PeaksOfStore(const Target& target, const DeviceFingerprint& device,
                                  const records::Store* known, records::Store* kept) {
  const session::DeviceSupport* support = session::DeviceSupportOf(target);
  if (support == nullptr || support->peaks == nullptr) return MachinePeaks();
  MachinePeaks peaks = PeaksHere(target);
  const std::string name = PeaksFact(device);
  if (known != nullptr) {
    TW_ASSIGN_OR_RETURN(auto fact, known->Fact(name));
    const auto before = ParsePeaks(fact.value_or(""));
    if (before.ok()) peaks = HigherPeaks(peaks, *before);
  }
  if (kept != nullptr) TW_RETURN_IF_ERROR(kept->SetFact(name, PeaksText(peaks)));
  return peaks;
}

Result<TunePlan> MakeTunePlan(const std::vector<search::TuneTask>& tasks,
                              const std::vector<std::string>& names,
                              const search::JobSettings& settings, const PlanSources& sources) {
  TunePlan plan;
  if (tasks.empty()) return plan;
  const Target& target = tasks.front().task.target;
  plan.metric = MetricOf(target);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    TW_ASSIGN_OR_RETURN(auto planned, PlanTask(tasks[i], sources));
    planned.name = names[i];
    plan.tasks.push_back(std::move(planned));
  }
  if (sources.store != nullptr) {
    TW_ASSIGN_OR_RETURN(
        const search::JobProgress earlier,
        search::ProgressOf(*sources.store, tasks, settings, sources.only_templates));
    plan.earlier_trials = earlier.trials;
    plan.earlier_seconds = earlier.elapsed_seconds;
  }
  TW_RETURN_IF_ERROR(SetRate(tasks, sources, plan));
  TW_RETURN_IF_ERROR(SetEnd(settings, plan));
  return plan;
}

Json PlanJson(const TunePlan& plan) {
  const PlanTotals totals = plan.Totals();
  Json json = {{"metric", plan.metric},
               {"trials", plan.trials},
               {"seconds", plan.seconds},
               {"seconds_per_trial", plan.seconds_per_trial},
               {"rate_measured", plan.rate == TunePlan::Rate::kOfTrials},
               {"earlier_trials", plan.earlier_trials},
               {"earlier_seconds", plan.earlier_seconds},
               {"ends_by", plan.ends_by},
               {"now_network_" + plan.metric, OrNull(totals.now)},
               {"bound_network_" + plan.metric, OrNull(totals.bound)},
               {"expected_network_" + plan.metric, OrNull(totals.expected)},
               {"tasks", Json::array()}};
  for (const PlannedTask& task : plan.tasks) {
    json["tasks"].push_back({{"key", task.key},
                             {"name", task.name},
                             {"uses", task.uses},
                             {"configs", task.configs},
                             {"now_" + plan.metric, OrNull(task.now)},
                             {"estimated", task.estimated},
                             {"bound_" + plan.metric, OrNull(task.bound)},
                             {"expected_" + plan.metric, OrNull(task.expected)}});
  }
  return json;
}

}  // namespace tilewright::report
