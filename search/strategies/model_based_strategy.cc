// Training during the search: training jobs on copies of the observations, at the interval that the
// strategy sets, and the same model after a replay.

#include "search/strategies/model_based_strategy.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "search/strategies/model_guided.h"
#include "src/base/json.h"

namespace tilewright::search {
namespace {

constexpr std::size_t kFirstTraining = 8;  // own trials before the first training
constexpr std::size_t kWarmTraining = 32;  // trials of other tasks that replace own ones

// A template with a bad start may still contain the best config. Each template except the best gets
// some points, in turn random ones, neighbours of its best, and the model's favourites of it. This
// ends when the template is hopeless or, unless it has come close, has had enough points.
constexpr int kTemplatePoints = 16;
constexpr double kNear = 1.6;      // times slower than the best
constexpr int kTemplateDoubt = 6;  // points before a template is abandoned
constexpr double kHopeless = 2.5;  // times slower than the best
constexpr int kWalkTries = 16;

/// Clone of the model that is trained on copies of the trials.
class ModelTrainingJob final : public TrainingJob {
 public:
  ModelTrainingJob(const StaticAnalyzer& analyzer, const std::vector<WarmGroup>& warm,
                   std::vector<Observation> own,
                   std::unique_ptr<cost_model::CostModel> trained_model)
      : model(std::move(trained_model)), analyzer_(analyzer), warm_(warm), own_(std::move(own)) {}

  Status Run() override {
    const std::size_t full_before = model->full_training_rows();
    const cost_model::Dataset data = MakeDataset(analyzer_, own_, warm_);
    if (data.rows() == 0) return {};
    TW_RETURN_IF_ERROR(model->Train(data));
    from_start = full_before == 0 || model->full_training_rows() != full_before;
    done = true;
    return {};
  }
  std::size_t observed() const { return own_.size(); }

  std::unique_ptr<cost_model::CostModel> model;
  bool from_start = false;
  bool done = false;

