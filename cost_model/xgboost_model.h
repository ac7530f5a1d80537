#pragma once

#include <cstdint>
#include <memory>

#include "cost_model/cost_model.h"
#include "cost_model/tree_model.h"

namespace tilewright::cost_model {

/// Training options. The defaults suit a few hundred to a few thousand rows.
struct XgboostOptions {
  int threads = 1;  ///< more than one pays only on an otherwise idle machine
  int max_depth = 5;
  double learning_rate = 0.2;
  std::uint64_t seed = 1;
  /// If the data has grown by this factor since the last full training, training starts from
  /// scratch; below it, a few rounds are added to that training.
  double retrain_growth = 1.5;
};

/// Boosted trees with a pairwise rank objective. The rows of one task are one group. Source:
/// XGBoost's C API.
class XgboostModel final : public CostModel {
 public:
  explicit XgboostModel(const XgboostOptions& options = {});
  ~XgboostModel() override;

  Status Train(const Dataset& data) override;
  Result<std::vector<float>> Predict(std::span<const float> features) const override;
  bool trained() const override;
  std::size_t full_training_rows() const override;
  Result<std::unique_ptr<CostModel>> Clone() const override;
  void ReleaseMemory() override;

  /// Returns the trained model in its shipped form: its trees only. Errors: kInvalidArgument if not
  /// trained.
  Result<std::unique_ptr<TreeModel>> Trees(TreeModel::Metadata metadata) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tilewright::cost_model
