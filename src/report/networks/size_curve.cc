#include "src/report/networks/size_curve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "src/base/json.h"
#include "src/base/printable.h"
#include "src/base/text/plural.h"
#include "src/session/format.h"
#include "src/session/text_table.h"

namespace tilewright::report {
namespace {

constexpr std::size_t kMaxPoints = 16;
constexpr int kPasses = 3;

std::vector<KernelInterval> IntervalsOf(const TwOpenStep& step, const SizeRange& range) {
  std::vector<KernelInterval> intervals;
  if (step.choice == nullptr) return intervals;
  for (std::int64_t size = range.least; size <= range.most; ++size) {
    const int kernel = step.choice[size - 1];
    if (!intervals.empty() && intervals.back().kernel == kernel) {
      intervals.back().most = size;
    } else {
      intervals.push_back({kernel, size, size});
    }
  }
  return intervals;
}

/// Returns the operators with several kernels, in groups that change at the same sizes.
std::vector<OperatorIntervals> OperatorsOf(const ModelLibrary& library, const SizeRange& range) {
  const TwOpenDimension& open = *library.open_dimension();
  std::vector<OperatorIntervals> groups;
  for (std::size_t i = 0; i < library.operators().size(); ++i) {
    auto intervals = IntervalsOf(open.open_steps[i], range);
    if (intervals.empty()) continue;
    const auto same = [&](const OperatorIntervals& group) {
      return std::ranges::equal(group.intervals, intervals, [](const auto& a, const auto& b) {
        return a.kernel == b.kernel && a.least == b.least && a.most == b.most;
      });
    };
    auto known = std::ranges::find_if(groups, same);
    if (known == groups.end())
      known = groups.insert(known, OperatorIntervals{{}, std::move(intervals)});
    known->values.push_back(library.operators()[i].result.name);
  }
  return groups;
}

/// Returns the sizes to time, see BenchSizes.
std::vector<std::int64_t> SizesToTime(const std::vector<OperatorIntervals>& operators,
                                      const SizeRange& range) {
  std::set<std::int64_t> sizes = {range.least, range.most};
  std::vector<std::int64_t> powers;
  for (std::int64_t size = 1; size <= range.most; size *= 2) {
    if (size > range.least) powers.push_back(size);
  }
  // Of a long range, the largest powers.
  if (powers.size() > kMaxPoints - 2) powers.erase(powers.begin(), powers.end() - (kMaxPoints - 2));
  sizes.insert(powers.begin(), powers.end());
  for (const OperatorIntervals& group : operators) {
    for (const KernelInterval& interval : group.intervals) {
      if (sizes.size() < kMaxPoints) sizes.insert(interval.least);
    }
  }
  return {sizes.begin(), sizes.end()};
}

std::string IntervalsText(const std::vector<KernelInterval>& intervals) {
  constexpr std::size_t kMaxNamed = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(intervals.size(), kMaxNamed); ++i) {
    const KernelInterval& one = intervals[i];
    text += fmt::format("{}{} to {}: kernel {}", i == 0 ? "" : ", ", one.least, one.most,
                        one.kernel + 1);
  }
  if (intervals.size() > kMaxNamed) {
    text += fmt::format(" and {} more", intervals.size() - kMaxNamed);
  }
  return text;
}

}  // namespace

Result<SizeCurve> BenchSizes(ModelLibrary& library, const SizeRange& range, double seconds,
                             const MakeInputs& inputs) {
  if (library.open_dimension() == nullptr) {
    return InvalidArgument("--dim " + range.ToString() +
                           ": the library has its sizes in it, expected one for a range");
  }
  SizeCurve curve;
  curve.model = library.name();
  curve.dimension = range.name;
  curve.threads = library.threads();
  TW_RETURN_IF_ERROR(library.SetSize(range.name, range.most));
  curve.operators = OperatorsOf(library, range);
  for (const std::int64_t size : SizesToTime(curve.operators, range)) {
    curve.points.push_back({size, 0, 0, 0});
  }
  BenchOptions options;
  options.seconds = seconds / static_cast<double>(kPasses * curve.points.size());
  for (int pass = 0; pass < kPasses; ++pass) {
    for (SizePoint& point : curve.points) {
      TW_RETURN_IF_ERROR(library.SetSize(range.name, point.size));
      TW_ASSIGN_OR_RETURN(const auto tensors, inputs(library.inputs()));
      TW_ASSIGN_OR_RETURN(const auto report, Bench(library, tensors, options));
      const bool first = pass == 0;
      point.min_seconds =
          first ? report.min_seconds : std::min(point.min_seconds, report.min_seconds);
      if (!first && report.total_seconds >= point.seconds) continue;
      point.seconds = report.total_seconds;
      point.gflops = report.gflops();
    }
  }
  return curve;
}

Json SizeCurveJson(const SizeCurve& curve) {
  Json points = Json::array();
  for (const SizePoint& point : curve.points) {
    points.push_back({{"size", point.size},
                      {"total_seconds", point.seconds},
                      {"least_seconds", point.min_seconds},
                      {"gflops", point.gflops}});
  }
  Json operators = Json::array();
  for (const OperatorIntervals& group : curve.operators) {
    Json intervals = Json::array();
    for (const KernelInterval& one : group.intervals) {
      intervals.push_back({{"from", one.least}, {"to", one.most}, {"kernel", one.kernel}});
    }
    operators.push_back({{"values", group.values}, {"intervals", std::move(intervals)}});
  }
  return {{"model", curve.model},
          {"dimension", curve.dimension},
          {"threads", curve.threads},
          {"sizes", std::move(points)},
          {"kernels", std::move(operators)}};
}

std::string SizeCurveText(const SizeCurve& curve) {
  constexpr double kWidth = 30;
  session::TextTable table({{curve.dimension, true},
                            {"time", true},
                            {"fastest", true},
                            {"GFLOP/s", true},
                            {"of one", true},
                            {"", false, 30}});
  double most = 0;
  const auto of_one = [](const SizePoint& point) {
    return point.min_seconds / static_cast<double>(point.size);
  };
  for (const SizePoint& point : curve.points) most = std::max(most, of_one(point));
  for (const SizePoint& point : curve.points) {
    const auto length = static_cast<std::size_t>(std::lround(kWidth * of_one(point) / most));
    table.AddRow({std::to_string(point.size), session::ShortSeconds(point.seconds),
                  session::ShortSeconds(point.min_seconds), fmt::format("{:.1f}", point.gflops),
                  session::ShortSeconds(of_one(point)),
                  std::string(std::max<std::size_t>(1, length), '#')});
  }
  std::string text = table.Take();
  for (const OperatorIntervals& group : curve.operators) {
    const std::int64_t others = std::ssize(group.values) - 1;
    text += Printable(group.values.front()) +
            (others > 0 ? " and " + Counted(others, "other operator") : "") + ": " +
            IntervalsText(group.intervals) + "\n";
  }
  return text + fmt::format("{}: {}, {}\n", Printable(curve.model),
                            Counted(std::ssize(curve.points), "size"),
                            Counted(curve.threads, "thread"));
}

}  // namespace tilewright::report
