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

/// Raised whenever the meaning, number or order of features changes.
inline constexpr int kFeatureVersion = 1;
/// Number of features of every candidate, whatever the template.
int FeatureCount();
/// Names, for printing and for a model file's check.
const std::vector<std::string>& FeatureNames();
/// Fixed-width features of a scheduled candidate: loop structure, bytes touched and reused per
/// level, arithmetic-intensity curve, vector/unroll/parallel extents, knobs. No code is generated.
/// out: FeatureCount() values, all finite.
void ExtractFeatures(const LoopSummary& summary, const Config& config, std::span<float> out);

/// Rows of features with what was measured. Scores: higher is better (throughput relative to the
/// best of the group); groups: rows of one task are consecutive.
struct Dataset {
  std::vector<float> features;  ///< rows x FeatureCount()
  std::vector<float> scores;
  std::vector<std::uint32_t> group_sizes;
  std::vector<float> group_weights;  ///< parallel to them, or empty: all 1
  std::size_t rows() const { return scores.size(); }
};

/// Ranks candidates. Not thread-safe: one thread at a time, whichever it is.
class CostModel {
 public:
  virtual ~CostModel() = default;
  /// Learns from all of `data`; implementations may continue from the previous model. The model
  /// after it depends on nothing but `data` and the data of the training it continues from.
  virtual Status Train(const Dataset& data) = 0;
  /// One score per row (higher is better); meaningless until trained.
  virtual Result<std::vector<float>> Predict(std::span<const float> features) const = 0;
  virtual bool trained() const = 0;
  /// Rows of the last training that did not continue from an earlier one; 0 if never trained.
  virtual std::size_t full_training_rows() const = 0;
  /// A copy that learns and predicts on its own, so that learning can go on beside predicting.
  virtual Result<std::unique_ptr<CostModel>> Clone() const = 0;
  /// Gives back the memory that the next Predict can make again in a millisecond or two.
  virtual void ReleaseMemory() = 0;
};

}  // namespace tilewright::cost_model
