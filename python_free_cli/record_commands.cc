// `tilewright query` and `tilewright records`: what a store knows and answers.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <map>

#include "python_free_cli/command.h"
#include "python_free_cli/exchange_commands.h"
#include "python_free_cli/task_argument.h"
#include "python_free_cli/tune_display.h"
#include "records/store.h"
#include "src/base/json.h"
#include "src/target/cpu.h"

namespace tilewright::cli {
namespace {

const char* KindName(records::AnswerKind kind) {
  switch (kind) {
    case records::AnswerKind::kHit:
      return "hit";
    case records::AnswerKind::kNearHit:
      return "near hit";
    case records::AnswerKind::kMiss:
      return "miss";
  }
  return "?";
}

Json AnswerJson(const Workload& workload, const records::Answer& answer) {
  Json out = {{"task", workload.Key()},
              {"answer", KindName(answer.kind)},
              {"explanation", answer.explanation}};
  if (!answer.record.has_value()) return out;
  const Trial& trial = answer.record->trial;
  out["template"] = trial.candidate.template_key;
  out["config"] = *ParseJson(trial.candidate.config.ToString());
  out["seconds"] = trial.value;
  out["noise"] = trial.noise;
  out["epilogue"] = trial.candidate.epilogue.ToString();
  out["expected_slowdown"] = answer.expected_slowdown;
  out["record"] = answer.record->id;
  out["device"] = trial.device.model;
  out["measured_unix_seconds"] = trial.finished_unix_seconds;
  return out;
}

class QueryCommand final : public Command {
 public:
  const char* name() const override { return "query"; }
  const char* summary() const override {
    return "Ask a record store for the best config of a task, or for a graph's coverage";
  }
  const char* examples() const override {
    return "  tilewright query resnet18.onnx --records records.db\n"
           "  tilewright query resnet18.onnx#3 --records records.db --json\n"
           "  tilewright query \"('dense_small_batch.gpu', ('TENSOR', (1, 512), 'float16'), "
           "('TENSOR', (1000, 512), 'float16'), None, 'float16')\" --rule autotvm "
           "--target 'opencl -device=adreno' --records records.db\n"
           "Exit code 1 if a task has no record at all.\n";
  }
  void Declare(CLI::App& app) override {
    app.add_option("task", task_, "Workload key, AutoTVM tuple, FILE#N, or FILE for all its tasks")
        ->required();
    app.add_option("--records", records_, "Record store (default: the user's)");
    app.add_option("--rule", rule_, "How records are chosen: own, or autotvm for imported ones")
        ->check(CLI::IsMember({"own", "autotvm"}))
        ->capture_default_str();
    app.add_option("--package", package_, "With --rule autotvm: only this TopHub package");
    target_.Declare(app);
    app.add_flag("--json", json_, "Print JSON");
  }
  Result<int> Run() override {
    if (rule_ == "autotvm") {
      return AutotvmQuery{task_, records_, target_.target, package_, json_}.Run();
    }
    if (!package_.empty()) return InvalidArgument("--package: needs --rule autotvm");
    auto target = target_.Parse();
    TW_RETURN_IF_ERROR(target);
    if (records_.empty()) {
      auto standard = DefaultStorePath(false);
      TW_RETURN_IF_ERROR(standard);
      records_ = *std::move(standard);
    }
    auto store = records::Store::Open(records_, records::Store::Mode::kReadOnly);
    TW_RETURN_IF_ERROR(store);
    std::vector<search::TuneTask> tasks;
    if (auto one = ParseTask(task_, *target); one.ok()) {
      tasks.push_back(std::move(*one));
    } else if (task_.find('(') != std::string::npos) {
      return one.status();
    } else {
      auto all = TasksOfFile(task_, *target);
      TW_RETURN_IF_ERROR(all);
      tasks = std::move(*all);
    }
    const DeviceFingerprint device = ProbeHostCpu();
    Json list = Json::array();
    std::map<std::string, int> counts;
    for (const search::TuneTask& task : tasks) {
      auto answer = store->Query(task.task.workload, *target, device);
      TW_RETURN_IF_ERROR(answer);
      ++counts[KindName(answer->kind)];
      list.push_back(AnswerJson(task.task.workload, *answer));
      if (!json_) Print(task.task.workload, *answer, tasks.size() == 1);
    }
    if (json_) {
      fmt::print("{}\n", Json({{"answers", list}}).dump());
    } else if (tasks.size() > 1) {
      fmt::print("{} tasks: {} hits, {} near hits, {} misses\n", tasks.size(), counts["hit"],
                 counts["near hit"], counts["miss"]);
    }
    return counts["miss"] > 0 ? kExitFailed : kExitDone;
  }

 private:
  static void Print(const Workload& workload, const records::Answer& answer, bool whole) {
    if (answer.record.has_value()) {
      const Trial& trial = answer.record->trial;
      fmt::print("{:<38} {:<8} {:>10}  {} #{}\n", ShortName(workload), KindName(answer.kind),
                 ShortSeconds(trial.value), trial.candidate.template_key,
                 trial.candidate.config.index);
      if (whole) {
        fmt::print("  config    {}\n  record    {}\n  device    {}\n",
                   trial.candidate.config.ToString(), answer.record->id, trial.device.model);
      }
    } else {
      fmt::print("{:<38} {:<8}\n", ShortName(workload), KindName(answer.kind));
    }
    if (whole || answer.kind != records::AnswerKind::kHit) fmt::print("  {}\n", answer.explanation);
  }

