// Subcommands of `tilewright records`: each opens its stores, calls one function of records/, and
// prints the result as a table or as JSON.

#include "python_free_cli/commands/store_subcommands.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "python_free_cli/command.h"
#include "python_free_cli/print.h"
#include "python_free_cli/record_tables.h"
#include "python_free_cli/tune_display.h"
#include "records/autotvm/imported_summary.h"
#include "records/autotvm/selection.h"
#include "records/merge.h"
#include "records/package/package.h"
#include "src/base/files/output_file.h"
#include "src/base/json.h"
#include "src/base/printable.h"
#include "src/base/shell/quote.h"
#include "src/base/text/plural.h"
#include "src/session/format.h"
#include "src/session/text_table.h"
#include "src/templates/device.h"

namespace tilewright::cli {
namespace {

double Megabytes(std::int64_t bytes) { return 1e-6 * static_cast<double>(bytes); }

Json ImportedJson(const std::vector<records::ImportedSummary>& imported) {
  Json list = Json::array();
  for (const records::ImportedSummary& one : imported) {
    list.push_back({{"package", one.package},
                    {"file", one.file},
                    {"target", one.target},
                    {"records", one.records},
                    {"tasks", one.tasks},
                    {"failed", one.failed}});
  }
  return list;
}

Json ImportedJson(const records::ImportedRecord& record) {
  return {{"task", record.workload_key}, {"tuple", record.tuple}, {"target", record.target},
          {"template", record.task},     {"index", record.index}, {"value", record.cost},
          {"metric", "seconds"},         {"verified", false},     {"package", record.package},
          {"file", record.file},         {"line", record.line}};
}

/// Returns the metric of a target's trials.
std::string MetricOfText(const std::string& target_text) {
  auto target = Target::Parse(target_text);
  return target.ok() ? MetricOf(*target) : "seconds";
}

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
  TW_ASSIGN_OR_RETURN(auto summary, records::Summarize(*templates_, store_));
  TW_ASSIGN_OR_RETURN(const auto store,
                      records::Store::Open(store_, records::Store::Mode::kReadOnly));
  TW_ASSIGN_OR_RETURN(const auto imported, records::SummarizeImported(store));
  if (json_) {
    Json out = {{"store", store_},
                {"store_id", summary.store_id},
                {"schema", summary.schema},
                {"trials", summary.trials},
                {"jobs", summary.jobs},
                {"unfinished_jobs", summary.unfinished_jobs},
                {"log_entries", summary.log_entries},
                {"file_bytes", summary.file_bytes},
                {"free_bytes", summary.free_bytes},
                {"oldest_unix_seconds", summary.oldest_unix_seconds},
                {"newest_unix_seconds", summary.newest_unix_seconds},
                {"trials_of_stores", summary.stores},
                {"tasks", Json::array()}};
    for (const records::TaskSummary& task : summary.tasks) {
      const std::string metric = MetricOfText(task.target);
      out["tasks"].push_back({{"key", task.workload_key},
                              {"target", task.target},
                              {"device", task.device},
                              {"trials", task.trials},
                              {"verified", task.verified},
                              {"metric", metric},
                              {"best_" + metric, task.best},
                              {"outcomes", task.outcomes}});
    }
    out["imported"] = ImportedJson(imported);
    PrintJson(out);
    return kExitDone;
  }
  const StoreNames names(summary.tasks);
  session::TextTable table(
      {{"task", false, 24}, {"trials", true}, {"verified", true}, {"best", true}});
  for (const records::TaskSummary& task : summary.tasks) {
    table.AddRow({Printable(names.Of(task.workload_key, task.target)), std::to_string(task.trials),
                  std::to_string(task.verified),
                  session::ShortValue(MetricOfText(task.target), task.best)});
  }
  PrintTable(table);
  PrintImported(imported);
  std::int64_t imports = 0;
  for (const records::ImportedSummary& one : imported) imports += one.records;
  PrintWrapped(fmt::format("{}, {}, {} ({} unfinished), {}{:.1f} MB, {:.1f} MB of it free",
                           Counted(std::ssize(summary.tasks), "task"),
                           Counted(summary.trials, "trial"), Counted(summary.jobs, "job"),
                           summary.unfinished_jobs,
                           imports > 0 ? Counted(imports, "imported record") + ", " : "",
                           Megabytes(summary.file_bytes), Megabytes(summary.free_bytes)));
  if (summary.trials > 0) {
    PrintOut("measured from {} to {}\n", records::UtcText(summary.oldest_unix_seconds),
             records::UtcText(summary.newest_unix_seconds));
  }
  return kExitDone;
}

Result<int> StoreSubcommands::Best() {
  TW_ASSIGN_OR_RETURN(const auto selection, records::Selection::Parse(target_, task_));
  TW_ASSIGN_OR_RETURN(auto list, records::BestOfStore(*templates_, store_, top_));
  std::erase_if(list, [&selection](const records::BestTrial& best) {
    return !selection.Includes(best.record.trial.candidate);
  });
  TW_ASSIGN_OR_RETURN(const auto summary, records::Summarize(*templates_, store_));
  TW_ASSIGN_OR_RETURN(const auto store,
                      records::Store::Open(store_, records::Store::Mode::kReadOnly));
  TW_ASSIGN_OR_RETURN(auto imported, records::CheapestImported(store, top_));
  std::erase_if(imported, [&selection](const records::ImportedRecord& record) {
    return !selection.Includes(record);
  });
  const StoreNames names(summary.tasks);
  session::TextTable table({{"task", false, 24},
                            {"value", true},
                            {"noise", true},
                            {"config", true},
                            {"template", false, 8},
                            {"race"}});
  Json out = Json::array();
  for (const records::BestTrial& best : list) {
    const Trial& trial = best.record.trial;
    const Candidate& candidate = trial.candidate;
    if (json_) {
      out.push_back(
          {{"task", candidate.task.workload.Key()},
           {"target", candidate.task.target.ToString()},
           {"device", trial.device.model},
           {"template", candidate.template_key},
           {"config", *ParseJson(candidate.config.ToString())},
           {"value", trial.value},
           {"metric", trial.metric},
           {"noise", trial.noise},
           {"quiet_share", trial.clean_fraction < 0 ? Json() : Json(trial.clean_fraction)},
           {"disturbed", trial.noisy()},
           {"raced", best.raced},
           {"tied_with", best.tied},
           {"record", best.record.id}});
      continue;
    }
    table.AddRow(
        {Printable(names.Of(candidate.task.workload.Key(), candidate.task.target.ToString())),
         session::ShortValue(trial.metric, trial.value),
         fmt::format("+-{:.1f} %", 100 * trial.noise), fmt::format("#{}", candidate.config.index),
         Printable(candidate.template_key), best.raced ? "won" : "-"});
    if (trial.noisy()) table.AddLines("  disturbed: measured in noise");
    if (!best.tied.empty()) {
      table.AddLines(session::WrapText(
          "  ", fmt::format("tied with #{}", fmt::join(best.tied, " #")), session::kTextWidth, 4));
    }
  }
  if (json_) {
    Json cheapest = Json::array();
    for (const records::ImportedRecord& record : imported) cheapest.push_back(ImportedJson(record));
    PrintJson({{"best", out}, {"imported", std::move(cheapest)}});
    return kExitDone;
  }
  PrintTable(table);
  ImportedTable others(/*results=*/false);
  for (const records::ImportedRecord& record : imported) others.Add(record);
  others.Finish();
  if (list.empty() && imported.empty() && !selection.all()) {
    PrintErr(
        "no record has this --target and --task; `tilewright records stats {}` lists what the "
        "store has\n",
        ShellWord(store_));
    return kExitFailed;
  }
  return kExitDone;
}

Result<int> StoreSubcommands::Merge() {
  TW_ASSIGN_OR_RETURN(auto reports, records::MergeStores(*templates_, store_, from_));
  Json out = Json::array();
  std::int64_t refused = 0;
  for (const records::MergeReport& report : reports) {
    out.push_back({{"store", report.path},
                   {"store_id", report.store_id},
                   {"trials", report.trials},
                   {"added", report.added},
                   {"duplicates", report.trials - report.added},
                   {"refused", report.refused},
                   {"reasons", report.reasons},
                   {"log_entries_added", report.log_entries_added},
                   {"sha256", report.sha256}});
    refused += report.refused;
    for (const std::string& reason : report.reasons) {
      PrintErr("{}: refused: {}\n", report.path, reason);
    }
    if (const auto more = report.refused - std::ssize(report.reasons); more > 0) {
      PrintErr("{}: refused: {} more\n", report.path, more);
    }
    if (json_) continue;
    PrintOut("{}: {}, {} added, {} known; all {} are in {}, SHA-256 {} of both{}\n", report.path,
             Counted(report.trials, "trial"), report.added, report.trials - report.added,
             report.trials, store_, report.sha256.substr(0, 16),
             report.refused == 0 ? "" : "; " + Counted(report.refused, "row") + " refused");
  }
  if (json_) PrintJson({{"into", store_}, {"merged", out}});
  return refused == 0 ? kExitDone : kExitFailed;
}

Result<int> StoreSubcommands::SplitUp() {
  auto by = records::ParseSplitBy(by_);
  if (!by.ok()) return by.status().WithContext("--by");
  TW_ASSIGN_OR_RETURN(auto parts, records::SplitStore(store_, output_, *by));
  session::TextTable table(
      {{by_, false, 16}, {"trials", true}, {"imported", true}, {"store", false, 34}});
  std::vector<std::string> names;
  for (const records::SplitPart& part : parts) names.push_back(part.value);
  if (*by == records::SplitBy::kTarget) names = TargetNames(names);
  Json out = Json::array();
  for (const records::SplitPart& part : parts) {
    out.push_back({{"store", part.path},
                   {"value", part.value},
                   {"trials", part.trials},
                   {"imported", part.imported},
                   {"sha256", part.sha256}});
    table.AddRow({Printable(names[out.size() - 1]), std::to_string(part.trials),
                  std::to_string(part.imported),
                  Printable(part.path.substr(part.path.rfind('/') + 1))});
  }
  if (json_) {
    PrintJson({{"by", by_}, {"parts", out}});
  } else {
    PrintTable(table);
    PrintOut("{} in {}\n", Counted(std::ssize(parts), "store"), output_);
  }
  return kExitDone;
}

Result<int> StoreSubcommands::Prune() {
  TW_ASSIGN_OR_RETURN(auto report, records::PruneStore(*templates_, store_, prune_));
  if (json_) {
    PrintJson({{"store", store_},
               {"dry_run", prune_.dry_run},
               {"trials", report.trials},
               {"removed", report.removed},
               {"kept_best", report.kept_best},
               {"kept_raced", report.kept_raced},
               {"kept_training", report.kept_training},
               {"kept_unfinished", report.kept_unfinished}});
    return kExitDone;
  }
  PrintOut(
      "{}: {} of {} {}removed; kept: {} best, {} of races, {} for training, {} of "
      "unfinished jobs (some are several of these)\n",
      store_, report.removed, Counted(report.trials, "trial"), prune_.dry_run ? "would be " : "",
      report.kept_best, report.kept_raced, report.kept_training, report.kept_unfinished);
  if (!prune_.dry_run && report.removed > 0) {
    PrintOut("`tilewright records vacuum {}` releases the space\n", store_);
  }
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
