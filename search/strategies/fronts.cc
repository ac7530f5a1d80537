// Search for a Pareto front: one search for each direction, over one set of trials that all of them
// observe. Values are multiplied, not added: a relative change of the cycles weighs as much as the
// same relative change of the bytes, and no scales are needed.
#include "search/strategies/fronts.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "src/base/json.h"

namespace tilewright::search {
namespace {

/// Training job of one of the strategies.
class DirectedTrainingJob final : public TrainingJob {
 public:
  DirectedTrainingJob(std::size_t turn, std::unique_ptr<TrainingJob> of)
      : which(turn), training_job(std::move(of)) {}
  Status Run() override { return training_job->Run(); }

  std::size_t which;
  std::unique_ptr<TrainingJob> training_job;
};

class FrontSearch final : public Strategy {
 public:
  FrontSearch(const StrategyEntry& entry, const StrategyContext& context,
              const std::vector<std::string>& metrics)
      : directions_(FrontDirections(metrics.size())) {
    for (std::size_t d = 0; d < directions_.size(); ++d) {
      StrategyContext one = context;
      one.seed = context.seed + d;
      one.weights.clear();
      for (std::size_t m = 0; m < metrics.size(); ++m) {
        one.weights.push_back({metrics[m], directions_[d][m]});
      }
      // Trials of other tasks have one value.
      if (directions_[d].front() < 1) one.warm.clear();
      searches_.push_back(entry.make(one));
    }
  }

  std::vector<Point> Ask(int count) override {
    const auto wanted = static_cast<std::size_t>(std::max(0, count));
    std::vector<Point> points;
    // Asks a strategy that does not know the others' proposals again. A strategy without further
    // points passes its turn to the next.
    turn_ = next_;
    for (std::size_t tried = 0; points.empty() && tried < searches_.size(); ++tried) {
      turn_ = (next_ + tried) % searches_.size();
      for (asks_ = 0; asks_ < kMaxAsks && points.size() < wanted;) {
        const std::vector<Point> more =
            searches_[turn_]->Ask(static_cast<int>(wanted - points.size()));
        ++asks_;
        if (more.empty()) break;
        for (const Point point : more) {
          if (proposed_.insert(point).second) points.push_back(point);
        }
      }
    }
    Proposed(points);
    return points;
  }

  void Tell(std::span<const Observation> results) override {
    for (std::size_t d = 0; d < searches_.size(); ++d) {
      std::vector<Observation> directed(results.begin(), results.end());
      for (Observation& observed : directed) {
        if (observed.values.size() == directions_[d].size()) {
          observed.value = WeightedValue(observed.values, directions_[d]);
        }
      }
      searches_[d]->Tell(directed);
    }
  }
  void Exclude(std::span<const Point> points) override {
    for (const auto& search : searches_) search->Exclude(points);
    proposed_.insert(points.begin(), points.end());
  }
  std::vector<float> Scores(std::span<const Point> points) override {
    // Of the target's metric, which Trial::predicted is compared with.
    return searches_.front()->Scores(points);
  }
  std::string_view name() const override { return searches_.front()->name(); }
  Status status() const override {
    for (const auto& search : searches_) TW_RETURN_IF_ERROR(search->status());
    return {};
  }

  std::unique_ptr<TrainingJob> NextTrainingJob() override {
    std::unique_ptr<TrainingJob> training_job = searches_[next_]->NextTrainingJob();
    if (training_job == nullptr) return nullptr;
    return std::make_unique<DirectedTrainingJob>(next_, std::move(training_job));
  }
  void Finish(std::unique_ptr<TrainingJob> training_job) override {
    auto& done = static_cast<DirectedTrainingJob&>(*training_job);
    searches_[done.which]->Finish(std::move(done.training_job));
  }

  std::string SaveState() const override {
    return "{\"turn\":" + std::to_string(turn_) + ",\"asks\":" + std::to_string(asks_) +
           ",\"memo\":" + searches_[turn_]->SaveState() + "}";
  }
  Status ReplayAsk(std::span<const Point> points, std::string_view strategy_state) override {
    const Result<Json> json = ParseJson(strategy_state);
    const auto number = [&](const char* name) {
      const bool there = json.ok() && json->is_object() && json->contains(name) &&
                         (*json)[name].is_number_unsigned();
      return there ? (*json)[name].get<std::uint64_t>() : kMaxAsks + searches_.size();
    };
    const std::uint64_t turn = number("turn"), asks = number("asks");
    if (turn >= searches_.size() || asks > kMaxAsks || !json->contains("memo")) {
      return Corrupt("search log: strategy state \"" + std::string(strategy_state.substr(0, 80)) +
                     "\", expected that of a search for a front");
    }
    turn_ = static_cast<std::size_t>(turn);
    asks_ = static_cast<std::size_t>(asks);
    const std::string inner = DumpJson((*json)["memo"]);
    for (std::size_t i = 0; i < asks_; ++i) {
      TW_RETURN_IF_ERROR(
          searches_[turn_]->ReplayAsk(i == 0 ? points : std::span<const Point>(), inner));
    }
    proposed_.insert(points.begin(), points.end());
    Proposed({points.begin(), points.end()});
    return {};
  }
  Status FinishReplay() override {
    for (const auto& search : searches_) TW_RETURN_IF_ERROR(search->FinishReplay());
    return {};
  }
  std::int64_t filtered() const override {
    std::int64_t most = 0;  // each has nearly the same points
    for (const auto& search : searches_) most = std::max(most, search->filtered());
    return most;
  }

 private:
  static constexpr std::size_t kMaxAsks = 8;

  /// Records a proposal of the strategy in turn, and advances to the next one.
  void Proposed(const std::vector<Point>& points) {
    for (std::size_t d = 0; d < searches_.size(); ++d) {
      if (d != turn_) searches_[d]->Exclude(points);
    }
    next_ = (turn_ + 1) % searches_.size();
  }

  std::vector<std::vector<double>> directions_;
  std::vector<std::unique_ptr<Strategy>> searches_;  // parallel to directions_
  std::set<Point> proposed_;
  std::size_t turn_ = 0, asks_ = 0, next_ = 0;
};

}  // namespace

std::vector<std::vector<double>> FrontDirections(std::size_t metrics) {
  const std::vector<double> alike(metrics, 1 / static_cast<double>(metrics));
  std::vector<std::vector<double>> directions;
  for (std::size_t m = 0; m < metrics; ++m) {
    std::vector<double> alone(metrics, 0), between;
    alone[m] = 1;
    for (std::size_t i = 0; i < metrics; ++i) between.push_back((alone[i] + alike[i]) / 2);
    directions.push_back(std::move(alone));
    directions.push_back(std::move(between));
  }
  directions.push_back(alike);
  return directions;
}

double WeightedValue(std::span<const double> values, std::span<const double> weights) {
  double sum = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] > 0) sum += weights[i] * std::log2(values[i]);
  }
  return std::exp2(sum);
}

std::unique_ptr<Strategy> MakeFrontSearch(const StrategyEntry& entry,
                                          const StrategyContext& context,
                                          const std::vector<std::string>& metrics) {
  return std::make_unique<FrontSearch>(entry, context, metrics);
}

}  // namespace tilewright::search
