// Evolutionary search in spaces too large for a complete evaluation.
//
// Each proposal breeds a new population. Its first members are the fastest measured configs, the
// defaults, neighbours of those in a few knobs, and random points; the fittest of these and their
// children survive. Between proposals only observations are kept, so a replay needs nothing beyond
// the model's training. Fitness is the model's prediction, or the estimate while there are few
// trials. A share of the points is random. Another share consists of neighbours of the best (larger
// without improvement: coordinate descent), another one of points of templates with a bad start.
// The rest are the fittest, with a diversity filter.
#include "search/strategies/evolve.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>
#include <utility>
#include <vector>

#include "cost_model/analytical_cost.h"
#include "search/strategies/model_based_strategy.h"
#include "src/templates/device.h"

namespace tilewright::search {
namespace {

constexpr std::size_t kEvolveRetrainStep = 8;  // new trials that justify another training,
constexpr std::size_t kRetrainShare = 8;       // ... or this share of its training data, if larger
constexpr std::size_t kParents = 24;           // fastest configs that breeding starts from
constexpr int kMutantsOfParent = 2;
constexpr int kBirthTries = 4;           // children drawn until one is new and legal
constexpr double kCrossover = 0.6;       // of the children; the others have one parent
constexpr double kMoreMutations = 0.35;  // probability of a further mutation after each
constexpr int kRivals = 3;
constexpr double kEstimateTrust = 12;   // trials that outweigh the estimate
constexpr std::size_t kStagnant = 16;   // trials without improvement before coordinate descent
constexpr std::size_t kDescents = 2;    // best configs whose neighbours are scored
constexpr std::int64_t kFewValues = 8;  // of a knob: all of its values are neighbours
constexpr std::size_t kPointsPerDoubt = 4;

/// Amount of computation for a proposal of `count` points.
struct Effort {
  std::size_t population = 192;
  int generations = 5;
};

/// Few candidates for each point, because a trial is as cheap as an analysis.
Effort CheapEffort(std::size_t count) { return {count, 1}; }
constexpr std::size_t kCheapParents = 3;

struct PointHash {
  std::size_t operator()(Point point) const { return HashOf(point); }
};

/// Mean and spread, to add quantities of different units.
struct Scale {
  double mean = 0, spread = 1;
  double Of(double value) const { return (value - mean) / spread; }
};

template <typename Value>
Scale ScaleOf(std::size_t count, Value value) {
  Scale scale;
  double sum = 0, squares = 0;
  for (std::size_t i = 0; i < count; ++i) {
    sum += value(i);
    squares += value(i) * value(i);
  }
  if (count == 0) return scale;
  const auto n = static_cast<double>(count);
  scale.mean = sum / n;
  scale.spread = std::sqrt(std::max(1e-9, squares / n - scale.mean * scale.mean));
  return scale;
}

/// Evaluates points in batches. The first batch fixes the scales of model and estimate.
class Judge {
 public:
  Judge(const SearchSpace& space, const std::vector<MetricWeight>& weights,
        const cost_model::CostModel& model, FeatureCache& features, double observed)
      : space_(space),
        weights_(weights),
        model_(model),
        features_(features),
        estimate_share_(model.trained() ? kEstimateTrust / (kEstimateTrust + observed) : 1) {}

  /// Returns false if the point is rejected or was added before.
  bool Add(Point point) {
    if (!seen_.insert(point).second) return false;
    const std::span<const float> row = features_.Get(point);
    if (row.empty()) return false;
    waiting_.push_back({point, 0});
    estimates_.push_back(AnalyticalCost(row));
    if (model_.trained()) rows_.insert(rows_.end(), row.begin(), row.end());
    return true;
  }
  std::size_t waiting() const { return waiting_.size(); }
  /// Returns an empty one with the same scale.
  Judge Fresh() const {
    Judge other(space_, weights_, model_, features_, 0);
    other.estimate_share_ = estimate_share_;
    other.scaled_ = scaled_;
    other.by_model_ = by_model_;
    other.by_estimate_ = by_estimate_;
    return other;
  }

  /// Returns the scores of the points added since the last call. Errors: the model's.
  Result<std::vector<ScoredPoint>> Take() {
    std::vector<float> scores(waiting_.size(), 0);
    if (model_.trained() && !waiting_.empty()) {
      TW_ASSIGN_OR_RETURN(scores, model_.Predict(rows_));
    }
    if (!scaled_) {
      by_model_ = ScaleOf(scores.size(), [&](std::size_t i) { return double{scores[i]}; });
      by_estimate_ = ScaleOf(scores.size(), [&](std::size_t i) { return estimates_[i]; });
      scaled_ = true;
    }
    for (std::size_t i = 0; i < waiting_.size(); ++i) {
      waiting_[i].score =
          static_cast<float>((1 - estimate_share_) * by_model_.Of(double{scores[i]}) +
                             estimate_share_ * by_estimate_.Of(estimates_[i]));
    }
    rows_.clear();
    estimates_.clear();
    return std::exchange(waiting_, {});
  }

