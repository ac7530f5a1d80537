// `tilewright query` and `tilewright records`: lookups and maintenance of record stores.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <optional>

#include "measure/supervisor/process_measurer.h"
#include "python_free_cli/arguments/float_error.h"
#include "python_free_cli/arguments/reject_options.h"
#include "python_free_cli/arguments/task_argument.h"
#include "python_free_cli/command.h"
#include "python_free_cli/commands/exchange_commands.h"
#include "python_free_cli/commands/store_subcommands.h"
#include "python_free_cli/print.h"
#include "python_free_cli/record_sources.h"
#include "python_free_cli/tune_display.h"
#include "records/answer_json.h"
#include "records/store.h"
#include "src/base/json.h"
#include "src/base/printable.h"
#include "src/session/format.h"
#include "src/session/record_sources.h"
#include "src/session/tasks.h"
#include "src/target/device.h"
#include "src/templates/device.h"

namespace tilewright::cli {
namespace {

class QueryCommand final : public Command {
 public:
  const char* name() const override { return "query"; }
  const char* summary() const override {
    return "Ask a record store for the best config of a task, or for a graph's coverage";
  }
  const char* examples() const override {
    return "  tilewright query resnet18.onnx --records records.db\n"
           "  tilewright query resnet18.onnx#3 --records records.db --json\n"
           "  tilewright query resnet18.onnx --package llvm-znver5.twpkg --accept default\n"
           "  tilewright query \"('dense_small_batch.gpu', ('TENSOR', (1, 512), 'float16'), "
           "('TENSOR', (1000, 512), 'float16'), None, 'float16')\" --rule autotvm "
           "--target 'opencl -device=adreno' --records records.db\n"
           "Asks the stores, then the packages, then all of them for near matches. Exit code 1 on "
           "a "
           "miss.\n";
  }
  void Declare(CLI::App& app) override {
    app_ = &app;
    app.add_option("task", task_, "Workload key, AutoTVM tuple, FILE#N, or FILE for all its tasks")
        ->required();
    sources_.Declare(app, "near");
    float_error_.Declare(app);
    target_.DeclareWithResiduals(app);
    model_.Declare(app);
    app.add_flag("--front", front_,
                 "Print what no other record beats in all metrics, not the best alone");
    app.add_flag("--json", json_, "Print JSON");
  }
  Result<int> Run() override {
    TW_ASSIGN_OR_RETURN(auto accept, sources_.Accept());
    // AutoTVM's rule also serves targets and tasks without code generation.
    const bool own = sources_.rule == "own";
    const bool as_written = !own && target_.vta_config.empty();
    if (as_written) {
      TW_RETURN_IF_ERROR(RejectOptions(
          *app_, {"--threads", "--libs"},
          "--rule autotvm asks for the target as it is written, expected the option in it"));
    }
    auto target = as_written ? Target::Parse(target_.target) : target_.Parse();
    if (!target.ok()) return target.status().WithContext("--target");
    TW_RETURN_IF_ERROR(session::CheckResiduals(*target, target_.no_fuse_residuals));
    const TemplateRegistry& chosen = float_error_.Choose(templates());
    TW_ASSIGN_OR_RETURN(auto catalog, sources_.Open(chosen, *target, PrintNote));
    TW_ASSIGN_OR_RETURN(auto autotvm, sources_.Autotvm(*target));
    TW_ASSIGN_OR_RETURN(auto prefer, sources_.Preferred(*target));
    if (front_ && !own) return InvalidArgument("--front: imported records say one metric only");
    TW_ASSIGN_OR_RETURN(auto asked, own ? TasksOf(*target) : AutotvmTasksOf(*target));
    TW_ASSIGN_OR_RETURN(const auto device, DeviceFor(*target));
    if (front_) return PrintFronts(asked, chosen, *target, device, catalog);
    if (prefer.has_value() && !prefer->limited.empty() && IsNetwork(asked)) {
      std::vector<search::TuneTask> tasks;
      for (const Asked& one : asked) tasks.push_back({{*one.workload, *target}, {}, one.uses});
      TW_RETURN_IF_ERROR(
          session::ShareLimitOf(tasks, chosen, *target, device, catalog, *prefer, PrintNote));
    }
    Json list = Json::array();
    std::map<records::AnswerLevel, int> counts;
    MetricSums sums;  // of the records chosen by --prefer
    for (Asked& one : asked) {
      records::LookupRequest request;
      request.templates = &chosen;
      request.workload = one.workload.has_value() ? &*one.workload : nullptr;
      request.target = &*target;
      request.device = &device;
      request.accept = records::DownTo(accept);
      request.prefer = prefer.has_value() ? &*prefer : nullptr;
      if (autotvm.has_value()) {
        autotvm->task = std::move(one.task);
        request.autotvm = &*autotvm;
      }
      TW_ASSIGN_OR_RETURN(auto answer, catalog.Query(request));
      ++counts[answer.level];
      if (request.prefer != nullptr) AddTo(sums, answer, *target, one.uses);
      list.push_back(records::AnswerJson(answer, request.workload, one.text,
                                         own ? target->ToString() : autotvm->target.text));
      if (!json_) PrintAnswer(request.workload, one.text, answer, asked.size() == 1);
    }
    // Metrics without a measured value that were not requested are not printed.
    std::erase_if(sums, [&](const auto& one) {
      const bool asked_for = one.first == prefer->minimized || one.first == prefer->limited;
      return one.second.unknown == static_cast<int>(asked.size()) && !asked_for;
    });
    if (json_) {
      Json json = {{"answers", list}};
      for (const auto& [metric, sum] : sums) {
        // A partial sum would look like a complete one.
        json["sums"][metric] = sum.unknown == 0 ? Json(sum.value) : Json();
        if (sum.unknown > 0) json["sums_unknown"][metric] = sum.unknown;
      }
      PrintJson(json);
    } else if (asked.size() > 1) {
      PrintOut("{} tasks:", asked.size());
      for (const auto& [level, count] : counts) {
        PrintOut(" {} {}", count, records::AnswerLevelName(level));
      }
      PrintOut("\n");
      if (!sums.empty()) PrintOut("as often as they are used:");
      for (const auto& [metric, sum] : sums) {
        PrintOut(" {}", session::ShortValue(metric, sum.value));
        if (sum.unknown > 0) PrintOut(" ({} of {} tasks unknown)", metric, sum.unknown);
      }
      if (!sums.empty()) PrintOut("\n");
    }
    return counts.contains(records::AnswerLevel::kMiss) ? kExitFailed : kExitDone;
  }

