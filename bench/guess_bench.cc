// Quality of the config that a cost model predicts without measuring, on unseen workloads:
//   guess_bench FILE.csv…
// For each recorded space, a model is trained on all the others, as `tilewright train` does, and
// predicts a config as `query --accept default` does. If no other recorded space is of the same
// family, that is the default config (marked *). Prints the speed of the config relative to the
// fastest config of the recorded space, next to the speeds of the template's default config and of
// the median config. Bar: geometric mean >= 0.70.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cost_model/xgboost_model.h"
#include "search/recorded/recorded_space.h"
#include "search/space.h"
#include "search/strategies/model_guided.h"
#include "search/zero_shot.h"
#include "tests/support/built_in.h"

namespace tilewright::search {
namespace {

/// Recorded space as training data of a model.
struct Task {
  std::string name;
  RecordedSpace recorded_space;
  SearchSpace space;
  std::vector<Observation> trials;

  static Result<std::unique_ptr<Task>> Load(const std::string& file) {
    TW_ASSIGN_OR_RETURN(auto recorded_space, RecordedSpace::Load(file));
    TW_ASSIGN_OR_RETURN(auto space, recorded_space.Space(BuiltInTemplates()));
    std::vector<Observation> trials;
    for (const RecordedSpace::Row& row : recorded_space.rows) {
      trials.push_back({row.point, row.outcome, row.value});
    }
    std::string name = file.substr(file.rfind('/') + 1);
    return std::make_unique<Task>(Task{name.substr(0, name.rfind('.')), std::move(recorded_space),
                                       std::move(space), std::move(trials)});
  }
  std::string family() const { return FamilyOf(recorded_space.task); }
  /// Returns the speed relative to the fastest config; 0 for a config that does not run.
  double SpeedOf(Point point) const {
    const RecordedSpace::Row* row = recorded_space.Find(point);
    if (row == nullptr || row->outcome != Outcome::kOk) return 0;
    return recorded_space.best_value() / row->value;
  }
  double MedianSpeed() const {
    std::vector<double> speeds;
    for (const Observation& told : trials) speeds.push_back(SpeedOf(told.point));
    std::ranges::nth_element(speeds, speeds.begin() + std::ssize(speeds) / 2);
    return speeds[speeds.size() / 2];
  }
};
using Tasks = std::vector<std::unique_ptr<Task>>;

/// Returns the prediction of a model of the other tasks for this one; nullopt if its family is not
/// in the training data.
Result<std::optional<Point>> Guess(const Tasks& tasks, const Task& held_out) {
  cost_model::Dataset data;
  bool is_known = false;
  for (const auto& task : tasks) {
    if (task.get() == &held_out) continue;
    AddGroup(TemplateAnalyzer(task->space), task->trials, data);
    is_known = is_known || task->family() == held_out.family();
  }
  if (!is_known) return std::optional<Point>();
  cost_model::XgboostModel model;
  TW_RETURN_IF_ERROR(model.Train(data));
  const RecordedSpaceAnalyzer analyzer(held_out.recorded_space, held_out.space);
  TW_ASSIGN_OR_RETURN(auto point, PredictPoint(held_out.space, analyzer, model));
  return std::optional(point);
}

/// A config that does not run counts as a hundredth of the fastest one's speed.
double LogOf(double speed) { return std::log(std::max(0.01, speed)); }

Status Run(const std::vector<std::string>& files) {
  Tasks tasks;
  for (const std::string& file : files) {
    TW_ASSIGN_OR_RETURN(auto task, Task::Load(file));
    tasks.push_back(std::move(task));
  }
  std::printf("%-24s %8s %8s %8s\n", "held out", "model", "default", "median");
  double model = 0, standard = 0, median = 0, worst = 1;
  for (const auto& task : tasks) {
    TW_ASSIGN_OR_RETURN(auto guess, Guess(tasks, *task));
    const std::vector<Point> defaults = DefaultPoints(task->space);
    const double plain = defaults.empty() ? 0 : task->SpeedOf(defaults.front());
    const double guessed = guess.has_value() ? task->SpeedOf(*guess) : plain;
    std::printf("%-24s %7.3f%c %8.3f %8.3f\n", task->name.c_str(), guessed,
                guess.has_value() ? ' ' : '*', plain, task->MedianSpeed());
    std::fflush(stdout);
    model += LogOf(guessed);
    standard += LogOf(plain);
    median += LogOf(task->MedianSpeed());
    worst = std::min(worst, guessed);
  }
  const auto count = static_cast<double>(tasks.size());
  std::printf("%-24s %7.3f  %8.3f %8.3f  (worst of the model %.3f)\n", "geometric mean",
              std::exp(model / count), std::exp(standard / count), std::exp(median / count), worst);
  return {};
}

}  // namespace
}  // namespace tilewright::search

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: guess_bench FILE.csv FILE.csv...\n");
    return 2;
  }
  const tilewright::Status status = tilewright::search::Run({argv + 1, argv + argc});
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.message().c_str());
  return status.ok() ? 0 : 1;
}
