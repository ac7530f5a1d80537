// Learning while measuring: lessons on copies of what was told, at the pace that the strategy asks
// for, and the same model again after a replay.

#include "search/strategies/learner.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "search/strategies/model_guided.h"
#include "src/base/json.h"

namespace tilewright::search {
namespace {

constexpr std::size_t kFirstLesson = 8;  // own trials before a model is worth having
constexpr std::size_t kWarmLesson = 32;  // trials of other tasks that stand in for own ones

// A template that began badly may still hold the best config. Each but the best gets some points,
// by turns random, next to its best and what the model likes best of it, until they turn out
// hopeless or, unless it has come near, enough.
constexpr int kTemplatePoints = 16;
constexpr double kNear = 1.6;      // times slower than the best
constexpr int kTemplateDoubt = 6;  // points before one is given up
constexpr double kHopeless = 2.5;  // times slower than the best
constexpr int kWalkTries = 16;

/// A clone of the model that learns from copies of the trials.
class ModelLesson final : public Lesson {
 public:
  ModelLesson(const Inspector& inspector, const std::vector<WarmGroup>& warm, std::vector<Told> own,
              std::unique_ptr<cost_model::CostModel> trained_model)
      : model(std::move(trained_model)), inspector_(inspector), warm_(warm), own_(std::move(own)) {}

  Status Run() override {
    const std::size_t full_before = model->full_training_rows();
    const cost_model::Dataset data = MakeDataset(inspector_, own_, warm_);
    if (data.rows() == 0) return {};
    TW_RETURN_IF_ERROR(model->Train(data));
    from_start = full_before == 0 || model->full_training_rows() != full_before;
    done = true;
    return {};
  }
  std::size_t told() const { return own_.size(); }

  std::unique_ptr<cost_model::CostModel> model;
  bool from_start = false;
  bool done = false;

 private:
  const Inspector& inspector_;
  const std::vector<WarmGroup>& warm_;
  std::vector<Told> own_;
};

}  // namespace

Learner::Learner(const StrategyContext& context)
    : Proposer(context),
      warm_(context.warm),
      model_(context.make_model()),
      features_(*context.inspector) {}

std::unique_ptr<Lesson> Learner::NextLesson() {
  if (!Learns()) return nullptr;
  const std::size_t told = ledger().told_order().size();
  if (!learned_) {
    std::size_t warm_trials = 0;
    for (const WarmGroup& group : warm_) warm_trials += group.trials.size();
    if (told < kFirstLesson && warm_trials < kWarmLesson) return nullptr;
  } else if (told < learned_told_ + LessonStep(learned_told_)) {
    return nullptr;
  }
  Result<std::unique_ptr<cost_model::CostModel>> clone = model_->Clone();
  if (!clone.ok()) return nullptr;
  return std::make_unique<ModelLesson>(inspector(), warm_, FirstTold(told), std::move(*clone));
}

void Learner::Finish(std::unique_ptr<Lesson> lesson) {
  auto& done = static_cast<ModelLesson&>(*lesson);
  if (!done.done) return;
  learned_ = true;
  learned_told_ = done.told();
  if (done.from_start) full_told_ = done.told();
  model_ = std::move(done.model);
}

Status Learner::FinishReplay() {
  if (!learned_) return {};
  for (std::size_t told : {full_told_, learned_told_}) {
    if (told == learned_told_ && model_->trained() && told == full_told_) continue;
    TW_ASSIGN_OR_RETURN(std::unique_ptr<cost_model::CostModel> clone, model_->Clone());
    ModelLesson lesson(inspector(), warm_, FirstTold(told), std::move(clone));
    TW_RETURN_IF_ERROR(lesson.Run());
    model_ = std::move(lesson.model);
  }
  return {};
}

std::vector<float> Learner::Scores(std::span<const Point> points) {
  if (!model_->trained()) return {};
  std::vector<float> rows;
  for (Point point : points) {
    const std::span<const float> row = features_.Get(point);
    rows.insert(rows.end(), row.begin(), row.end());
  }
  Result<std::vector<float>> scores = model_->Predict(rows);
  model_->Rest();  // until this task is asked again
  if (!scores.ok() || scores->size() != points.size()) return {};
  return *std::move(scores);
}

void Learner::TakeOfDoubted(const std::vector<ScoredPoint>& pool, Random& random,
                            std::vector<Point>& out) {
  const std::size_t spaces = space().spaces.size();
  if (spaces < 2 || ledger().best_seconds() == 0) return;
  std::vector<int> tried(spaces, 0);
  std::vector<const Ledger::Entry*> best(spaces, nullptr);
  for (const Ledger::Entry& entry : ledger().entries()) {
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
        best[s] == nullptr ? kHopeless + 1 : best[s]->value / ledger().best_seconds();
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

std::string Learner::MoreMemo() const {
  if (!learned_) return {};
  return ",\"model\":[" + std::to_string(full_told_) + "," + std::to_string(learned_told_) + "]";
}

Status Learner::ReadMemo(std::string_view memo) {
  const Result<Json> json = ParseJson(memo);
  const auto model = json->find("model");
  if (model == json->end()) return {};
  const bool two = model->is_array() && model->size() == 2 && (*model)[0].is_number_unsigned() &&
                   (*model)[1].is_number_unsigned();
  if (!two) return Corrupt("search log: model: bad \"model\" in the memo");
  learned_ = true;
  full_told_ = (*model)[0].get<std::size_t>();
  learned_told_ = (*model)[1].get<std::size_t>();
  return {};
}

std::vector<Told> Learner::FirstTold(std::size_t count) const {
  std::vector<Told> told;
  const auto& order = ledger().told_order();
  for (std::size_t i = 0; i < std::min(count, order.size()); ++i) {
    const Ledger::Entry& entry = ledger().entries()[order[i]];
    told.push_back({entry.point, entry.outcome, entry.value});
  }
  return told;
}

std::vector<Point> Learner::InFlight() const {
  std::vector<Point> points;
  const auto& entries = ledger().entries();
  for (std::size_t i = entries.size(); i > 0 && i + 64 > entries.size(); --i) {
    if (!entries[i - 1].told) points.push_back(entries[i - 1].point);
  }
  return points;
}

}  // namespace tilewright::search