 private:
  struct Asked {
    std::string text;  ///< key or tuple
    std::optional<Workload> workload;
    std::optional<records::AutotvmTask> task;
    std::int64_t uses = 1;
  };

  /// Sum over all uses of a network's tasks.
  struct MetricSum {
    double value = 0;
    int unknown = 0;  ///< number of tasks without a value
  };
  using MetricSums = std::map<std::string, MetricSum>;

  /// Only a hit is a record of the task itself.
  static void AddTo(MetricSums& sums, const records::CatalogAnswer& answer, const Target& target,
                    std::int64_t uses) {
    for (const std::string& metric : MetricsOf(target)) {
      std::optional<double> value;
      if (answer.level == records::AnswerLevel::kHit && answer.answer.record.has_value()) {
        value = answer.answer.record->trial.ValueOf(metric);
      }
      MetricSum& sum = sums[metric];
      if (!value) ++sum.unknown;
      sum.value += static_cast<double>(uses) * value.value_or(0);
    }
  }

  /// A limit applies to all uses of a network's tasks together, also for a network with one task.
  bool IsNetwork(const std::vector<Asked>& asked) const {
    return asked.size() > 1 ||
           (task_.find_first_of("(#") == std::string::npos && !task_.ends_with(".tw"));
  }

  /// Returns exit code 1 if a task has no front.
  Result<int> PrintFronts(const std::vector<Asked>& asked, const TemplateRegistry& chosen,
                          const Target& target, const DeviceFingerprint& device,
                          records::Catalog& catalog) const {
    Json list = Json::array();
    bool all = true;
    for (const Asked& one : asked) {
      records::LookupRequest request;
      request.templates = &chosen;
      request.workload = &*one.workload;
      request.target = &target;
      request.device = &device;
      TW_ASSIGN_OR_RETURN(auto front, catalog.TaskFront(request));
      all = all && !front.records.empty();
      Json records = Json::array();
      if (!json_) {
        std::string by;
        for (const std::string& metric : front.metrics) by += (by.empty() ? " by " : ",") + metric;
        PrintOut("{:<38} {} uses, {} on the front{}\n", session::ShortName(*one.workload), one.uses,
                 front.records.size(), by);
      }
      for (const records::Record& record : front.records) {
        const Candidate& candidate = record.trial.candidate;
        Json values = Json::object();
        std::string shown;
        for (const std::string& metric : front.metrics) {
          values[metric] = *record.trial.ValueOf(metric);
          shown +=
              fmt::format(" {:>14}", session::ShortValue(metric, *record.trial.ValueOf(metric)));
        }
        if (!json_)
          PrintOut(" {}  {} #{}\n", shown, candidate.template_key, candidate.config.index);
        records.push_back({{"id", record.id},
                           {"values", std::move(values)},
                           {"template", candidate.template_key},
                           {"config", *ParseJson(candidate.config.ToString())}});
      }
      list.push_back({{"workload", one.text},
                      {"uses", one.uses},
                      {"metrics", front.metrics},
                      {"records", std::move(records)}});
    }
    if (json_) PrintJson({{"fronts", std::move(list)}});
    return all ? kExitDone : kExitFailed;
  }