 private:
  const StaticAnalyzer& analyzer_;
  const std::vector<WarmGroup>& warm_;
  std::vector<Observation> own_;
};

}  // namespace

ModelBasedStrategy::ModelBasedStrategy(const StrategyContext& context)
    : Proposer(context),
      warm_(context.warm),
      model_(context.make_model()),
      features_(*context.analyzer) {}

std::unique_ptr<TrainingJob> ModelBasedStrategy::NextTrainingJob() {
  if (!UsesModel()) return nullptr;
  const std::size_t observed = history().observed_order().size();
  if (!learned_) {
    std::size_t warm_trials = 0;
    for (const WarmGroup& group : warm_) warm_trials += group.trials.size();
    if (observed < kFirstTraining && warm_trials < kWarmTraining) return nullptr;
  } else if (observed < learned_count_ + RetrainStep(learned_count_)) {
    return nullptr;
  }
  Result<std::unique_ptr<cost_model::CostModel>> clone = model_->Clone();
  if (!clone.ok()) return nullptr;
  return std::make_unique<ModelTrainingJob>(analyzer(), warm_, FirstObserved(observed),
                                            std::move(*clone));
}

void ModelBasedStrategy::Finish(std::unique_ptr<TrainingJob> training_job) {
  auto& done = static_cast<ModelTrainingJob&>(*training_job);
  if (!done.done) return;
  learned_ = true;
  learned_count_ = done.observed();
  if (done.from_start) full_training_count_ = done.observed();
  model_ = std::move(done.model);
}

Status ModelBasedStrategy::FinishReplay() {
  if (!learned_) return {};
  for (std::size_t observed : {full_training_count_, learned_count_}) {
    if (observed == learned_count_ && model_->trained() && observed == full_training_count_)
      continue;
    TW_ASSIGN_OR_RETURN(std::unique_ptr<cost_model::CostModel> clone, model_->Clone());
    ModelTrainingJob training_job(analyzer(), warm_, FirstObserved(observed), std::move(clone));
    TW_RETURN_IF_ERROR(training_job.Run());
    model_ = std::move(training_job.model);
  }
  return {};
}

std::vector<float> ModelBasedStrategy::Scores(std::span<const Point> points) {
  if (!model_->trained()) return {};
  std::vector<float> rows;
  for (Point point : points) {
    const std::span<const float> row = features_.Get(point);
    rows.insert(rows.end(), row.begin(), row.end());
  }
  Result<std::vector<float>> scores = model_->Predict(rows);
  model_->ReleaseMemory();  // until the next Ask of this task
  if (!scores.ok() || scores->size() != points.size()) return {};
  return *std::move(scores);
}

void ModelBasedStrategy::ExploreNeglectedTemplate(const std::vector<ScoredPoint>& pool,
                                                  Random& random, std::vector<Point>& out) {
  const std::size_t spaces = space().spaces.size();
  if (spaces < 2 || history().best_seconds() == 0) return;
  std::vector<int> tried(spaces, 0);
  std::vector<const ProposalHistory::Entry*> best(spaces, nullptr);
  for (const ProposalHistory::Entry& entry : history().entries()) {
    const auto s = static_cast<std::size_t>(entry.point.space);
    ++tried[s];
    if (entry.ok() && (best[s] == nullptr || entry.value < best[s]->value)) best[s] = &entry;
  }
  const auto share = [&](std::size_t s) {
    return tried[s] / std::sqrt(static_cast<double>(space().spaces[s].size()));
  };
  std::size_t chosen = spaces;
  for (std::size_t s = 0; s < spaces; ++s) {
    const double slower =
        best[s] == nullptr ? kHopeless + 1 : best[s]->value / history().best_seconds();
    const bool given_up = (tried[s] >= kTemplateDoubt && slower > kHopeless) ||
                          (tried[s] >= kTemplatePoints && slower > kNear);
    if (slower == 1 || given_up) continue;
    if (chosen == spaces || share(s) < share(chosen)) chosen = s;
  }
  if (chosen == spaces) return;
  const auto size = static_cast<std::uint64_t>(space().spaces[chosen].size());
  const int turn = tried[chosen] % 3;
  for (int i = 0; i < kWalkTries && turn < 2; ++i) {
    Point point{static_cast<int>(chosen), static_cast<std::int64_t>(random.Below(size))};
    if (turn == 1 && best[chosen] != nullptr) {
      point = MutatePoint(space(), best[chosen]->point, random);
    }
    if (Take(point, out)) return;
  }
  for (const ScoredPoint& scored : pool) {
    if (scored.point.space == static_cast<int>(chosen) && Take(scored.point, out)) return;
  }
}

std::string ModelBasedStrategy::ExtraState() const {
  if (!learned_) return {};
  return ",\"model\":[" + std::to_string(full_training_count_) + "," +
         std::to_string(learned_count_) + "]";
}

Status ModelBasedStrategy::LoadState(std::string_view strategy_state) {
  const Result<Json> json = ParseJson(strategy_state);
  const auto model = json->find("model");
  if (model == json->end()) return {};
  const bool two = model->is_array() && model->size() == 2 && (*model)[0].is_number_unsigned() &&
                   (*model)[1].is_number_unsigned();
  if (!two) return Corrupt("search log: model: bad \"model\" in the strategy state");
  learned_ = true;
  full_training_count_ = (*model)[0].get<std::size_t>();
  learned_count_ = (*model)[1].get<std::size_t>();
  return {};
}

std::vector<Observation> ModelBasedStrategy::FirstObserved(std::size_t count) const {
  std::vector<Observation> observed;
  const auto& order = history().observed_order();
  for (std::size_t i = 0; i < std::min(count, order.size()); ++i) {
    const ProposalHistory::Entry& entry = history().entries()[order[i]];
    observed.push_back({entry.point, entry.outcome, entry.value});
  }
  return observed;
}

std::vector<Point> ModelBasedStrategy::InFlight() const {
  std::vector<Point> points;
  const auto& entries = history().entries();
  for (std::size_t i = entries.size(); i > 0 && i + 64 > entries.size(); --i) {
    if (!entries[i - 1].observed) points.push_back(entries[i - 1].point);
  }
  return points;
}

}  // namespace tilewright::search
