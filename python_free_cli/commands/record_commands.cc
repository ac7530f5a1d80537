// `tilewright records`: trials of record stores; the other subcommands are in store_subcommands.cc
// and exchange_commands.cc.

#include <CLI/CLI.hpp>

#include "python_free_cli/arguments/store_argument.h"
#include "python_free_cli/command.h"
#include "python_free_cli/commands/exchange_commands.h"
#include "python_free_cli/commands/store_subcommands.h"
#include "python_free_cli/print.h"
#include "records/autotvm/imported_summary.h"
#include "records/autotvm/selection.h"
#include "records/maintenance.h"
#include "records/store.h"
#include "src/base/json.h"
#include "src/base/shell/quote.h"
#include "src/report/store/record_tables.h"

namespace tilewright::cli {
namespace {

class RecordsCommand final : public Command {
 public:
  const char* name() const override { return "records"; }
  const char* summary() const override {
    return "Manage record stores: list, stats, best, merge, split, prune, check, backup, vacuum, "
           "export-csv, import, export";
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
    CLI::App* sub = app.add_subcommand(
        "list", "List all trials, oldest first, and the imported records after them");
    store_argument_.Declare(*sub);
    sub->add_flag("--json", json_, "Print JSON");
    sub->add_option("--target", target_, "Only records of this target, such as 'cuda -model=v100'");
    sub->add_option("--task", task_,
                    "Only this workload key, AutoTVM tuple, operator or template, such as conv2d");
    sub->add_option("--template", filter_.template_key, "Only trials of this template");
    sub->add_option("--outcome", outcome_,
                    "Only trials with this outcome, such as ok or wrong_result");
    sub->add_option("--limit", limit_, "Maximum number of trials")->check(CLI::PositiveNumber);
  }
  Result<int> Run() override {
    if (care_.chosen()) return care_.Run(templates());
    if (exchange_.chosen()) return exchange_.Run(templates(), registries().strategies);
    TW_ASSIGN_OR_RETURN(store_, store_argument_.Path());
    TW_ASSIGN_OR_RETURN(auto store, records::Store::Open(store_, records::Store::Mode::kReadOnly));
    TW_ASSIGN_OR_RETURN(const auto selection, records::Selection::Parse(target_, task_));
    // The store only counts to the limit for trials that its own filter selects.
    if (selection.all()) filter_.limit = limit_;
    if (!outcome_.empty()) {
      auto outcome = ParseOutcome(outcome_);
      if (!outcome.ok()) return outcome.status().WithContext("--outcome");
      filter_.outcome = *outcome;
    }
    std::vector<records::TaskSummary> tasks;
    if (!json_) {
      auto summary = records::Summarize(templates(), store_);  // only for the names
      if (summary.ok()) tasks = std::move(summary->tasks);
    }
    const report::StoreNames names(tasks);
    report::TrialListing table(names, OutputColumns(), WriteText);
    std::int64_t count = 0;
    TW_RETURN_IF_ERROR(store.ForEachTrial(filter_, [&](const records::Record& record) {
      if (!selection.Includes(record.trial.candidate) || (limit_ > 0 && count >= limit_)) {
        return Status();
      }
      ++count;
      json_ ? PrintJson(report::TrialJson(record)) : table.Add(record);
      return Status();
    }));
    table.Finish();
    TW_RETURN_IF_ERROR(ListImported(store, selection, count));
    if (count > 0 || selection.all()) return kExitDone;
    PrintErr(
        "no record has this --target and --task; `tilewright records stats {}` lists what the "
        "store has\n",
        ShellWord(store_));
    return kExitFailed;
  }

 private:
  /// Prints the imported records that the filter accepts. count: of trials that were printed.
  Status ListImported(const records::Store& store, const records::Selection& selection,
                      std::int64_t& count) const {
    bool apart = count > 0;  // from the trials, by an empty line
    report::ImportedListing table(/*results=*/true, OutputColumns(), [&](const std::string& text) {
      if (!text.empty() && std::exchange(apart, false)) WriteText("\n");
      WriteText(text);
    });
    TW_RETURN_IF_ERROR(records::ForEachImported(store, [&](const records::ImportedRecord& record) {
      const std::string outcome = records::AutotvmErrorName(record.error);
      const bool wanted = selection.Includes(record) &&
                          (filter_.template_key.empty() || record.task == filter_.template_key) &&
                          (!filter_.outcome || outcome == OutcomeName(*filter_.outcome)) &&
                          (limit_ == 0 || count < limit_);
      if (!wanted) return Status();
      ++count;
      json_ ? PrintJson(report::ImportedTrialJson(record)) : table.Add(record);
      return Status();
    }));
    table.Finish();
    return {};
  }

  StoreSubcommands care_;
  StoreArgument store_argument_;
  std::string store_, outcome_, target_, task_;
  std::int64_t limit_ = 0;
  records::TrialFilter filter_;
  bool json_ = false;
  ExchangeCommands exchange_;
};

}  // namespace

std::unique_ptr<Command> MakeRecordsCommand() { return std::make_unique<RecordsCommand>(); }

}  // namespace tilewright::cli
