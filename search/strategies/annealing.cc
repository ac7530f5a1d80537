// Simulated annealing, all chains in step.
//
// A step proposes one neighbour per chain, computes the features of uncached ones, predicts all of
// them in one call (a prediction of 48 rows costs little more than one of 1) and accepts each by
// the Metropolis rule. The temperature is in units of the scores' spread and falls to zero.
#include "search/strategies/annealing.h"

#include <algorithm>
#include <cmath>

#include "cost_model/cost_model.h"

namespace tilewright::search {
namespace {

constexpr int kLegalTries = 8;  // neighbours drawn until one is legal
constexpr double kStartTemperature = 0.6;
constexpr std::size_t kPoolPerPoint = 10;
constexpr double kLikenessPenalty = 0.25;

/// Points with their features, scored together.
class Batch {
 public:
  explicit Batch(FeatureCache& features) : features_(features) {}
  bool Add(Point point) {
    const std::span<const float> row = features_.Get(point);
    if (row.empty()) return false;
    points_.push_back(point);
    rows_.insert(rows_.end(), row.begin(), row.end());
    return true;
  }
  const std::vector<Point>& points() const { return points_; }
  /// Returns the scores in order of the points, and adds the points to `visited`.
  Result<std::vector<float>> Score(const cost_model::CostModel& model,
                                   std::vector<ScoredPoint>& visited) const {
    TW_ASSIGN_OR_RETURN(std::vector<float> scores, model.Predict(rows_));
    for (std::size_t i = 0; i < points_.size(); ++i) {
      visited.push_back({points_[i], scores[i]});
    }
    return scores;
  }

 private:
  FeatureCache& features_;
  std::vector<Point> points_;
  std::vector<float> rows_;
};

double Spread(const std::vector<float>& scores) {
  double sum = 0, squares = 0;
  for (float s : scores) {
    sum += s;
    squares += static_cast<double>(s) * s;
  }
  const auto n = static_cast<double>(std::max<std::size_t>(1, scores.size()));
  return std::sqrt(std::max(1e-12, squares / n - sum / n * (sum / n)));
}

void SortAndDrop(std::vector<ScoredPoint>& visited) {
  std::sort(visited.begin(), visited.end(), [](const ScoredPoint& a, const ScoredPoint& b) {
    return a.score != b.score ? a.score > b.score : a.point < b.point;
  });
  visited.erase(
      std::unique(visited.begin(), visited.end(),
                  [](const ScoredPoint& a, const ScoredPoint& b) { return a.point == b.point; }),
      visited.end());
}

Status ScoreAll(const SearchSpace& space, const cost_model::CostModel& model,
                FeatureCache& features, std::vector<ScoredPoint>& visited) {
  Batch batch(features);
  for (std::size_t s = 0; s < space.spaces.size(); ++s) {
    for (std::int64_t i = 0; i < space.spaces[s].size(); ++i) batch.Add({static_cast<int>(s), i});
  }
  return ToStatus(batch.Score(model, visited));
}

}  // namespace

Result<std::vector<ScoredPoint>> Anneal(const SearchSpace& space,
                                        const cost_model::CostModel& model,
                                        const AnnealingOptions& options, FeatureCache& features,
                                        Random& random, std::vector<Point>& chains) {
  std::vector<ScoredPoint> visited;
  if (space.size() <= options.exhaustive_size) {
    chains.clear();
    TW_RETURN_IF_ERROR(ScoreAll(space, model, features, visited));
    SortAndDrop(visited);
    return visited;
  }
  Batch start(features);
  for (Point point : chains) start.Add(point);
  for (std::size_t tries = options.chains * kLegalTries;
       start.points().size() < options.chains && tries > 0; --tries) {
    start.Add(SamplePoint(space, random));
  }
  chains = start.points();
  if (chains.empty()) return visited;
  TW_ASSIGN_OR_RETURN(std::vector<float> scores, start.Score(model, visited));
  const double spread = Spread(scores);

  for (int step = 0; step < options.steps; ++step) {
    const double temperature = spread * kStartTemperature * (options.steps - step) / options.steps;
    Batch moves(features);
    std::vector<std::size_t> movers;
    for (std::size_t c = 0; c < chains.size(); ++c) {
      for (int i = 0; i < kLegalTries; ++i) {
        if (moves.Add(MutatePoint(space, chains[c], random))) {
          movers.push_back(c);
          break;
        }
      }
    }
    TW_ASSIGN_OR_RETURN(const std::vector<float> proposed, moves.Score(model, visited));
    for (std::size_t m = 0; m < movers.size(); ++m) {
      const std::size_t c = movers[m];
      const double gain = proposed[m] - scores[c];
      if (gain >= 0 || random.Uniform() < std::exp(gain / std::max(1e-9, temperature))) {
        chains[c] = moves.points()[m];
        scores[c] = proposed[m];
      }
    }
  }
  SortAndDrop(visited);
  return visited;
}

std::vector<Point> ChooseDiverse(const SearchSpace& space, const std::vector<ScoredPoint>& pool,
                                 const std::vector<Point>& beside, std::size_t count) {
  const std::size_t considered = std::min(pool.size(), count * kPoolPerPoint);
  std::vector<Point> chosen;
  if (considered == 0) return chosen;
  const double top = pool[0].score;
  const double range = std::max(1e-9, top - static_cast<double>(pool[considered - 1].score));
  std::vector<double> likeness(considered, 0);
  std::vector<char> taken(considered, 0);
  const auto add = [&](Point point) {
    for (std::size_t i = 0; i < considered; ++i) {
      likeness[i] = std::max(likeness[i], Similarity(space, pool[i].point, point));
    }
  };
  for (Point point : beside) add(point);
  while (chosen.size() < std::min(count, considered)) {
    std::size_t best = considered;
    double best_merit = 0;
    for (std::size_t i = 0; i < considered; ++i) {
      if (taken[i] != 0) continue;
      const double merit = (pool[i].score - top) / range - kLikenessPenalty * likeness[i];
      if (best == considered || merit > best_merit) {
        best = i;
        best_merit = merit;
      }
    }
    taken[best] = 1;
    chosen.push_back(pool[best].point);
    add(pool[best].point);
  }
  return chosen;
}

}  // namespace tilewright::search
