#pragma once

#include <cstddef>
#include <vector>

#include "cost_model/cost_model.h"
#include "search/feature_cache.h"
#include "search/space.h"

namespace tilewright::search {

struct ScoredPoint {
  Point point;
  float score = 0;  ///< prediction of the model; higher is better
};

struct AnnealingOptions {
  std::size_t chains = 48;
  int steps = 20;
  /// Spaces of up to this many points are scored completely instead.
  std::int64_t exhaustive_size = 1024;
};

/// Runs simulated annealing on the cost model. All chains move at once, so that one prediction
/// scores them all. `chains` holds their positions. If there are fewer than options.chains, random
/// points are added. On return, `chains` holds the end positions, from which the next call can
/// continue. Returns every legal point visited, best first, ties by point, each once. Errors: the
/// model's.
Result<std::vector<ScoredPoint>> Anneal(const SearchSpace& space,
                                        const cost_model::CostModel& model,
                                        const AnnealingOptions& options, FeatureCache& features,
                                        Random& random, std::vector<Point>& chains);

/// Selects up to `count` points of `pool` (best first) by score, less a penalty for similarity to
/// selected points and those in `beside`. Only the first part of the pool is considered.
std::vector<Point> ChooseDiverse(const SearchSpace& space, const std::vector<ScoredPoint>& pool,
                                 const std::vector<Point>& beside, std::size_t count);

}  // namespace tilewright::search
