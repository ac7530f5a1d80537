// Asks what a cost model likes best: chains of simulated annealing over the space, templates that
// compete for points, a share of random ones; learns from what it is told.

#include "search/strategies/model_guided.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "search/strategies/annealing.h"
#include "search/strategies/proposer.h"
#include "src/base/json.h"

namespace tilewright::search {
namespace {

constexpr std::size_t kFirstLesson = 8;  // own trials before a model is worth having
constexpr std::size_t kLessonStep = 8;   // new trials that make another lesson worth while
constexpr std::size_t kWarmLesson = 32;  // trials of other tasks that stand in for own ones
constexpr std::size_t kRestarts = 12;    // chains that start from the fastest configs each time
constexpr int kFreshPerSpace = 3;        // chains that start anywhere in each template's space

// A template that began badly may still hold the best config. Each but the best gets some points,
// by turns random, next to its best and what the model likes best of it, until they turn out
// hopeless or, unless it has come near, enough.
constexpr int kTemplatePoints = 16;
constexpr double kNear = 1.6;      // times slower than the best
constexpr int kTemplateDoubt = 6;  // points before one is given up
constexpr double kHopeless = 2.5;  // times slower than the best
constexpr std::size_t kPointsPerTemplatePick = 4;
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

class ModelGuided final : public Proposer {
 public:
  explicit ModelGuided(const StrategyContext& context)
      : Proposer(context),
        epsilon_(context.epsilon),
        make_model_(context.make_model),
        warm_(context.warm),
        model_(make_model_()),
        features_(*context.inspector) {}

  std::string_view name() const override { return "model"; }

  std::unique_ptr<Lesson> NextLesson() override {
    const std::size_t told = ledger().told_order().size();
    if (!learned_) {
      std::size_t warm_trials = 0;
      for (const WarmGroup& group : warm_) warm_trials += group.trials.size();
      if (told < kFirstLesson && warm_trials < kWarmLesson) return nullptr;
    } else if (told < learned_told_ + kLessonStep) {
      return nullptr;
    }
    Result<std::unique_ptr<cost_model::CostModel>> clone = model_->Clone();
    if (!clone.ok()) return nullptr;
    return std::make_unique<ModelLesson>(inspector(), warm_, FirstTold(told), std::move(*clone));
  }

  void Finish(std::unique_ptr<Lesson> lesson) override {
    auto& done = static_cast<ModelLesson&>(*lesson);
    if (!done.done) return;
    learned_ = true;
    learned_told_ = done.told();
    if (done.from_start) full_told_ = done.told();
    model_ = std::move(done.model);
  }

  Status FinishReplay() override {
    if (!learned_) return {};
    for (std::size_t told : {full_told_, learned_told_}) {
      if (told == learned_told_ && model_->trained() && told == full_told_) continue;
      Result<std::unique_ptr<cost_model::CostModel>> clone = model_->Clone();
      TW_RETURN_IF_ERROR(clone);
      ModelLesson lesson(inspector(), warm_, FirstTold(told), std::move(*clone));
      TW_RETURN_IF_ERROR(lesson.Run());
      model_ = std::move(lesson.model);
    }
    return {};
  }

