// Proposes the points that a cost model ranks best: chains of simulated annealing over the space,
// templates that compete for points, and a share of random points. Trains on the observations.

#include "search/strategies/model_guided.h"

#include <algorithm>
#include <utility>

#include "search/strategies/annealing.h"
#include "search/strategies/model_based_strategy.h"
#include "src/base/json.h"

namespace tilewright::search {
namespace {

constexpr std::size_t kRetrainStep = 8;  // new trials that justify another training
constexpr std::size_t kRestarts = 12;    // chains that start from the fastest configs each time
constexpr int kFreshPerSpace = 3;        // chains that start at random in each template's space
constexpr std::size_t kPointsPerTemplatePick = 4;

class ModelGuided final : public ModelBasedStrategy {
 public:
  explicit ModelGuided(const StrategyContext& context)
      : ModelBasedStrategy(context), epsilon_(context.epsilon) {}

  std::string_view name() const override { return "model"; }

 protected:
  std::size_t RetrainStep(std::size_t /*known*/) const override { return kRetrainStep; }

  void Propose(std::size_t count, Random& random, std::vector<Point>& out) override {
    if (!model().trained()) {
      TakeRandom(count, random, out);
      return;
    }
    std::vector<Point> starts;
    for (std::uint32_t position : history().Fastest(kRestarts)) {
      starts.push_back(history().entries()[position].point);
    }
    const AnnealingOptions options;
    for (std::size_t s = 0; s < space().spaces.size(); ++s) {
      const auto size = static_cast<std::uint64_t>(space().spaces[s].size());
      for (int i = 0; i < kFreshPerSpace; ++i) {
        starts.push_back({static_cast<int>(s), static_cast<std::int64_t>(random.Below(size))});
      }
    }
    for (Point point : chains_) {
      if (starts.size() < options.chains) starts.push_back(point);
    }
    chains_ = std::move(starts);
    Result<std::vector<ScoredPoint>> visited =
        Anneal(space(), model(), options, features(), random, chains_);
    if (!visited.ok()) {
      TakeRandom(count, random, out);
      return;
    }
    std::erase_if(*visited,
                  [this](const ScoredPoint& scored) { return history().Contains(scored.point); });
    std::size_t guided = 0;
    for (std::size_t i = out.size(); i < count; ++i) guided += random.Uniform() >= epsilon_ ? 1 : 0;
    const std::size_t before = out.size();
    for (std::size_t i = 0; i < guided; i += kPointsPerTemplatePick) {
      ExploreNeglectedTemplate(*visited, random, out);
    }
    guided -= std::min(guided, out.size() - before);
    for (Point point : ChooseDiverse(space(), *visited, InFlight(), guided)) Take(point, out);
    TakeRandom(count, random, out);
  }

  std::string ExtraState() const override {
    std::string text = ModelBasedStrategy::ExtraState() + ",\"chains\":[";
    for (std::size_t i = 0; i < chains_.size(); ++i) {
      text += (i > 0 ? ",[" : "[") + std::to_string(chains_[i].space) + "," +
              std::to_string(chains_[i].index) + "]";
    }
    return text + "]";
  }

  Status LoadState(std::string_view strategy_state) override {
    TW_RETURN_IF_ERROR(ModelBasedStrategy::LoadState(strategy_state));
    const Result<Json> json = ParseJson(strategy_state);
    const auto chains = json->find("chains");
    if (chains == json->end() || !chains->is_array()) {
      return Corrupt("search log: model: no \"chains\" in the strategy state");
    }
    chains_.clear();
    for (const Json& chain : *chains) {
      const bool two = chain.is_array() && chain.size() == 2 && chain[0].is_number_unsigned() &&
                       chain[1].is_number_unsigned();
      if (!two) return Corrupt("search log: model: bad \"chains\" in the strategy state");
      const Point point{chain[0].get<int>(), chain[1].get<std::int64_t>()};
      if (point.space >= static_cast<int>(space().spaces.size()) ||
          point.index >= space().spaces[static_cast<std::size_t>(point.space)].size()) {
        return Corrupt("search log: model: a chain is outside the space");
      }
      chains_.push_back(point);
    }
    return {};
  }

 private:
  double epsilon_;
  std::vector<Point> chains_;
};

}  // namespace

std::unique_ptr<Strategy> MakeModelGuided(const StrategyContext& context) {
  return std::make_unique<ModelGuided>(context);
}

}  // namespace tilewright::search