 private:
  /// Higher is better; 0 without an estimate.
  double AnalyticalCost(std::span<const float> row) const {
    const auto score = [](double estimate) { return estimate > 0 ? -std::log2(estimate) : 0; };
    const Target& target = space_.task.target;
    if (weights_.empty()) return score(cost_model::AnalyticalCost(target, row));
    double sum = 0;
    for (const auto& [metric, weight] : weights_) {
      if (weight > 0) sum += weight * score(cost_model::AnalyticalCost(target, metric, row));
    }
    return sum;
  }

  const SearchSpace& space_;
  const std::vector<MetricWeight>& weights_;
  const cost_model::CostModel& model_;
  FeatureCache& features_;
  double estimate_share_;
  bool scaled_ = false;
  Scale by_model_, by_estimate_;
  std::unordered_set<Point, PointHash> seen_;
  std::vector<ScoredPoint> waiting_;
  std::vector<double> estimates_;
  std::vector<float> rows_;
};

bool Fitter(const ScoredPoint& a, const ScoredPoint& b) {
  return a.score != b.score ? a.score > b.score : a.point < b.point;
}

class Evolve final : public ModelBasedStrategy {
 public:
  explicit Evolve(const StrategyContext& context)
      : ModelBasedStrategy(context),
        epsilon_(context.epsilon),
        weights_(context.weights),
        counted_(IsSimulated(context.space->task.target)) {}

  std::string_view name() const override { return "evolve"; }

 protected:
  bool UsesModel() const override { return !counted_; }
  std::size_t RetrainStep(std::size_t known) const override {
    return std::max(kEvolveRetrainStep, known / kRetrainShare);
  }

  void Propose(std::size_t count, Random& random, std::vector<Point>& out) override {
    std::size_t guided = 0;
    for (std::size_t i = out.size(); i < count; ++i) guided += random.Uniform() >= epsilon_ ? 1 : 0;
    const auto observed = static_cast<double>(history().observed_order().size());
    Judge judge(space(), weights_, model(), features(), observed);
    const Result<std::vector<ScoredPoint>> pool = Breed(count, judge, random);
    if (pool.ok() && !pool->empty()) {
      const std::size_t before = out.size();
      for (std::size_t i = 0; i < guided && !counted_; i += kPointsPerDoubt) {
        ExploreNeglectedTemplate(*pool, random, out);
      }
      // A front has members that no direction's estimate ranks high; neighbours of others find
      // them.
      if (!counted_ || !weights_.empty())
        TakeNeighbours(std::min(count, before + guided), judge, out);
      guided -= std::min(guided, out.size() - before);
      for (Point point : Chosen(*pool, guided)) TakeLegal(point, out);
    }
    TakeRandom(count, random, out);
  }

 private:
  /// Returns the fittest. With a model, the choice is diverse, because a model can misjudge all
  /// points of a kind.
  std::vector<Point> Chosen(const std::vector<ScoredPoint>& pool, std::size_t count) const {
    if (!counted_) return ChooseDiverse(space(), pool, InFlight(), count);
    std::vector<Point> points;
    for (std::size_t i = 0; i < std::min(count, pool.size()); ++i) points.push_back(pool[i].point);
    return points;
  }

  /// Returns all evaluated points that were not proposed before, fittest first.
  Result<std::vector<ScoredPoint>> Breed(std::size_t count, Judge& judge, Random& random) {
    const Effort effort = counted_ ? CheapEffort(count) : Effort();
    Found(effort.population, judge, random);
    TW_ASSIGN_OR_RETURN(std::vector<ScoredPoint> population, judge.Take());
    std::vector<ScoredPoint> pool = population;
    std::ranges::sort(population, Fitter);
    for (int g = 0; g < effort.generations && !population.empty(); ++g) {
      for (std::size_t tries = kBirthTries * effort.population;
           tries > 0 && judge.waiting() < effort.population; --tries) {
        judge.Add(Child(population, random));
      }
      TW_ASSIGN_OR_RETURN(const std::vector<ScoredPoint> children, judge.Take());
      pool.insert(pool.end(), children.begin(), children.end());
      population.insert(population.end(), children.begin(), children.end());
      std::ranges::sort(population, Fitter);
      population.resize(std::min(population.size(), effort.population));
    }
    std::erase_if(pool, [this](const ScoredPoint& one) { return history().Contains(one.point); });
    std::ranges::sort(pool, Fitter);
    return pool;
  }

