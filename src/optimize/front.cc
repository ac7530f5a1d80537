// Choice among measured combinations by their times and errors.

#include "src/optimize/front.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "records/front/amount.h"
#include "src/base/strings.h"

namespace tilewright::optimize {
namespace {

constexpr std::string_view kSeconds = "seconds";

/// Returns true if `a` is at least as good as `b` in all of them, and better in one.
bool Beats(const Combination& a, const Combination& b) {
  // Without a score (NaN on both sides) the score decides nothing; a refused one is the worst.
  const auto score = [](const Combination& one) {
    return std::isnan(one.search.score) ? -std::numeric_limits<double>::infinity()
                                        : one.search.score;
  };
  const bool no_worse = a.ratio <= b.ratio && a.search.relative_noise <= b.search.relative_noise &&
                        score(a) >= score(b);
  return no_worse && (a.ratio < b.ratio || a.search.relative_noise < b.search.relative_noise ||
                      score(a) > score(b));
}

double SecondsOf(const SearchReport& report, const Combination& one) {
  return one.ratio * report.float32_seconds;
}

/// Returns the fastest combination that keeps a bound on the held-out part.
std::optional<std::size_t> FastestWithin(const SearchReport& report, const Bound& bound) {
  std::optional<std::size_t> fastest;
  for (std::size_t i = 0; i < report.combinations.size(); ++i) {
    const Combination& one = report.combinations[i];
    if (!one.held_out || !bound.Keeps(bound.ValueOf(*one.held_out))) continue;
    if (!fastest || one.ratio < report.combinations[*fastest].ratio) fastest = i;
  }
  return fastest;
}

/// Returns the best combination by a metric among those within a time; of equal ones the fastest.
std::optional<std::size_t> BestWithin(const SearchReport& report, Metric metric, double seconds) {
  std::optional<std::size_t> best;
  double best_value = 0;
  for (std::size_t i = 0; i < report.combinations.size(); ++i) {
    const Combination& one = report.combinations[i];
    if (!one.held_out || SecondsOf(report, one) > seconds) continue;
    const double value = Bound{metric, 0}.ValueOf(*one.held_out);
    if (std::isnan(value)) continue;
    const bool better = LargerIsBetter(metric) ? value > best_value : value < best_value;
    const bool faster = best && value == best_value && one.ratio < report.combinations[*best].ratio;
    if (best && !better && !faster) continue;
    best = i;
    best_value = value;
  }
  return best;
}

std::optional<double> PredictedRatio(const SearchReport& report, const Bound& bound) {
  if (bound.metric != Metric::kSqnr) return std::nullopt;
  std::optional<double> least;
  for (const auto& [ratio, noise] : report.predicted_front) {
    if (bound.Keeps(DecibelsOf(noise)) && (!least || ratio < *least)) least = ratio;
  }
  return least;
}

BoundCost CostOf(const SearchReport& report, const Bound& bound) {
  return {bound, FastestWithin(report, bound), PredictedRatio(report, bound)};
}

Status Expected(std::string_view text, std::string_view what) {
  return InvalidArgument(
      fmt::format("'{}', expected {}, such as seconds,sqnr>=40 or sqnr,seconds<=2.5ms",
                  text.substr(0, 80), what));
}

}  // namespace

void MarkFront(std::vector<Combination>& combinations) {
  for (Combination& one : combinations) {
    one.on_front = !std::isnan(one.search.relative_noise) &&
                   std::ranges::none_of(combinations, [&one](const Combination& other) {
                     return Beats(other, one);
                   });
  }
}

bool NeedsHeldOut(const SearchReport& report, std::size_t combination) {
  const Combination& one = report.combinations[combination];
  if (one.held_out) return false;
  return report.score.empty() || combination == report.chosen ||
         (one.on_front && one.refused.empty());
}

std::string FrontPreference::ToString() const {
  const std::string name(MetricName(bound.metric));
  return max_seconds ? fmt::format("{},seconds<={}", name, *max_seconds)
                     : fmt::format("{},{}", kSeconds, bound.ToString());
}

bool NamesOutputError(std::string_view preference) {
  for (const std::string& part : Split(preference, ',')) {
    if (MetricOfName(part.substr(0, part.find_first_of("<>=")))) return true;
  }
  return false;
}

Result<FrontPreference> ParseFrontPreference(std::string_view text) {
  const std::size_t comma = text.find(',');
  if (comma == std::string_view::npos) return Expected(text, "a limit after a comma");
  const std::string_view first = text.substr(0, comma), second = text.substr(comma + 1);
  FrontPreference preference;
  if (first == kSeconds) {
    TW_ASSIGN_OR_RETURN(preference.bound, ParseBound(second));
    return preference;
  }
  const auto metric = MetricOfName(first);
  const std::string limited = std::string(kSeconds) + "<=";
  if (!metric || !second.starts_with(limited)) {
    return Expected(text,
                    "the least seconds with a bound on the error, or a metric of the error "
                    "within a time");
  }
  preference.bound.metric = *metric;
  TW_ASSIGN_OR_RETURN(preference.max_seconds,
                      records::ParseAmount(second.substr(limited.size()), kSeconds));
  return preference;
}

Result<std::size_t> ChooseFrom(const SearchReport& report, const FrontPreference& preference) {
  const Bound& bound = preference.bound;
  if (preference.max_seconds) {
    if (const auto best = BestWithin(report, bound.metric, *preference.max_seconds)) return *best;
    double least = std::numeric_limits<double>::infinity();
    for (const Combination& one : report.combinations) {
      least = std::min(least, SecondsOf(report, one));
    }
    return NotFound(
        fmt::format("{}: the fastest library takes {:.4g} s", preference.ToString(), least));
  }
  if (const auto fastest = FastestWithin(report, bound)) return *fastest;
  const auto nearest = BestWithin(report, bound.metric, std::numeric_limits<double>::infinity());
  if (!nearest) {
    return NotFound(fmt::format("{}: no library has a {}; search with --score", bound.ToString(),
                                MetricName(bound.metric)));
  }
  return NotFound(fmt::format("{}: no library keeps it, the nearest one has {:.4g}",
                              bound.ToString(),
                              bound.ValueOf(*report.combinations[*nearest].held_out)));
}

std::vector<BoundCost> BoundCosts(const SearchReport& report) {
  constexpr int kLeastDb = 20, kMostDb = 60, kStepDb = 5;
  std::vector<BoundCost> costs;
  for (int decibels = kLeastDb; decibels <= kMostDb; decibels += kStepDb) {
    costs.push_back(CostOf(report, {Metric::kSqnr, static_cast<double>(decibels)}));
  }
  const Metric own = report.bound.metric;
  if (own == Metric::kSqnr) return costs;
  std::vector<double> values;
  for (const Combination& one : report.combinations) {
    if (!one.held_out) continue;
    const double value = Bound{own, 0}.ValueOf(*one.held_out);
    if (std::isfinite(value)) values.push_back(value);
  }
  std::ranges::sort(values);
  values.erase(std::ranges::unique(values).begin(), values.end());
  if (!LargerIsBetter(own)) std::ranges::reverse(values);
  for (const double value : values) {
    BoundCost cost = CostOf(report, {own, value});
    // A stricter bound that the same library keeps replaces the looser one.
    if (!costs.empty() && costs.back().bound.metric == own &&
        costs.back().combination == cost.combination) {
      costs.pop_back();
    }
    costs.push_back(std::move(cost));
  }
  return costs;
}

}  // namespace tilewright::optimize
