// Choice on Pareto fronts: one record of a task, or one of each task of a network.

#include "records/front/front.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "records/front/amount.h"
#include "records/validation/rules.h"
#include "src/base/strings.h"
#include "src/templates/device.h"

namespace tilewright::records {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr std::size_t kMaxSums = 8192;  // partial sums kept for each prefix of a network's tasks

struct Unit {
  std::string_view name;
  double factor = 1;
  std::string_view of;  ///< suffix of the names of the metrics it measures
};
constexpr std::array<Unit, 15> kUnitNames = {{{"", 1, ""},
                                              {"B", 1, "_bytes"},
                                              {"kB", 1e3, "_bytes"},
                                              {"MB", 1e6, "_bytes"},
                                              {"GB", 1e9, "_bytes"},
                                              {"KiB", 1024, "_bytes"},
                                              {"MiB", 1048576, "_bytes"},
                                              {"s", 1, "seconds"},
                                              {"ms", 1e-3, "seconds"},
                                              {"us", 1e-6, "seconds"},
                                              {"µs", 1e-6, "seconds"},
                                              {"J", 1, "joules"},
                                              {"mJ", 1e-3, "joules"},
                                              {"uJ", 1e-6, "joules"},
                                              {"µJ", 1e-6, "joules"}}};

double Value(const Record& record, const std::string& metric) {
  return record.trial.ValueOf(metric).value_or(kNever);
}

/// Totals of one combination for the first tasks.
struct PartialSum {
  double taken = 0;        ///< of the limited metric
  double cost = 0;         ///< of the minimized metric
  std::size_t before = 0;  ///< position of the sum without the last task
  std::size_t record = 0;  ///< of the last task
};

/// Returns the sums on the Pareto front, sorted by the limited metric. If there are too many, keeps
/// the cheapest of those with nearly the same total.
std::vector<PartialSum> BestOf(std::vector<PartialSum> sums, double limit) {
  std::ranges::sort(sums, {}, [](const PartialSum& s) { return std::pair(s.taken, s.cost); });
  std::vector<PartialSum> best;
  for (const PartialSum& sum : sums) {
    if (best.empty() || sum.cost < best.back().cost) best.push_back(sum);
  }
  if (best.size() <= kMaxSums) return best;
  std::vector<PartialSum> thinned = {best.front()};  // keep the least one
  const auto slice = [limit](const PartialSum& sum) {
    return std::floor(sum.taken / limit * static_cast<double>(kMaxSums));
  };
  for (std::size_t i = 1; i < best.size(); ++i) {
    const bool same = thinned.size() > 1 && slice(thinned.back()) == slice(best[i]);
    if (same) thinned.pop_back();
    thinned.push_back(best[i]);
  }
  return thinned;
}

}  // namespace

Result<double> ParseAmount(std::string_view text, std::string_view metric) {
  const std::size_t end = std::min(text.find_last_of("0123456789."), text.size() - 1) + 1;
  const Result<double> number = ParseDouble(text.substr(0, end));
  const auto* found = std::ranges::find(kUnitNames, text.substr(end), &Unit::name);
  const bool known = number.ok() && found != kUnitNames.end() && metric.ends_with(found->of);
  const double amount = known ? *number * found->factor : 0;
  if (!std::isfinite(amount) || amount <= 0) {
    const std::string_view example = metric.ends_with("_bytes")    ? "15.3MB"
                                     : metric.ends_with("seconds") ? "2.5ms"
                                     : metric.ends_with("joules")  ? "1.5mJ"
                                                                   : "15300000";
    return InvalidArgument("'" + std::string(text.substr(0, 40)) + "', expected an amount of " +
                           std::string(metric.substr(0, 40)) + " such as " + std::string(example));
  }
  return amount;
}

double NoiseAdjustedValue(const Trial& trial, const std::string& metric) {
  const double value = trial.ValueOf(metric).value_or(kNever);
  return NoiseAdjustedValue(metric, value, trial.attempt, trial.noise);
}

double NoiseAdjustedValue(std::string_view metric, double value, std::int64_t attempt,
                          double noise) {
  // Energy is power times time, so it has at least the same noise.
  const bool flattered = (metric == "seconds" || metric == kJoules) && attempt <= 0;
  return flattered ? value * (1 + noise) : value;
}

bool Supersedes(std::int64_t attempt, double finished, std::int64_t other_attempt,
                double other_finished) {
  const auto rank = [](std::int64_t a) { return a > 0 ? 2 : a < 0 ? 1 : 0; };
  return std::tuple(rank(attempt), EffectiveDate(finished), attempt) >
         std::tuple(rank(other_attempt), EffectiveDate(other_finished), other_attempt);
}

bool Supersedes(const Trial& trial, const Trial& other) {
  return Supersedes(trial.attempt, trial.finished_unix_seconds, other.attempt,
                    other.finished_unix_seconds);
}

