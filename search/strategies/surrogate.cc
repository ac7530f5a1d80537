// Sequential model-based optimization. Each proposal is the legal point with the largest expected
// improvement of a Gaussian process over log times. What makes it work on spaces of GPU kernels:
// - times beyond the median are compressed, so that the model spends itself on fast points;
// - failed points are no times: the probability that a point fails is estimated from the failures
//   near it;
// - points of a batch and points in progress count as measured with their predicted times;
// - records of other devices give the prior mean, and each device's deviation from it is a linear
//   feature, whose weight the trials decide: a device that proves to be alike gets more of it, and
//   where the records mislead the process overrules them.

#include "search/strategies/surrogate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "search/point_set.h"
#include "search/strategies/proposer.h"
#include "search/surrogate/gaussian_process.h"
#include "search/surrogate/point_features.h"
#include "search/surrogate/record_prior.h"
#include "src/base/json.h"
#include "src/base/strings.h"

namespace tilewright::search {
namespace {

// Points of the initial design: as many as knobs, within these bounds. Each is the farthest of so
// many random ones.
constexpr std::size_t kMinDesign = 8, kMaxDesign = 16;
constexpr int kDesignDraws = 30;
constexpr std::size_t kFewTimes = 3;  // the model needs more
// Spaces up to these sizes are scored completely: with conditions that are cheap to check, and with
// a template's.
constexpr std::int64_t kMaxListed = 12'288, kMaxTemplateListed = 2'048;
constexpr std::size_t kPool = 1024;     // points drawn of larger spaces
constexpr std::size_t kSlowPool = 32;   // where a draw takes many tries
constexpr std::size_t kIncumbents = 3;  // whose neighbours are scored, too
constexpr int kAscents = 4;             // steps uphill from the best of them
// Trials that the model is built from, and the new ones after which it is built again.
constexpr std::size_t kMaxRows = 320, kMaxNewRows = 64;
constexpr std::size_t kMaxFitRows = 224, kFewerListed = 2'048;
constexpr double kRefit = 1.15;  // growth of the trials between fits
constexpr int kFirstFitSteps = 60, kFitSteps = 25;
constexpr std::size_t kMaxPending = 64;
// Without an improvement in so many trials, every sixteenth point is random.
constexpr std::size_t kStagnantTrials = 64, kRandomShare = 16;
// Weight of a neighbour's mean slow-down for the first point that records propose: a lone peak may
// belong to one device.
constexpr double kNeighbourWeight = 0.3;
constexpr std::size_t kMaxFirst = 256;
// Length scales of failures are shorter than those of times.
constexpr float kFailureSharpness = 4;

double NormalDensity(double z) { return std::exp(-0.5 * z * z) * 0.3989422804014327; }
double NormalShare(double z) { return 0.5 * std::erfc(-z * 0.7071067811865476); }

double ExpectedImprovement(double best, double mean, double deviation) {
  const double z = (best - mean) / deviation;
  // Far below, only the order matters.
  if (z < -6) return 1e-12 * std::exp(z);
  return deviation * (z * NormalShare(z) + NormalDensity(z));
}

/// Points with their features and predictions.
struct ScoredBlock {
  std::vector<Point> points;
  GaussianProcess::Candidates candidates;
};

struct Favourite {
  Point point;
  double score = -1;
};

class Surrogate final : public Proposer {
 public:
  explicit Surrogate(const StrategyContext& context)
      : Proposer(context),
        seed_(context.seed),
        features_(*context.space),
        prior_(context.records),
        process_(features_.is_category(), prior_.devices(),
                 // Distances grow with the number of features; 1 suits eight of them.
                 0.5 * std::log(static_cast<double>(std::max<std::size_t>(1, features_.count())) /
                                8.0)) {}
  std::string_view name() const override { return "surrogate"; }

 protected:
  void Propose(std::size_t count, Random& random, std::vector<Point>& out) override {
    while (out.size() < count) {
      const std::size_t before = out.size();
      ProposeOne(random, out);
      if (out.size() == before) TakeRandom(before + 1, random, out);
      if (out.size() == before) return;
    }
  }

  std::string ExtraState() const override {
    if (fitted_ == 0) return {};
    std::string state =
        ",\"fitted\":" + std::to_string(fitted_) + ",\"base\":" + std::to_string(base_end_) +
        ",\"noise\":" + ShortestDouble(process_.hyperparameters().log_noise) + ",\"lengths\":[";
    for (double length : process_.hyperparameters().log_lengths) {
      if (state.back() != '[') state += ',';
      state += ShortestDouble(length);
    }
    return state + "]";
  }

