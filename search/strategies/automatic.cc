#include "search/strategies/automatic.h"

#include <utility>

#include "search/strategies/evolve.h"
#include "search/strategies/model_guided.h"
#include "search/strategies/surrogate.h"
#include "src/templates/device.h"

namespace tilewright::search {
namespace {

constexpr std::int64_t kLarge = 1'000'000;

class Automatic final : public Strategy {
 public:
  explicit Automatic(std::unique_ptr<Strategy> chosen) : chosen_(std::move(chosen)) {}

  std::vector<Point> Ask(int count) override { return chosen_->Ask(count); }
  void Tell(std::span<const Observation> results) override { chosen_->Tell(results); }
  void Exclude(std::span<const Point> points) override { chosen_->Exclude(points); }
  std::vector<float> Scores(std::span<const Point> points) override {
    return chosen_->Scores(points);
  }
  std::string_view name() const override { return "auto"; }
  Status status() const override { return chosen_->status(); }
  std::unique_ptr<TrainingJob> NextTrainingJob() override { return chosen_->NextTrainingJob(); }
  void Finish(std::unique_ptr<TrainingJob> training_job) override {
    chosen_->Finish(std::move(training_job));
  }
  std::string SaveState() const override { return chosen_->SaveState(); }
  Status ReplayAsk(std::span<const Point> points, std::string_view strategy_state) override {
    return chosen_->ReplayAsk(points, strategy_state);
  }
  Status FinishReplay() override { return chosen_->FinishReplay(); }
  std::int64_t filtered() const override { return chosen_->filtered(); }

 private:
  std::unique_ptr<Strategy> chosen_;
};

}  // namespace

std::string_view ChoiceOf(const SearchSpace& space) {
  if (space.legal != nullptr) return "surrogate";
  const bool evolves = IsSimulated(space.task.target) || space.size() >= kLarge;
  return evolves ? "evolve" : "model";
}

std::unique_ptr<Strategy> MakeAutomatic(const StrategyContext& context) {
  const std::string_view choice = ChoiceOf(*context.space);
  return std::make_unique<Automatic>(choice == "surrogate" ? MakeSurrogate(context)
                                     : choice == "evolve"  ? MakeEvolve(context)
                                                           : MakeModelGuided(context));
}

}  // namespace tilewright::search
