#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/schedule/summary.h"
#include "src/space/config.h"
#include "src/tensor/workload.h"

namespace tilewright::cost_model {

/// Version of the features, raised whenever their meaning, number or order changes.
inline constexpr int kFeatureVersion = 1;
/// Returns the number of features of every candidate; equal for all templates.
int FeatureCount();
/// Returns the feature names, for printing and for the check of a model file.
const std::vector<std::string>& FeatureNames();
/// Computes fixed-width features of a scheduled candidate: loop structure, bytes touched and reused
/// per level, arithmetic-intensity curve, vector/unroll/parallel extents, knobs. Generates no code.
/// out: FeatureCount() values, all finite.
void ExtractFeatures(const LoopSummary& summary, const Config& config, std::span<float> out);

/// Rows of features with their measured scores. Scores: higher is better (throughput relative to
/// the best of the group); groups: rows of one task are consecutive.
struct Dataset {
  std::vector<float> features;  ///< rows x FeatureCount()
  std::vector<float> scores;
  std::vector<std::uint32_t> group_sizes;
  std::vector<float> group_weights;  ///< parallel to `groups`, or empty: all 1
  std::size_t rows() const { return scores.size(); }
};

/// Model that ranks candidates. Not thread-safe, but not bound to one thread.
class CostModel {
 public:
  virtual ~CostModel() = default;
  /// Trains on all of `data`; implementations may continue from the previous model. The resulting
  /// model depends only on `data` and the data of the training it continues from.
  virtual Status Train(const Dataset& data) = 0;
  /// Returns one score per row (higher is better); meaningless until trained.
  virtual Result<std::vector<float>> Predict(std::span<const float> features) const = 0;
  virtual bool trained() const = 0;
  /// Returns the rows of the last training that did not continue from an earlier one; 0 if never
  /// trained.
  virtual std::size_t full_training_rows() const = 0;
  /// Returns an independent copy, so that training can run concurrently with prediction.
  virtual Result<std::unique_ptr<CostModel>> Clone() const = 0;
  /// Releases memory that the next Predict can rebuild in a millisecond or two.
  virtual void ReleaseMemory() = 0;
};

}  // namespace tilewright::cost_model