  Status LoadState(std::string_view strategy_state) override {
    TW_ASSIGN_OR_RETURN(const Json json, ParseJson(strategy_state));
    if (!json.contains("fitted")) return {};
    const auto is_count = [&](const char* name) {
      return json.contains(name) && json[name].is_number_unsigned();
    };
    const bool complete = is_count("fitted") && is_count("base") && json.contains("noise") &&
                          json["noise"].is_number() && json.contains("lengths") &&
                          json["lengths"].is_array() && json["lengths"].size() == features_.count();
    if (!complete) return Corrupt("search log: strategy state without the surrogate's model");
    GaussianHyperparameters hyper;
    hyper.log_noise = json["noise"].get<double>();
    for (const Json& length : json["lengths"]) {
      if (!length.is_number()) return Corrupt("search log: a length scale is not a number");
      hyper.log_lengths.push_back(length.get<double>());
    }
    fitted_ = json["fitted"].get<std::size_t>();
    base_end_ = json["base"].get<std::size_t>();
    SetModel(std::move(hyper));
    return {};
  }

 private:
  // ---- the trials
  struct Trials {
    std::vector<Point> ok;      // in order of their observation
    std::vector<double> times;  // natural logarithms
    std::vector<Point> failed, pending;
    double best = std::numeric_limits<double>::infinity();
    std::size_t since_best = 0;  // ok trials
  };

  Trials Gather(const std::vector<Point>& out) const {
    Trials trials;
    for (std::uint32_t position : history().observed_order()) {
      const ProposalHistory::Entry& entry = history().entries()[position];
      if (!entry.ok()) {
        trials.failed.push_back(entry.point);
        continue;
      }
      trials.ok.push_back(entry.point);
      trials.times.push_back(std::log(entry.value));
      ++trials.since_best;
      if (trials.times.back() < trials.best) {
        trials.best = trials.times.back();
        trials.since_best = 0;
      }
    }
    // Proposed and not observed: those in progress, and those of this batch.
    std::size_t checked = 0;
    for (auto entry = history().entries().rbegin();
         entry != history().entries().rend() && checked < kMaxPending + out.size();
         ++entry, ++checked) {
      if (!entry->observed) trials.pending.push_back(entry->point);
    }
    std::ranges::reverse(trials.pending);
    return trials;
  }

  /// Returns targets of the times: standardized, or slow-downs over the prior's if there is one.
  std::vector<double> TargetsOf(const Trials& trials, double& best) const {
    std::vector<double> targets;
    if (!prior_.empty()) {
      for (std::size_t i = 0; i < trials.ok.size(); ++i) {
        const double slowdown = std::min(trials.times[i] - trials.best, RecordPrior::kMaxSlowdown);
        targets.push_back((slowdown - prior_.Mean(trials.ok[i])) / prior_.scale());
      }
      best = 0;  // plus the prior's mean, which is the same for all candidates: see Score
      return targets;
    }
    std::vector<double> sorted = trials.times;
    std::ranges::nth_element(sorted,
                             sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2));
    const double middle = std::max(sorted[sorted.size() / 2] - trials.best, 1e-3);
    double sum = 0, squares = 0;
    for (double time : trials.times) {
      const double z = (time - trials.best) / middle;
      targets.push_back(z < 1 ? z : 1 + std::log(z));
      sum += targets.back();
    }
    const double mean = sum / static_cast<double>(targets.size());
    for (double target : targets) squares += (target - mean) * (target - mean);
    const double deviation = std::sqrt(squares / static_cast<double>(targets.size())) + 1e-9;
    for (double& target : targets) target = (target - mean) / deviation;
    best = -mean / deviation;
    return targets;
  }

  /// Trials that the model is built from, by position: all, or of many those that were fast and an
  /// even choice of the others among the first base_end_, and all later ones.
  std::vector<std::size_t> ChosenTrials(const Trials& trials) {
    std::vector<std::size_t> chosen(trials.ok.size());
    std::iota(chosen.begin(), chosen.end(), 0);
    if (chosen.size() <= kMaxRows) return chosen;
    if (base_end_ == 0 || chosen.size() >= base_end_ + kMaxNewRows) base_end_ = chosen.size();
    base_end_ = std::min(base_end_, chosen.size());  // a log may state any number
    std::vector<std::size_t> base(chosen.begin(),
                                  chosen.begin() + static_cast<std::ptrdiff_t>(base_end_));
    KeepFewer(trials, kMaxRows, base);
    base.insert(base.end(), chosen.begin() + static_cast<std::ptrdiff_t>(base_end_), chosen.end());
    return base;
  }