  /// Adds the first generation.
  void Found(std::size_t size, Judge& judge, Random& random) {
    std::vector<Point> parents;
    for (std::uint32_t position : history().Fastest(kParents)) {
      parents.push_back(history().entries()[position].point);
    }
    if (parents.empty()) parents = DefaultPoints(space());
    // Re-evaluates known points if an analysis is cheaper than a trial: their scores fix the scale
    // of the others.
    if (counted_ && parents.size() > kCheapParents) parents.resize(kCheapParents);
    for (Point parent : parents) {
      if (judge.waiting() >= size) break;
      judge.Add(parent);
      for (int i = 0; i < kMutantsOfParent; ++i) judge.Add(Mutant(parent, random));
    }
    const auto spaces = static_cast<std::uint64_t>(space().spaces.size());
    for (std::size_t tries = kBirthTries * size; tries > 0 && judge.waiting() < size; --tries) {
      // Half of them from all templates equally, whatever the size of their spaces.
      Point point = SamplePoint(space(), random);
      if (random.Below(2) == 0) {
        point.space = static_cast<int>(random.Below(spaces));
        const ConfigSpace& one = space().spaces[static_cast<std::size_t>(point.space)];
        point.index =
            static_cast<std::int64_t>(random.Below(static_cast<std::uint64_t>(one.size())));
      }
      judge.Add(point);
    }
  }

  Point Mutant(Point point, Random& random) const {
    do {
      point = MutatePoint(space(), point, random);
    } while (random.Uniform() < kMoreMutations);
    return point;
  }

  /// population: fittest first.
  Point Child(const std::vector<ScoredPoint>& population, Random& random) const {
    const auto parent = [&] {
      std::uint64_t best = population.size();
      for (int i = 0; i < kRivals; ++i) best = std::min(best, random.Below(population.size()));
      return population[best].point;
    };
    if (random.Uniform() >= kCrossover) return Mutant(parent(), random);
    const Point mother = parent();
    const Point child = CrossPoints(space(), mother, parent(), random);
    return child == mother ? Mutant(child, random) : child;
  }

  /// Returns the number of trials since the last improvement.
  std::size_t TrialsSinceBest() const {
    std::size_t since = 0;
    double best = 0;
    for (std::uint32_t position : history().observed_order()) {
      const ProposalHistory::Entry& entry = history().entries()[position];
      ++since;
      if (!entry.ok() || (best > 0 && entry.value >= best)) continue;
      best = entry.value;
      since = 0;
    }
    return since;
  }

  /// Adds the fittest neighbours of the best points in one knob: a quarter of the points missing
  /// until `out` holds `upto`, half of them without improvement.
  void TakeNeighbours(std::size_t upto, Judge& judge, std::vector<Point>& out) {
    const std::size_t missing = upto - std::min(upto, out.size());
    const std::size_t share = TrialsSinceBest() >= kStagnant ? missing / 2 : missing / 4;
    if (share == 0) return;
    Judge own = judge.Fresh();
    for (std::uint32_t position : history().Fastest(kDescents)) {
      AddNeighbours(history().entries()[position].point, own);
    }
    Result<std::vector<ScoredPoint>> neighbours = own.Take();
    if (!neighbours.ok()) return;
    std::ranges::sort(*neighbours, Fitter);
    const std::size_t end = out.size() + share;
    for (const ScoredPoint& one : *neighbours) {
      if (out.size() >= end) return;
      Take(one.point, out);
    }
  }

  void AddNeighbours(Point point, Judge& judge) const {
    std::int64_t place = 1;
    for (const Knob& knob : space().spaces[static_cast<std::size_t>(point.space)].knobs()) {
      const std::int64_t digit = point.index / place % knob.size();
      const bool few = knob.size() <= kFewValues;
      const std::int64_t first = few ? 0 : std::max<std::int64_t>(0, digit - 1);
      const std::int64_t last = few ? knob.size() - 1 : std::min(knob.size() - 1, digit + 1);
      for (std::int64_t other = first; other <= last; ++other) {
        if (other == digit) continue;
        const Point neighbour{point.space, point.index + (other - digit) * place};
        if (!history().Contains(neighbour)) judge.Add(neighbour);
      }
      place *= knob.size();
    }
  }

  double epsilon_;
  std::vector<MetricWeight> weights_;
  bool counted_;
};

}  // namespace

std::unique_ptr<Strategy> MakeEvolve(const StrategyContext& context) {
  return std::make_unique<Evolve>(context);
}

}  // namespace tilewright::search
