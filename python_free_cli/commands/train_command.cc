// `tilewright train`: trains a cost model on stored trials, for configs without measurements.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>

#include "cost_model/xgboost_model.h"
#include "python_free_cli/command.h"
#include "python_free_cli/print.h"
#include "records/store.h"
#include "search/train.h"
#include "src/base/hash.h"
#include "src/base/json.h"
#include "src/base/text/plural.h"

namespace tilewright::cli {
namespace {

/// Quality of a model's first choice among the trials of held-out tasks.
struct HeldOut {
  int tasks = 0;
  double first_choice = 1;  ///< its throughput relative to the task's best: geometric mean
  double worst = 1;
  double median_trial = 1;  ///< median throughput relative to the best: geometric mean
};

Result<HeldOut> Judge(const cost_model::CostModel& model, const cost_model::Dataset& data) {
  HeldOut result;
  TW_ASSIGN_OR_RETURN(auto predicted, model.Predict(data.features));
  double log_first = 0, log_median = 0;
  std::ptrdiff_t begin = 0;
  for (std::size_t group = 0; group < data.group_sizes.size(); ++group) {
    const auto end = begin + static_cast<std::ptrdiff_t>(data.group_sizes[group]);
    if (!data.group_weights.empty() && data.group_weights[group] < 1) {  // noisy
      begin = end;
      continue;
    }
    const auto top = std::max_element(predicted.begin() + begin, predicted.begin() + end);
    const double first =
        std::max(1e-3F, data.scores[static_cast<std::size_t>(top - predicted.begin())]);
    std::vector<float> scores(data.scores.begin() + begin, data.scores.begin() + end);
    std::sort(scores.begin(), scores.end());
    log_first += std::log(first);
    log_median += std::log(std::max(1e-3F, scores[scores.size() / 2]));
    result.worst = std::min(result.worst, first);
    ++result.tasks;
    begin = end;
  }
  if (result.tasks > 0) {
    result.first_choice = std::exp(log_first / result.tasks);
    result.median_trial = std::exp(log_median / result.tasks);
  }
  return result;
}

class TrainCommand final : public Command {
 public:
  const char* name() const override { return "train"; }
  const char* summary() const override {
    return "Train a cost model on the trials of record stores";
  }
  const char* examples() const override {
    return "  tilewright train --records records.db -o cpu.model\n"
           "  tilewright train --records a.db b.db --hold-out 0.25 -o cpu.model\n"
           "  tilewright compile resnet18.onnx --model cpu.model -o resnet18.so\n";
  }
  void Declare(CLI::App& app) override {
    app.add_option("--records", records_, "Record stores to train on")->required();
    app.add_option("-o,--output", output_, "Model file to write")->required();
    app.add_option("--hold-out", hold_out_, "Share of the tasks to hold out for evaluation")
        ->check(CLI::Range(0.0, 0.9))
        ->capture_default_str();
    app.add_option("--kind", kind_, "Kind of target to train for")->capture_default_str();
    app.add_option("--threads", threads_, "Number of training threads")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_flag("--json", json_, "Print the result as JSON");
  }
  Result<int> Run() override {
    std::vector<records::Store> stores;
    std::vector<const records::Store*> asked;
    for (const std::string& path : records_) {
      TW_ASSIGN_OR_RETURN(auto store, records::Store::Open(path, records::Store::Mode::kReadOnly));
      stores.push_back(std::move(store));
    }
    for (const records::Store& store : stores) asked.push_back(&store);
    const auto held_out = [this](const Task& task) {
      return static_cast<double>(Mix64(Fnv1a64(task.workload.Key())) % 1000) < 1000 * hold_out_;
    };
    // Metrics and their causes differ between kinds of targets: each kind has a model of its own.
    const auto is_of_kind = [this](const Task& task) { return task.target.kind_name() == kind_; };
    TW_ASSIGN_OR_RETURN(const auto training,
                        search::LoadTrainingData(templates(), asked, [&](const Task& task) {
                          return is_of_kind(task) && !held_out(task);
                        }));
    if (training.tasks == 0) {
      return InvalidArgument("--records: no task for " + kind_ +
                             " with at least 16 trials to train on");
    }
    cost_model::XgboostOptions options;
    options.threads = threads_;
    cost_model::XgboostModel model(options);
    TW_RETURN_IF_ERROR(model.Train(training.data));
    TW_ASSIGN_OR_RETURN(const auto rest,
                        search::LoadTrainingData(templates(), asked, [&](const Task& task) {
                          return is_of_kind(task) && held_out(task);
                        }));
    TW_ASSIGN_OR_RETURN(const auto judged, Judge(model, rest.data));
    cost_model::TreeModel::Metadata metadata;
    if (judged.tasks > 0) metadata.expected_slowdown = 1 / judged.first_choice;
    metadata.target_kind = kind_;
    metadata.families.assign(training.families.begin(), training.families.end());
    metadata.learned_from =
        fmt::format("{} trials of {} tasks", training.data.rows(), training.tasks);
    TW_ASSIGN_OR_RETURN(const auto trees, model.Trees(std::move(metadata)));
    TW_RETURN_IF_ERROR(trees->Save(output_));
    Print(training, judged);
    return kExitDone;
  }

 private:
  void Print(const search::TrainingData& training, const HeldOut& judged) const {
    if (json_) {
      Json out = {{"file", output_},
                  {"tasks", training.tasks},
                  {"trials", training.data.rows()},
                  {"left_out", training.left_out}};
      if (judged.tasks > 0) {
        out["held_out"] = {{"tasks", judged.tasks},
                           {"first_choice", judged.first_choice},
                           {"worst", judged.worst},
                           {"median_trial", judged.median_trial}};
      }
      PrintJson(out);
      return;
    }
    PrintOut("{}: trained on {} of {} ({} excluded)\n", output_,
             Counted(static_cast<std::int64_t>(training.data.rows()), "trial"),
             Counted(static_cast<std::int64_t>(training.tasks), "task"),
             Counted(static_cast<std::int64_t>(training.left_out), "trial"));
    if (judged.tasks == 0) {
      if (hold_out_ > 0) PrintOut("no task was held out\n");
      return;
    }
    PrintOut(
        "on {} held out: first choice {:.2f} of the best throughput (geometric mean; worst "
        "{:.2f}), median trial {:.2f}\n",
        Counted(judged.tasks, "task"), judged.first_choice, judged.worst, judged.median_trial);
  }

  std::vector<std::string> records_;
  std::string output_, kind_ = "llvm";
  double hold_out_ = 0;
  int threads_ = 1;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeTrainCommand() { return std::make_unique<TrainCommand>(); }

}  // namespace tilewright::cli