  static void KeepFewer(const Trials& trials, std::size_t count, std::vector<std::size_t>& chosen) {
    if (chosen.size() <= count) return;
    std::ranges::stable_sort(chosen, {}, [&](std::size_t i) { return trials.times[i]; });
    std::vector<std::size_t> kept(chosen.begin(),
                                  chosen.begin() + static_cast<std::ptrdiff_t>(count / 2));
    const std::size_t rest = chosen.size() - kept.size(), wanted = count - kept.size();
    for (std::size_t i = 0; i < wanted; ++i) {
      kept.push_back(chosen[count / 2 + i * rest / wanted]);
    }
    std::ranges::sort(kept);
    chosen = std::move(kept);
  }

  // ---- the model
  std::vector<float> RowsOf(const std::vector<Point>& points) const {
    std::vector<float> rows;
    rows.reserve(points.size() * process_.width());
    for (Point point : points) {
      features_.AppendTo(rows, point);
      prior_.AppendDeviations(rows, point);
    }
    return rows;
  }

  void SetModel(GaussianHyperparameters hyper) {
    process_.SetHyperparameters(std::move(hyper));
    rows_.clear();
    for (ScoredBlock* block : {&pool_, &near_}) block->candidates.Truncate(0);
  }

  /// Fits and extends the model. Returns the target of the best trial.
  double UpdateModel(const Trials& trials, Random& random) {
    double best = 0;
    const std::vector<double> all = TargetsOf(trials, best);
    const std::vector<std::size_t> chosen = ChosenTrials(trials);
    const auto observed = static_cast<double>(trials.ok.size());
    // With a prior, the first trials decide about the records' weights only.
    const bool due = fitted_ == 0 ? prior_.empty() || trials.ok.size() >= kMinDesign
                                  : observed >= kRefit * static_cast<double>(fitted_);
    if (due) {
      std::vector<std::size_t> few = chosen;
      KeepFewer(trials, kMaxFitRows, few);
      std::vector<Point> points;
      std::vector<double> targets;
      for (std::size_t i : few) {
        points.push_back(trials.ok[i]);
        targets.push_back(all[i]);
      }
      process_.Fit(RowsOf(points), targets, fitted_ == 0 ? kFirstFitSteps : kFitSteps, random);
      fitted_ = trials.ok.size();
      SetModel(process_.hyperparameters());
      pool_.points.clear();
    }
    std::vector<Point> rows;
    std::vector<double> targets;
    for (std::size_t i : chosen) {
      rows.push_back(trials.ok[i]);
      targets.push_back(all[i]);
    }
    rows.insert(rows.end(), trials.pending.begin(), trials.pending.end());
    const auto [known, wanted] = std::ranges::mismatch(rows_, rows);
    const auto common = static_cast<std::size_t>(known - rows_.begin());
    process_.Truncate(common);
    for (ScoredBlock* block : {&pool_, &near_}) block->candidates.Truncate(common);
    const std::vector<float> added = RowsOf({wanted, rows.end()});
    for (std::size_t at = 0; at < added.size(); at += process_.width()) {
      process_.Append(std::span(added).subspan(at, process_.width()));
    }
    rows_ = std::move(rows);
    process_.SetTargets(targets);
    return best;
  }

  // ---- the candidates
  bool IsLegal(Point point) {
    if (space().legal != nullptr) return space().legal->Contains(point);
    return !IsKnownRejected(point) && analyzer().Check(point).ok();
  }

  /// Lists all legal points if they are few.
  void ListPoints() {
    if (listed_known_) return;
    listed_known_ = true;
    if (space().legal != nullptr) {
      listed_ = space().legal->List(kMaxListed);
      return;
    }
    if (space().size() > kMaxTemplateListed) return;
    for (std::size_t s = 0; s < space().spaces.size(); ++s) {
      for (std::int64_t i = 0; i < space().spaces[s].size(); ++i) {
        const Point point{static_cast<int>(s), i};
        if (analyzer().Check(point).ok()) {
          listed_.push_back(point);
        } else {
          MarkRejected(point);
        }
      }
    }
  }

