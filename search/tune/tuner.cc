#include "search/tuner.h"

#include <algorithm>
#include <memory>

#include "search/tune/tune_run.h"
#include "src/templates/device.h"

namespace tilewright::search {
namespace {

/// Errors: kInvalidArgument for metrics that the target lacks; kUnsupported for joules if the
/// measurer does not measure them.
Status CheckMetrics(const JobSettings& settings, const Target& target,
                    const measure::Measurer& measurer) {
  const std::vector<std::string>& asked = settings.metric;
  if (asked.empty()) return {};
  const std::vector<std::string> known = MetricsOf(target);
  std::string list;
  for (const std::string& one : known) list += (list.empty() ? "" : ",") + one;
  const std::string expected = ", expected " + (known.size() > 1 ? list : "none but " + list) +
                               " for the target '" + target.ToString() + "'";
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const bool twice = std::find(asked.begin(), asked.begin() + i, asked[i]) != asked.begin() + i;
    const bool there = std::ranges::find(known, asked[i]) != known.end();
    if (twice || !there || (i == 0 && asked[i] != known[0])) {
      return InvalidArgument("metric: " + asked[i] + (twice ? " twice" : "") + expected);
    }
  }
  if (asked.size() == 1)
    return InvalidArgument("metric: " + asked[0] + " alone is not a front" + expected);
  const bool joules = std::ranges::find(asked, kJoules) != asked.end();
  if (joules && !measurer.measures_energy()) {
    return Unsupported(
        "metric: joules: energy is counted on this machine only, not by boards or fleets");
  }
  if (settings.finalists == 0 && IsSimulated(target)) {
    return InvalidArgument(
        "finalists: 0, expected at least 1: what several metrics choose is "
        "verified at the end");
  }
  return {};
}

}  // namespace

Result<TuneReport> Tune(const std::vector<TuneTask>& tasks, const JobSettings& settings,
                        const TuneContext& context) {
  if (tasks.empty()) return InvalidArgument("nothing to tune: no task");
  if (settings.batch < 1) {
    return InvalidArgument("batch: " + std::to_string(settings.batch) + ", expected at least 1");
  }
  for (const TuneTask& task : tasks) {
    TW_RETURN_IF_ERROR(CheckMetrics(settings, task.task.target, *context.measurer));
  }
  constexpr int kMaxLogs = 100;  // one more with each change of spaces or strategies
  auto run = std::make_unique<TuneRun>(settings, context);
  Status opened = run->Open(tasks, 0);
  for (int log = 1; run->log_diverged() && log < kMaxLogs; ++log) {
    if (context.observer != nullptr) context.observer->LogDiscarded(opened.message());
    run = std::make_unique<TuneRun>(settings, context);
    opened = run->Open(tasks, log);
  }
  TW_RETURN_IF_ERROR(opened);
  TW_RETURN_IF_ERROR(run->Search());
  TW_RETURN_IF_ERROR(run->Race());
  return run->Report();
}

}  // namespace tilewright::search
