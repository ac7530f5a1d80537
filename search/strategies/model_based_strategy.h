#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "search/feature_cache.h"
#include "search/registry.h"
#include "search/strategies/annealing.h"
#include "search/strategies/proposer.h"

namespace tilewright::search {

/// Base class of strategies that learn: a cost model that is trained on observations and restored
/// after a replay, and exploration of templates with a bad start.
class ModelBasedStrategy : public Proposer {
 public:
  explicit ModelBasedStrategy(const StrategyContext& context);

  std::unique_ptr<TrainingJob> NextTrainingJob() final;
  void Finish(std::unique_ptr<TrainingJob> training_job) final;
  Status FinishReplay() final;
  std::vector<float> Scores(std::span<const Point> points) final;

 protected:
  std::string ExtraState() const override;
  Status LoadState(std::string_view strategy_state) override;

  /// Returns the number of new trials that justify another training, if the model was trained on
  /// `known` trials.
  virtual std::size_t RetrainStep(std::size_t known) const = 0;
  /// Returns false if the strategy uses no model.
  virtual bool UsesModel() const { return true; }

  /// Adds a point of a template that is neither the best nor abandoned, of the one with the fewest
  /// trials for its size: in turn a random point, a neighbour of its best, and the first of `pool`
  /// (best first).
  void ExploreNeglectedTemplate(const std::vector<ScoredPoint>& pool, Random& random,
                                std::vector<Point>& out);
  /// Returns the newest proposals without an observation.
  std::vector<Point> InFlight() const;

  const cost_model::CostModel& model() const { return *model_; }
  FeatureCache& features() { return features_; }

 private:
  std::vector<Observation> FirstObserved(std::size_t count) const;

  std::vector<WarmGroup> warm_;
  std::unique_ptr<cost_model::CostModel> model_;
  FeatureCache features_;
  bool learned_ = false;
  std::size_t learned_count_ = 0;        // own trials that the model was trained on
  std::size_t full_training_count_ = 0;  // own trials of its last full training
};

}  // namespace tilewright::search