  void SetPoints(ScoredBlock& block, std::vector<Point> points) {
    block.candidates = {};
    block.candidates.features = RowsOf(points);
    block.points = std::move(points);
  }

  /// Fills the pool: all points that are left, or random ones. It stays until the next fit.
  void FillPool() {
    if (!pool_.points.empty()) return;
    ListPoints();
    // Its own random numbers: a resumed search draws the same pool.
    Random random(Mix64(seed_) ^ Mix64(fitted_ + 0x9e37));
    std::vector<Point> points;
    const bool fewer = fitted_ > kMaxRows && listed_.size() > kFewerListed;
    for (Point point : listed_) {
      if (!fewer || random.Below(listed_.size()) < kFewerListed) points.push_back(point);
    }
    const bool slow = space().legal != nullptr && !space().legal->counted();
    const std::size_t wanted = slow ? kSlowPool : kPool;
    for (std::size_t i = 0; listed_.empty() && points.size() < wanted && i < 8 * wanted; ++i) {
      const Point point = SamplePoint(space(), random);
      if (IsLegal(point)) points.push_back(point);
    }
    SetPoints(pool_, std::move(points));
  }

  std::vector<Point> NeighboursOf(Point point, Random& random) {
    if (space().legal != nullptr) return space().legal->Neighbours(point);
    constexpr int kDraws = 48;
    std::vector<Point> found;
    for (int i = 0; i < kDraws; ++i) {
      const Point other = MutatePoint(space(), point, random);
      if (std::ranges::count(found, other) == 0 && IsLegal(other)) found.push_back(other);
    }
    return found;
  }

  /// Fills the block of neighbours of the fastest points, unless the pool has all points.
  void FillNear(bool complete, Random& random) {
    std::vector<Point> incumbents;
    for (std::uint32_t position : history().Fastest(kIncumbents)) {
      incumbents.push_back(history().entries()[position].point);
    }
    if (complete) return;
    if (space().legal != nullptr && incumbents == incumbents_) return;
    incumbents_ = incumbents;
    std::vector<Point> points;
    for (Point incumbent : incumbents) {
      for (Point point : NeighboursOf(incumbent, random)) points.push_back(point);
    }
    std::ranges::sort(points);
    points.erase(std::unique(points.begin(), points.end()), points.end());
    SetPoints(near_, std::move(points));
  }

  double ChanceOfSuccess(Point point, const Trials& trials) const {
    if (trials.failed.empty()) return 1;
    const std::vector<float> row = RowsOf({point});
    float failures = 0, all = 1;  // one success, wherever
    const auto likeness = [&](const std::vector<float>& rows, std::size_t i) {
      return std::pow(process_.Likeness(&rows[i * process_.width()], row.data()),
                      kFailureSharpness);
    };
    for (std::size_t i = 0; i < trials.failed.size(); ++i) failures += likeness(failed_rows_, i);
    for (std::size_t i = 0; i < trials.ok.size(); ++i) all += likeness(ok_rows_, i);
    return 1 - static_cast<double>(failures / (all + failures));
  }

  /// Replaces the favourite by the best new point of a block.
  void Score(ScoredBlock& block, const Trials& trials, double best, Favourite& favourite) {
    process_.Update(block.candidates);
    const std::vector<float> means = process_.Means(block.candidates);
    for (std::size_t i = 0; i < block.points.size(); ++i) {
      const Point point = block.points[i];
      double mean = means[i];
      if (!prior_.empty()) mean += prior_.Mean(point) / prior_.scale();
      double score = ExpectedImprovement(best, mean, process_.Deviation(block.candidates, i));
      if (score <= favourite.score || history().Contains(point)) continue;
      score *= ChanceOfSuccess(point, trials);
      if (score > favourite.score) favourite = {point, score};
    }
  }

  void ProposeOne(Random& random, std::vector<Point>& out) {
    const std::size_t proposed = history().entries().size();
    const Trials trials = Gather(out);
    if (!prior_.empty() && trials.ok.empty()) return TakeOfRecords(out);
    const std::size_t design = std::clamp(features_.knobs() + 1, kMinDesign, kMaxDesign);
    const bool designs = prior_.empty() && proposed < design;
    if (designs || (prior_.empty() && trials.ok.size() < kFewTimes)) return TakeSpread(random, out);
    if (trials.since_best >= kStagnantTrials && proposed % kRandomShare == 0)
      return;  // a random one
    const double best = UpdateModel(trials, random);
    FillPool();
    const bool complete = !listed_.empty() && pool_.points.size() == listed_.size();
    FillNear(complete, random);
    if (!trials.failed.empty()) {
      failed_rows_ = RowsOf(trials.failed);
      ok_rows_ = RowsOf(trials.ok);
    }
    Favourite favourite;
    Score(pool_, trials, best, favourite);
    if (!complete) {
      Score(near_, trials, best, favourite);
      Climb(trials, best, random, favourite);
    }
    if (favourite.score >= 0) Take(favourite.point, out);
  }