  std::string task_, records_, rule_ = "own", package_;
  TargetArguments target_;
  bool json_ = false;
};

class RecordsCommand final : public Command {
 public:
  const char* name() const override { return "records"; }
  const char* summary() const override {
    return "Look into a record store, and exchange records: stats, list, check, import, export";
  }
  const char* examples() const override {
    static const std::string text = std::string("  tilewright records stats records.db\n"
                                                "  tilewright records list records.db --outcome "
                                                "wrong_result\n"
                                                "  tilewright records check records.db\n") +
                                    ExchangeCommands::Examples();
    return text.c_str();
  }
  void Declare(CLI::App& app) override {
    app.require_subcommand(1);
    for (const char* verb : {"stats", "list", "check"}) {
      CLI::App* sub = app.add_subcommand(verb, Summary(verb));
      sub->add_option("store", store_, "Record store")->required();
      sub->add_flag("--json", json_, "Print JSON");
      if (std::string(verb) == "list") {
        sub->add_option("--task", filter_.workload_key, "Only this workload key");
        sub->add_option("--template", filter_.template_key, "Only this template");
        sub->add_option("--outcome", outcome_, "Only this outcome, such as ok or wrong_result");
        sub->add_option("--limit", filter_.limit, "At most this many");
      }
      sub->callback([this, verb] { verb_ = verb; });
    }
    exchange_.Declare(app);
  }
  Result<int> Run() override {
    if (exchange_.chosen()) return exchange_.Run();
    auto store = records::Store::Open(store_, records::Store::Mode::kReadOnly);
    TW_RETURN_IF_ERROR(store);
    if (verb_ == "check") {
      TW_RETURN_IF_ERROR(store->Check());
      fmt::print("{}: sound\n", store_);
      return kExitDone;
    }
    if (!outcome_.empty()) {
      auto outcome = ParseOutcome(outcome_);
      if (!outcome.ok()) return outcome.status().WithContext("--outcome");
      filter_.outcome = *outcome;
    }
    auto trials = store->Trials(filter_);
    TW_RETURN_IF_ERROR(trials);
    return verb_ == "stats" ? Stats(*trials) : List(*trials);
  }

 private:
  static const char* Summary(const std::string& verb) {
    if (verb == "stats") return "Trials and best times per task";
    if (verb == "list") return "Every trial, oldest first";
    return "Check the file's integrity";
  }
  int List(const std::vector<records::Record>& trials) const {
    for (const records::Record& record : trials) {
      const Trial& t = record.trial;
      if (json_) {
        Json line = {{"id", record.id},
                     {"job", record.job},
                     {"task", t.candidate.task.workload.Key()},
                     {"target", t.candidate.task.target.ToString()},
                     {"epilogue", t.candidate.epilogue.ToString()},
                     {"template", t.candidate.template_key},
                     {"config", *ParseJson(t.candidate.config.ToString())},
                     {"outcome", std::string(OutcomeName(t.outcome))},
                     {"reason", t.reason},
                     {"value", t.value},
                     {"noise", t.noise},
                     {"samples", t.samples},
                     {"verified", t.verified}};
        fmt::print("{}\n", line.dump());
      } else {
        fmt::print("{} {:<12} {:>10} {:<38} {} #{} {}\n", record.id.substr(0, 12),
                   OutcomeName(t.outcome), ShortSeconds(t.value),
                   ShortName(t.candidate.task.workload), t.candidate.template_key,
                   t.candidate.config.index, t.reason);
      }
    }
    return kExitDone;
  }
  int Stats(const std::vector<records::Record>& trials) const {
    struct PerTask {
      std::string name;
      std::int64_t trials = 0, ok = 0;
      double best = 0;
      std::map<std::string, std::int64_t> outcomes;
    };
    std::map<std::string, PerTask> tasks;
    for (const records::Record& record : trials) {
      const Trial& t = record.trial;
      PerTask& task =
          tasks[t.candidate.task.workload.Key() + " @ " + t.candidate.task.target.ToString()];
      task.name = ShortName(t.candidate.task.workload);
      ++task.trials;
      ++task.outcomes[std::string(OutcomeName(t.outcome))];
      if (t.outcome != Outcome::kOk || !t.verified) continue;
      ++task.ok;
      if (task.best == 0 || t.value < task.best) task.best = t.value;
    }
    Json out = {{"store", store_}, {"trials", trials.size()}, {"tasks", Json::array()}};
    for (const auto& [key, task] : tasks) {
      out["tasks"].push_back({{"key", key},
                              {"trials", task.trials},
                              {"verified", task.ok},
                              {"best_seconds", task.best},
                              {"outcomes", task.outcomes}});
      if (!json_) {
        fmt::print("{:<38} {:>6} trials {:>6} verified  best {:>10}\n", task.name, task.trials,
                   task.ok, ShortSeconds(task.best));
      }
    }
    if (json_) {
      fmt::print("{}\n", out.dump());
    } else {
      fmt::print("{} tasks, {} trials\n", tasks.size(), trials.size());
    }
    return kExitDone;
  }

  std::string store_, verb_, outcome_;
  records::TrialFilter filter_;
  bool json_ = false;
  ExchangeCommands exchange_;
};

}  // namespace

std::unique_ptr<Command> MakeQueryCommand() { return std::make_unique<QueryCommand>(); }
std::unique_ptr<Command> MakeRecordsCommand() { return std::make_unique<RecordsCommand>(); }

}  // namespace tilewright::cli