  std::vector<float> Scores(std::span<const Point> points) override {
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

 protected:
  void Propose(std::size_t count, Random& random, std::vector<Point>& out) override {
    if (!model_->trained()) {
      TakeRandom(count, random, out);
      return;
    }
    std::vector<Point> starts;
    for (std::uint32_t position : ledger().Fastest(kRestarts)) {
      starts.push_back(ledger().entries()[position].point);
    }
    const AnnealingOptions options;
    for (std::size_t s = 0; s < space().spaces.size(); ++s) {
      const auto size = static_cast<std::uint64_t>(space().spaces[s].size());
      for (int i = 0; i < kFreshPerSpace; ++i) {
        starts.push_back({static_cast<int>(s), static_cast<std::int64_t>(random.Below(size))});
      }
    }
    for (Point point : chains_) {
      if (starts.size() < options.chains) starts.push_back(point);
    }
    chains_ = std::move(starts);
    Result<std::vector<ScoredPoint>> visited =
        Anneal(space(), *model_, options, features_, random, chains_);
    if (!visited.ok()) {
      TakeRandom(count, random, out);
      return;
    }
    std::erase_if(*visited,
                  [this](const ScoredPoint& scored) { return ledger().Contains(scored.point); });
    std::size_t guided = 0;
    for (std::size_t i = out.size(); i < count; ++i) guided += random.Uniform() >= epsilon_ ? 1 : 0;
    const std::size_t before = out.size();
    for (std::size_t i = 0; i < guided; i += kPointsPerTemplatePick) {
      TakeOfDoubted(*visited, random, out);
    }
    guided -= std::min(guided, out.size() - before);
    for (Point point : ChooseDiverse(space(), *visited, InFlight(), guided)) Take(point, out);
    TakeRandom(count, random, out);
  }

  /// Adds a point of a template that is neither the best nor given up: of the one tried least for
  /// its size.
  void TakeOfDoubted(const std::vector<ScoredPoint>& pool, Random& random,
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

  std::string MoreMemo() const override {
    std::string text;
    if (learned_) {
      text =
          ",\"model\":[" + std::to_string(full_told_) + "," + std::to_string(learned_told_) + "]";
    }
    text += ",\"chains\":[";
    for (std::size_t i = 0; i < chains_.size(); ++i) {
      text += (i > 0 ? ",[" : "[") + std::to_string(chains_[i].space) + "," +
              std::to_string(chains_[i].index) + "]";
    }
    return text + "]";
  }

  Status ReadMemo(std::string_view memo) override {
    const Result<Json> json = ParseJson(memo);
    const auto integers = [](const Json& list, std::size_t size) {
      return list.is_array() && list.size() == size &&
             std::all_of(list.begin(), list.end(),
                         [](const Json& item) { return item.is_number_unsigned(); });
    };
    if (const auto model = json->find("model"); model != json->end()) {
      if (!integers(*model, 2)) return Corrupt("search log: model: bad \"model\" in the memo");
      learned_ = true;
      full_told_ = (*model)[0].get<std::size_t>();
      learned_told_ = (*model)[1].get<std::size_t>();
    }
    const auto chains = json->find("chains");
    if (chains == json->end() || !chains->is_array()) {
      return Corrupt("search log: model: no \"chains\" in the memo");
    }
    chains_.clear();
    for (const Json& chain : *chains) {
      if (!integers(chain, 2)) return Corrupt("search log: model: bad \"chains\" in the memo");
      const Point point{chain[0].get<int>(), chain[1].get<std::int64_t>()};
      if (point.space >= static_cast<int>(space().spaces.size()) ||
          point.index >= space().spaces[static_cast<std::size_t>(point.space)].size()) {
        return Corrupt("search log: model: a chain is outside the space");
      }
      chains_.push_back(point);
    }
    return {};
  }

 private:
  std::vector<Told> FirstTold(std::size_t count) const {
    std::vector<Told> told;
    const auto& order = ledger().told_order();
    for (std::size_t i = 0; i < std::min(count, order.size()); ++i) {
      const Ledger::Entry& entry = ledger().entries()[order[i]];
      told.push_back({entry.point, entry.outcome, entry.value});
    }
    return told;
  }

  /// The newest proposals that are not told yet.
  std::vector<Point> InFlight() const {
    std::vector<Point> points;
    const auto& entries = ledger().entries();
    for (std::size_t i = entries.size(); i > 0 && i + 64 > entries.size(); --i) {
      if (!entries[i - 1].told) points.push_back(entries[i - 1].point);
    }
    return points;
  }

  double epsilon_;
  std::function<std::unique_ptr<cost_model::CostModel>()> make_model_;
  std::vector<WarmGroup> warm_;
  std::unique_ptr<cost_model::CostModel> model_;
  FeatureCache features_;
  std::vector<Point> chains_;
  bool learned_ = false;
  std::size_t learned_told_ = 0;  // own trials the model knows
  std::size_t full_told_ = 0;     // own trials its last training from the start knew
};

}  // namespace

std::unique_ptr<Strategy> MakeModelGuided(const StrategyContext& context) {
  return std::make_unique<ModelGuided>(context);
}

}  // namespace tilewright::search