  /// Goes uphill from the favourite along its neighbours.
  void Climb(const Trials& trials, double best, Random& random, Favourite& favourite) {
    for (int step = 0; step < kAscents && favourite.score >= 0; ++step) {
      const double before = favourite.score;
      ScoredBlock around;
      SetPoints(around, NeighboursOf(favourite.point, random));
      Score(around, trials, best, favourite);
      if (favourite.score <= before) return;
    }
  }

  /// Takes the random point that is farthest from all proposed ones.
  void TakeSpread(Random& random, std::vector<Point>& out) {
    std::vector<Point> known;
    for (const auto& entry : history().entries()) known.push_back(entry.point);
    const std::vector<float> rows = RowsOf(known);
    const std::size_t width = process_.width();
    std::optional<Point> farthest;
    float most = -1;
    for (int i = 0; i < kDesignDraws; ++i) {
      const Point point = SamplePoint(space(), random);
      if (history().Contains(point) || !IsLegal(point)) continue;
      const std::vector<float> row = RowsOf({point});
      float least = std::numeric_limits<float>::max();
      for (std::size_t k = 0; k < known.size(); ++k) {
        least = std::min(least, DistanceOf(&rows[k * width], row.data()));
      }
      if (least > most) {
        most = least;
        farthest = point;
      }
    }
    if (farthest) Take(*farthest, out);
  }

  float DistanceOf(const float* a, const float* b) const {
    float sum = 0;
    for (std::size_t i = 0; i < features_.count(); ++i) {
      sum += features_.is_category()[i] ? (a[i] == b[i] ? 0.0F : 1.0F) : std::fabs(a[i] - b[i]);
    }
    return sum;
  }

  /// Takes the point with the best records, its neighbours' counted with a smaller weight.
  void TakeOfRecords(std::vector<Point>& out) {
    std::optional<Point> best;
    double least = std::numeric_limits<double>::max();
    std::size_t tried = 0;
    for (Point point : prior_.by_mean()) {
      if (prior_.Mean(point) >= least || tried >= kMaxFirst) break;
      if (history().Contains(point) || !IsLegal(point)) continue;
      ++tried;
      const double mean = prior_.Mean(point) + kNeighbourWeight * MeanOfNext(point);
      if (mean >= least) continue;
      least = mean;
      best = point;
    }
    if (best) Take(*best, out);
  }

  /// Returns the mean slow-down of the legal points that differ by one step in one knob.
  double MeanOfNext(Point point) {
    const ConfigSpace& one = space().spaces[static_cast<std::size_t>(point.space)];
    double sum = 0, count = 0;
    std::int64_t place = 1, left = point.index;
    for (const Knob& knob : one.knobs()) {
      const std::int64_t digit = left % knob.size();
      for (const std::int64_t change : {std::int64_t{-1}, std::int64_t{1}}) {
        const Point next{point.space, point.index + change * place};
        if (digit + change < 0 || digit + change >= knob.size() || !IsLegal(next)) continue;
        sum += prior_.Mean(next);
        count += 1;
      }
      left /= knob.size();
      place *= knob.size();
    }
    return count == 0 ? RecordPrior::kMaxSlowdown : sum / count;
  }

  const std::uint64_t seed_;
  PointFeatures features_;
  RecordPrior prior_;
  GaussianProcess process_;
  std::size_t fitted_ = 0;    // ok trials at the last fit
  std::size_t base_end_ = 0;  // see ChosenTrials
  std::vector<Point> rows_;   // of the process
  ScoredBlock pool_, near_;
  std::vector<Point> incumbents_;  // whose neighbours near_ has
  std::vector<Point> listed_;
  bool listed_known_ = false;
  std::vector<float> failed_rows_, ok_rows_;
};

}  // namespace

std::unique_ptr<Strategy> MakeSurrogate(const StrategyContext& context) {
  return std::make_unique<Surrogate>(context);
}

}  // namespace tilewright::search