Result<Preference> Preference::Parse(std::string_view text, const Target& target) {
  Preference prefer;
  const std::size_t comma = text.find(',');
  prefer.minimized = text.substr(0, comma);
  if (comma != std::string_view::npos) {
    const std::string_view bound = text.substr(comma + 1);
    const std::size_t sign = bound.find("<=");
    if (sign == std::string_view::npos || sign + 2 == bound.size()) {
      return InvalidArgument("'" + std::string(text.substr(0, 80)) +
                             "': expected METRIC or METRIC,METRIC<=AMOUNT, such as "
                             "cycles,dram_bytes<=15.3MB");
    }
    prefer.limited = bound.substr(0, sign);
    TW_ASSIGN_OR_RETURN(prefer.limit, ParseAmount(bound.substr(sign + 2), prefer.limited));
  }
  const std::vector<std::string> known = MetricsOf(target);
  std::string list;
  for (const std::string& one : known) list += (list.empty() ? "" : " or ") + one;
  std::vector<std::string> named = {prefer.minimized};
  if (comma != std::string_view::npos) named.push_back(prefer.limited);
  for (const std::string& metric : named) {
    if (std::ranges::find(known, metric) == known.end()) {
      return InvalidArgument("metric '" + metric.substr(0, 40) + "', expected " + list +
                             " of the target '" + target.ToString() + "'");
    }
  }
  if (prefer.minimized == prefer.limited) {
    return InvalidArgument("metric '" + prefer.minimized + "' twice, expected " + list);
  }
  return prefer;
}

bool Preference::AsksForFront(const Target& target) const {
  return !limited.empty() || minimized != MetricOf(target);
}

std::vector<std::string> Preference::Metrics(const Target& target) const {
  const std::string second = limited.empty() ? MetricOf(target) : limited;
  if (second == minimized) return {minimized};
  return {minimized, second};
}

double Preference::LimitFor(const std::string& workload_key) const {
  if (limited.empty()) return kNever;
  if (shares.empty()) return limit;
  const auto share = shares.find(workload_key);
  return share != shares.end() ? share->second : kNever;
}

std::string Preference::ToString(double share) const {
  const std::string what = "the least " + minimized;
  if (!std::isfinite(share)) return what;
  // Bytes and cycles are printed without exponents.
  const std::string amount = share != std::floor(share) || share > 1e15
                                 ? ShortestDouble(share)
                                 : std::to_string(std::llround(share));
  return what + " with " + limited + " <= " + amount;
}

const Record& ChooseFrom(std::span<const Record> front, const Preference& prefer, double limit) {
  TW_CHECK(!front.empty());
  const auto above = [&](const Record& record) {
    return prefer.limited.empty() || !std::isfinite(limit)
               ? 0
               : std::max(0.0, Value(record, prefer.limited) - limit);
  };
  // Members of a front differ in both metrics, unless it has one member.
  return *std::ranges::min_element(front, [&](const Record& a, const Record& b) {
    return std::pair(above(a), NoiseAdjustedValue(a.trial, prefer.minimized)) <
           std::pair(above(b), NoiseAdjustedValue(b.trial, prefer.minimized));
  });
}

Status ShareLimit(std::span<const FrontTask> tasks, Preference& prefer) {
  TW_CHECK(!prefer.limited.empty());
  // steps[t]: the possible sums of combinations for the first t tasks.
  std::vector<std::vector<PartialSum>> steps = {{{}}};
  double leanest = 0;
  for (const FrontTask& task : tasks) {
    const auto uses = static_cast<double>(task.uses);
    std::vector<PartialSum> next;
    double minimized = task.front.empty() ? 0 : kNever;
    for (std::size_t r = 0; r < task.front.size(); ++r) {
      const double taken = Value(task.front[r], prefer.limited);
      minimized = std::min(minimized, taken);
      for (std::size_t before = 0; before < steps.back().size(); ++before) {
        const PartialSum& sum = steps.back()[before];
        const double all = sum.taken + uses * taken;
        if (all > prefer.limit) break;  // the sums are sorted
        const double cost = NoiseAdjustedValue(task.front[r].trial, prefer.minimized);
        next.push_back({all, sum.cost + uses * cost, before, r});
      }
    }
    leanest += uses * minimized;
    if (task.front.empty()) {
      for (std::size_t before = 0; before < steps.back().size(); ++before) {
        next.push_back({steps.back()[before].taken, steps.back()[before].cost, before, 0});
      }
    }
    steps.push_back(BestOf(std::move(next), prefer.limit));
  }
  if (steps.back().empty()) {
    return NotFound("no combination of records has a total " + prefer.limited + " of at most " +
                    ShortestDouble(prefer.limit) + ", the least total is " +
                    ShortestDouble(leanest));
  }
  std::size_t place = steps.back().size() - 1;  // the last sum has the least cost
  for (std::size_t t = tasks.size(); t-- > 0;) {
    const PartialSum& sum = steps[t + 1][place];
    if (!tasks[t].front.empty()) {
      prefer.shares[tasks[t].workload_key] = Value(tasks[t].front[sum.record], prefer.limited);
    }
    place = sum.before;
  }
  return {};
}

}  // namespace tilewright::records
