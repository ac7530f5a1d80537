// Subcommands of `tilewright records`: each opens its stores, calls one function of records/, and
// prints the result as a table or as JSON.

#include "python_free_cli/commands/store_subcommands.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "python_free_cli/command.h"
#include "python_free_cli/print.h"
#include "records/autotvm/selection.h"
#include "records/merge.h"
#include "src/base/files/output_file.h"
#include "src/base/json.h"
#include "src/base/shell/quote.h"
#include "src/base/text/plural.h"
#include "src/report/store/contents.h"
#include "src/report/store/maintenance.h"

namespace tilewright::cli {
namespace {

double Megabytes(std::int64_t bytes) { return 1e-6 * static_cast<double>(bytes); }

}  // namespace

CLI::App* StoreSubcommands::Add(CLI::App& app, const char* name, const char* summary,
                                Subcommand run) {
  CLI::App* sub = app.add_subcommand(name, summary);
  stores_.emplace_back().Declare(*sub);
  const std::size_t place = stores_.size() - 1;
  if (run != &StoreSubcommands::Csv) sub->add_flag("--json", json_, "Print JSON");
  sub->callback([this, run, place] {
    run_ = run;
    chosen_ = place;
  });
  return sub;
}

void StoreSubcommands::Declare(CLI::App& app) {
  Add(app, "stats",
      "Show the number of trials and the best time of each task, and imported records",
      &StoreSubcommands::Stats);
  CLI::App* best = Add(app, "best", "Show the best configs of each task, and of imported records",
                       &StoreSubcommands::Best);
  best->add_option("--target", target_, "Only records of this target, such as 'cuda -model=v100'");
  best->add_option("--task", task_,
                   "Only this workload key, AutoTVM tuple, operator or template, such as conv2d");
  best->add_option("--top", top_, "Number of configs per task")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  CLI::App* merge =
      Add(app, "merge", "Merge stores into the first one, and check that no trial is lost",
          &StoreSubcommands::Merge);
  merge->add_option("from", from_, "Stores to merge into it");
  CLI::App* split = Add(
      app, "split",
      "Split a store, with its imported records, into new stores; the store itself is unchanged",
      &StoreSubcommands::SplitUp);
  split->add_option("-o,--output", output_, "Folder for the new stores")->required();
  split->add_option("--by", by_, "Property to split by")
      ->check(CLI::IsMember({"target", "device", "op", "job"}))
      ->capture_default_str();
  CLI::App* prune =
      Add(app, "prune", "Remove trials that are neither among the best nor needed for training",
          &StoreSubcommands::Prune);
  prune->add_option("--best", prune_.best, "Number of fastest trials to keep per task, plus ties")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  prune
      ->add_option("--training", prune_.training,
                   "Number of trials to keep per task for cost models (-1: all)")
      ->check(CLI::Range(std::int64_t{-1}, std::int64_t{1} << 40))
      ->capture_default_str();
  prune->add_flag("--dry-run", prune_.dry_run, "Only print what would be removed");
  Add(app, "check", "Check the file and all trials; exit code 1 if one is invalid",
      &StoreSubcommands::Check);
  CLI::App* backup = Add(app, "backup", "Copy a store consistently, even while it is written",
                         &StoreSubcommands::Backup);
  backup->add_option("output", output_, "File to write; it must not exist");
  CLI::App* vacuum = Add(app, "vacuum", "Release free space, or write a compact read-only copy",
                         &StoreSubcommands::Vacuum);
  vacuum->add_option("--into", output_, "Write a compact copy to this file instead");
  CLI::App* csv = Add(app, "export-csv", "Write all trials as CSV", &StoreSubcommands::Csv);
  csv->add_option("-o,--output", output_, "File to write (default: standard output)");
  csv->add_option("--task", filter_.workload_key, "Only trials of this workload key");
  csv->add_option("--outcome", outcome_, "Only trials with this outcome");
}

Result<std::string> StoreSubcommands::StorePath() {
  const StoreArgument& store = stores_[chosen_];
  const bool merge = run_ == &StoreSubcommands::Merge;
  if (!merge && run_ != &StoreSubcommands::Backup) return store.Path();
  std::vector<std::string> others = from_;
  if (!output_.empty()) others.push_back(output_);
  TW_ASSIGN_OR_RETURN(std::string path, store.PathBefore(others));
  if (others.empty()) {
    return InvalidArgument(merge ? "no store to merge given: records merge STORE FROM..."
                                 : "no file to write given: records backup STORE FILE");
  }
  if (merge) {
    from_ = std::move(others);
  } else if (others.size() > 1) {
    return InvalidArgument("two files to write: " + others[0] + " and " + others[1]);
  } else {
    output_ = others.front();
  }
  return path;
}

Result<int> StoreSubcommands::Stats() {
  TW_ASSIGN_OR_RETURN(const auto contents, report::StoreContents::Read(*templates_, store_));
  json_ ? PrintJson(contents.ToJson()) : WriteText(contents.ToText(OutputColumns()));
  return kExitDone;
}

Result<int> StoreSubcommands::Best() {
  TW_ASSIGN_OR_RETURN(const auto selection, records::Selection::Parse(target_, task_));
  TW_ASSIGN_OR_RETURN(const auto best,
                      report::StoreBest::Read(*templates_, store_, selection, top_));
  json_ ? PrintJson(best.ToJson()) : WriteText(best.ToText(OutputColumns()));
  if (json_ || !best.empty() || selection.all()) return kExitDone;
  PrintErr(
      "no record has this --target and --task; `tilewright records stats {}` lists what the "
      "store has\n",
      ShellWord(store_));
  return kExitFailed;
}

Result<int> StoreSubcommands::Merge() {
  TW_ASSIGN_OR_RETURN(const auto reports, records::MergeStores(*templates_, store_, from_));
  std::int64_t refused = 0;
  for (const records::MergeReport& report : reports) {
    refused += report.refused;
    WriteMessage(report::MergeRefusalsText(report));
    if (!json_) WriteText(report::MergeText(store_, report));
  }
  if (json_) PrintJson(report::MergeJson(store_, reports));
  return refused == 0 ? kExitDone : kExitFailed;
}

Result<int> StoreSubcommands::SplitUp() {
  auto by = records::ParseSplitBy(by_);
  if (!by.ok()) return by.status().WithContext("--by");
  TW_ASSIGN_OR_RETURN(const auto parts, records::SplitStore(store_, output_, *by));
  json_ ? PrintJson(report::SplitJson(by_, parts))
        : WriteText(report::SplitText(by_, parts, output_, OutputColumns()));
  return kExitDone;
}

Result<int> StoreSubcommands::Prune() {
  TW_ASSIGN_OR_RETURN(const auto pruned, records::PruneStore(*templates_, store_, prune_));
  json_ ? PrintJson(report::PruneJson(store_, pruned, prune_.dry_run))
        : WriteText(report::PruneText(store_, pruned, prune_.dry_run));
  return kExitDone;
}

Result<int> StoreSubcommands::Check() {
  TW_ASSIGN_OR_RETURN(auto problems, records::CheckStore(*templates_, store_));
  if (json_) {
    PrintJson({{"store", store_}, {"sound", problems.empty()}, {"problems", problems}});
  } else if (problems.empty()) {
    PrintOut("{}: sound\n", store_);
  } else {
    for (const std::string& problem : problems) PrintOut("{}: {}\n", store_, problem);
  }
  return problems.empty() ? kExitDone : kExitFailed;
}

Result<int> StoreSubcommands::Backup() {
  TW_ASSIGN_OR_RETURN(auto report, records::BackupStore(store_, output_));
  if (json_) {
    PrintJson(
        {{"store", store_}, {"copy", output_}, {"trials", report.trials}, {"bytes", report.bytes}});
  } else {
    PrintOut("{}: {}, {:.1f} MB\n", output_, Counted(report.trials, "trial"),
             Megabytes(report.bytes));
  }
  return kExitDone;
}

Result<int> StoreSubcommands::Vacuum() {
  TW_ASSIGN_OR_RETURN(auto report, records::VacuumStore(store_, output_));
  if (json_) {
    PrintJson({{"store", output_.empty() ? store_ : output_},
               {"bytes_before", report.bytes_before},
               {"bytes_after", report.bytes_after}});
  } else {
    PrintOut("{}: {:.1f} MB, was {:.1f} MB\n", output_.empty() ? store_ : output_,
             Megabytes(report.bytes_after), Megabytes(report.bytes_before));
  }
  return kExitDone;
}

Result<int> StoreSubcommands::Csv() {
  if (!outcome_.empty()) {
    auto outcome = ParseOutcome(outcome_);
    if (!outcome.ok()) return outcome.status().WithContext("--outcome");
    filter_.outcome = *outcome;
  }
  TW_RETURN_IF_ERROR(WriteOutput(
      output_, [&](const TextSink& sink) { return records::ExportCsv(store_, filter_, sink); }));
  return kExitDone;
}

}  // namespace tilewright::cli
