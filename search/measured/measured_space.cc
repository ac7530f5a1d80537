#include "search/measured/measured_space.h"

#include <algorithm>
#include <map>
#include <utility>

#include "cost_model/xgboost_model.h"
#include "src/base/json.h"
#include "src/space/exchange/cachefile.h"
#include "src/space/exchange/t4_space.h"

namespace tilewright::search {

Result<MeasuredSpace> MeasuredSpace::Create(std::string name, const T4File& file) {
  TW_ASSIGN_OR_RETURN(OpenSpace open, SpaceOfT4(name, file));
  std::map<std::int64_t, std::size_t> result_of;  // by index
  for (std::size_t r = 0; r < file.results.size(); ++r) {
    TW_ASSIGN_OR_RETURN(const OpenConfig config, open.Locate(file.results[r].configuration));
    if (!result_of.emplace(open.IndexOf(config), r).second) {
      return InvalidArgument("result " + std::to_string(r + 1) + ": its config occurs twice");
    }
  }
  MeasuredSpace space;
  for (const auto& [index, r] : result_of) {
    const T4Result& result = file.results[r];
    const double value = result.ObjectiveValue().value_or(0);
    space.indices_.push_back(index);
    space.results_.push_back(r);
    space.values_.push_back(std::max(0.0, value));
    space.outcomes_.push_back(value > 0 ? Outcome::kOk : T4OutcomeOf(result));
    if (value > 0 && (space.best_ == 0 || value < space.best_)) space.best_ = value;
  }
  if (space.best_ == 0) return InvalidArgument("no result is correct");
  space.name_ = std::move(name);
  space.space_ = std::make_unique<OpenSearchSpace>(std::move(open), space.indices_);
  return space;
}

Result<MeasuredSpace> MeasuredSpace::Load(const std::string& path) {
  TW_ASSIGN_OR_RETURN(const T4File file, LoadT4OrCache(path));
  Result<MeasuredSpace> space = Create(T4SpaceName(path), file);
  if (!space.ok()) return space.status().WithContext(path);
  return space;
}

std::size_t MeasuredSpace::PositionOf(Point point) const {
  const auto found = std::ranges::lower_bound(indices_, point.index);
  TW_CHECK(found != indices_.end() && *found == point.index, "a point without a result");
  return static_cast<std::size_t>(found - indices_.begin());
}

std::size_t MeasuredSpace::failed() const {
  return static_cast<std::size_t>(std::ranges::count(values_, 0.0));
}

double MeasuredSpace::median() const {
  std::vector<double> sorted;
  for (double value : values_) {
    if (value > 0) sorted.push_back(value);
  }
  std::ranges::sort(sorted);
  return sorted[sorted.size() / 2];
}

Result<DeviceRecords> MeasuredSpace::RecordsFor(const MeasuredSpace& other) const {
  DeviceRecords records;
  for (std::size_t i = 0; i < indices_.size(); ++i) {
    const OpenConfig config = space_->ConfigOf({0, indices_[i]});
    std::vector<std::pair<std::string, ParameterValue>> values;
    for (std::size_t p = 0; p < config.size(); ++p) {
      values.emplace_back(space_->open().parameters()[p].name,
                          space_->open().ValueOf(config, static_cast<int>(p)));
      if (other.space().open().Find(values.back().first) < 0) {
        return InvalidArgument(name_ + ": parameter " + values.back().first + ", which " +
                               other.name() + " does not have");
      }
    }
    const Result<OpenConfig> located = other.space().open().Locate(values);
    if (!located.ok()) continue;
    const Point point = other.space().PointOf(*located);
    if (other.space().Contains(point)) records.values.emplace_back(point, values_[i]);
  }
  if (records.values.empty()) return InvalidArgument(name_ + ": no config of " + other.name());
  return records;
}

Result<std::vector<Point>> ReplaySearch(const MeasuredSpace& space, const StrategyEntry& strategy,
                                        std::span<const DeviceRecords> records, std::uint64_t seed,
                                        std::size_t evaluations) {
  StrategyContext context;
  context.space = &space.space().space();
  context.analyzer = &space.space();
  context.seed = seed;
  context.make_model = [] { return std::make_unique<cost_model::XgboostModel>(); };
  context.records.assign(records.begin(), records.end());
  const std::unique_ptr<Strategy> search = strategy.make(context);
  std::vector<Point> measured;
  const auto train = [&] {
    std::unique_ptr<TrainingJob> job = search->NextTrainingJob();
    if (job != nullptr && job->Run().ok()) search->Finish(std::move(job));
  };
  train();
  while (measured.size() < evaluations) {
    const std::vector<Point> points = search->Ask(1);
    TW_RETURN_IF_ERROR(search->status());
    if (points.empty()) break;
    measured.push_back(points[0]);
    const Observation observed{points[0], space.OutcomeOf(points[0]), space.ValueOf(points[0])};
    search->Tell({&observed, 1});
    train();
  }
  return measured;
}

double QualityAfter(const MeasuredSpace& space, std::span<const Point> points, std::size_t n) {
  double best = 0;
  for (Point point : points.subspan(0, std::min(n, points.size()))) {
    const double value = space.ValueOf(point);
    if (value > 0 && (best == 0 || value < best)) best = value;
  }
  return best == 0 ? 0 : space.best() / best;
}

std::string RunLine(const MeasuredSpace& space, std::string_view strategy, std::uint64_t seed,
                    std::span<const Point> points) {
  Json json = {{"space", space.name()}, {"strategy", strategy}, {"seed", seed}};
  Json& configs = json["configs"] = Json::array();
  for (Point point : points) configs.push_back(space.ResultOf(point));
  return DumpJson(json);
}

}  // namespace tilewright::search
