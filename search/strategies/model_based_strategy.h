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

/// What strategies that learn share: a cost model that is trained on what was told, and brought
/// back after a replay; points of templates that began badly.
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

  /// New trials that make another lesson worth while, when it knows so many.
  virtual std::size_t RetrainStep(std::size_t known) const = 0;
  /// False: no model is asked.
  virtual bool UsesModel() const { return true; }

  /// Adds a point of a template that is neither the best nor given up, of the one tried least for
  /// its size: by turns random, next to its best, and the first of `pool` (best first).
  void ExploreNeglectedTemplate(const std::vector<ScoredPoint>& pool, Random& random,
                                std::vector<Point>& out);
  /// The newest proposals that are not told yet.
  std::vector<Point> InFlight() const;

  const cost_model::CostModel& model() const { return *model_; }
  FeatureCache& features() { return features_; }

 private:
  std::vector<Observation> FirstObserved(std::size_t count) const;

  std::vector<WarmGroup> warm_;
  std::unique_ptr<cost_model::CostModel> model_;
  FeatureCache features_;
  bool learned_ = false;
  std::size_t learned_count_ = 0;        // own trials the model knows
  std::size_t full_training_count_ = 0;  // own trials its last training from the start knew
};

}  // namespace tilewright::search
