#include "records/validation/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "src/base/clock.h"
#include "src/templates/registry.h"

namespace tilewright::records {
namespace {

// January 1, 2025: earlier than this program, so a clock with an earlier date was never set.
constexpr double kFirstDate = 1735689600;
constexpr double kMaxAheadSeconds = 86400;

// No program writes longer texts into records; parsers have separate limits.
constexpr std::size_t kMaxReason = 1 << 16;
constexpr std::size_t kMaxName = 256;

bool IsAmount(double number) { return std::isfinite(number) && number >= 0; }

}  // namespace

double MinSecondsCache::Of(std::int64_t workload, std::int64_t target, const Task& task) {
  const auto [least, added] = known_.try_emplace({workload, target}, 0);
  if (added) least->second = MinSeconds(task.workload, task.target);
  return least->second;
}

std::string InvalidValuesReason(const Trial& trial, double least) {
  if (trial.verified && trial.outcome != Outcome::kOk) {
    return "verified, though its outcome is " + std::string(OutcomeName(trial.outcome));
  }
  if (!std::ranges::all_of(trial.samples, &IsAmount)) return "a sample is not a number";
  if (!IsAmount(trial.noise)) return "its noise is not a number";
  if (!(trial.clean_fraction >= -1 && trial.clean_fraction <= 1))
    return "its quiet share is not one";
  if (trial.predicted && !std::isfinite(*trial.predicted)) return "its prediction is not a number";
  if (!IsAmount(trial.finished_unix_seconds)) return "its date is not a number";
  if (trial.reason.size() > kMaxReason) return "its reason is longer than 65536 bytes";
  if (trial.metric.empty() || trial.metric.size() > kMaxName) return "its metric is not a name";
  if (trial.outcome != Outcome::kOk) return {};
  if (!IsAmount(trial.value) || trial.value == 0) return "ok, but its value is not positive";
  if (trial.metric == "seconds" && trial.value < least) {
    return fmt::format("{:.3g} s, expected at least {:.3g} s: no device does it faster",
                       trial.value, least);
  }
  if (trial.samples.empty()) return {};
  const auto [fastest, slowest] = std::ranges::minmax(trial.samples);
  if (trial.value < fastest || trial.value > slowest) return "its value is outside of its samples";
  return {};
}

double MaxPlausibleDate() {
  const double now = SystemClock().UnixSeconds();
  return now < kFirstDate ? std::numeric_limits<double>::infinity() : now + kMaxAheadSeconds;
}

double EffectiveDate(double unix_seconds) {
  return unix_seconds > MaxPlausibleDate() || std::isnan(unix_seconds) ? 0 : unix_seconds;
}

std::string EffectiveDateSql(const std::string& column) {
  const double latest = MaxPlausibleDate();
  const std::string limit = std::isfinite(latest) ? fmt::format("{:.0f}", latest) : "9e999";
  return "(CASE WHEN " + column + " > " + limit + " THEN 0.0 ELSE " + column + " END)";
}

Result<Config> SpaceCache::Locate(const TemplateRegistry& templates, const Candidate& candidate) {
  const TemplateEntry* entry = templates.Find(candidate.template_key);
  if (entry == nullptr || entry->version != candidate.template_version) {
    return NotFound(
        TemplateUnavailableReason(templates, candidate.template_key, candidate.template_version));
  }
  const Task& task = candidate.task;
  const std::string key = fmt::format("{}\n{}\n{}\n{}", candidate.template_key, entry->version,
                                      task.workload.Key(), task.target.ToString());
  if (const auto found = places_.find(key); found != places_.end()) {
    spaces_.splice(spaces_.begin(), spaces_, found->second);
  } else {
    if (std::string why = entry->refuses(task.workload, task.target); !why.empty()) {
      return InvalidArgument("the template refuses the task: " + why);
    }
    auto space = entry->define_space(task.workload, task.target);
    if (!space.ok()) return InvalidArgument(space.status().message());
    if (spaces_.size() >= capacity_) {
      places_.erase(spaces_.back().first);
      spaces_.pop_back();
    }
    spaces_.emplace_front(key, *std::move(space));
    places_.emplace(spaces_.front().first, spaces_.begin());
  }
  auto located = spaces_.front().second.Locate(candidate.config);
  if (!located.ok()) return InvalidArgument(located.status().message());
  if (const OpenTask* open = entry->open) {
    const std::string violated =
        open->space.ViolatedCondition(open->space.FromIndex(located->index));
    if (!violated.empty()) return InvalidArgument("its config violates the condition " + violated);
  }
  return located;
}

std::string SpaceCache::InvalidReason(const TemplateRegistry& templates,
                                      const Candidate& candidate) {
  const auto located = Locate(templates, candidate);
  if (!located.ok()) {
    return located.status().code() == StatusCode::kNotFound ? std::string()
                                                            : located.status().message();
  }
  if (located->index == candidate.config.index) return {};
  return fmt::format("its config's index is {}, expected {}, that of its values",
                     candidate.config.index, located->index);
}

}  // namespace tilewright::records