  Result<std::vector<Asked>> TasksOf(const Target& target) const {
    TW_ASSIGN_OR_RETURN(const auto source, model_.Source(task_));
    TW_ASSIGN_OR_RETURN(auto tasks,
                        session::ParseTasks(source, target, !target_.no_fuse_residuals));
    if (DeviceTraitsOf(target).has_host_fallback && tasks.size() > 1)
      session::AssignToHost(templates(), tasks, PrintNote);
    std::vector<Asked> asked;
    for (const search::TuneTask& task : tasks) {
      asked.push_back({task.task.workload.Key(), task.task.workload, {}, task.occurrences});
    }
    return asked;
  }

  /// A tuple is looked up as written: it may name a task without an operator in this program.
  Result<std::vector<Asked>> AutotvmTasksOf(const Target& target) const {
    const bool is_tuple = !task_.empty() && (task_.front() == '(' || task_.front() == '[');
    if (!is_tuple) return TasksOf(target);
    TW_ASSIGN_OR_RETURN(auto task, records::AutotvmTask::Parse(task_));
    return std::vector<Asked>{{task.tuple, task.workload, task, 1}};
  }

  const CLI::App* app_ = nullptr;
  std::string task_;
  ModelArguments model_;
  FloatErrorArgument float_error_;
  RecordArguments sources_;
  TargetArguments target_;
  bool json_ = false, front_ = false;
};

class RecordsCommand final : public Command {
 public:
  const char* name() const override { return "records"; }
  const char* summary() const override {
    return "Look after record stores and exchange records: list, stats, best, merge, split, prune, "
           "check, backup, vacuum, export-csv, import, export";
  }
  const char* examples() const override {
    static const std::string text =
        std::string(
            "  tilewright records stats records.db\n"
            "  tilewright records list records.db --outcome wrong_result\n"
            "  tilewright records best records.db --top 3\n"
            "  tilewright records merge all.db laptop.db server.db\n"
            "  tilewright records prune records.db --best 16 --dry-run\n"
            "  tilewright records backup records.db /backup/records-monday.db\n"
            "  tilewright records vacuum records.db --into /mnt/share/records.db\n"
            "  tilewright records check records.db\n") +
        ExchangeCommands::Examples();
    return text.c_str();
  }
  void Declare(CLI::App& app) override {
    app.require_subcommand(1);
    care_.Declare(app);
    exchange_.Declare(app);
    CLI::App* sub = app.add_subcommand("list", "Every trial, oldest first");
    sub->add_option("store", store_, "Record store")->required();
    sub->add_flag("--json", json_, "Print JSON");
    sub->add_option("--task", filter_.workload_key, "Only this workload key");
    sub->add_option("--template", filter_.template_key, "Only this template");
    sub->add_option("--outcome", outcome_, "Only this outcome, such as ok or wrong_result");
    sub->add_option("--limit", filter_.limit, "At most this many")->check(CLI::PositiveNumber);
  }
  Result<int> Run() override {
    if (care_.chosen()) return care_.Run(templates());
    if (exchange_.chosen()) return exchange_.Run(templates());
    TW_ASSIGN_OR_RETURN(auto store, records::Store::Open(store_, records::Store::Mode::kReadOnly));
    if (!outcome_.empty()) {
      auto outcome = ParseOutcome(outcome_);
      if (!outcome.ok()) return outcome.status().WithContext("--outcome");
      filter_.outcome = *outcome;
    }
    TW_RETURN_IF_ERROR(store.ForEachTrial(filter_, [this](const records::Record& record) {
      List(record);
      return Status();
    }));
    return kExitDone;
  }

 private:
  void List(const records::Record& record) const {
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
                   {"metric", t.metric},
                   {"noise", t.noise},
                   {"quiet_share", t.clean_fraction < 0 ? Json() : Json(t.clean_fraction)},
                   {"disturbed", t.noisy()},
                   {"samples", t.samples},
                   {"verified", t.verified},
                   {"reproduce", measure::ReproduceCommand(t.candidate)}};
      PrintJson(line);
    } else {
      PrintOut("{} {:<12} {:>10} {:<38} {} #{} {}{}\n", record.id.substr(0, 12),
               OutcomeName(t.outcome), session::ShortValue(t.metric, t.value),
               session::ShortName(t.candidate.task.workload), t.candidate.template_key,
               t.candidate.config.index, Printable(t.reason), t.noisy() ? "disturbed" : "");
      if (t.outcome != Outcome::kOk) {
        PrintOut("  again: {}\n", measure::ReproduceCommand(t.candidate));
      }
    }
  }

  StoreSubcommands care_;
  std::string store_, outcome_;
  records::TrialFilter filter_;
  bool json_ = false;
  ExchangeCommands exchange_;
};

}  // namespace

std::unique_ptr<Command> MakeQueryCommand() { return std::make_unique<QueryCommand>(); }
std::unique_ptr<Command> MakeRecordsCommand() { return std::make_unique<RecordsCommand>(); }

}  // namespace tilewright::cli
