// Subcommands of `tilewright records`: each opens its stores, calls one function of records/, and
// prints the result as a table or as JSON.

#include "python_free_cli/commands/store_subcommands.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "python_free_cli/command.h"
#include "python_free_cli/print.h"
#include "python_free_cli/tune_display.h"
#include "records/merge.h"
#include "records/package/package.h"
#include "src/base/files/output_file.h"
#include "src/base/json.h"
#include "src/session/format.h"
#include "src/templates/device.h"

namespace tilewright::cli {
namespace {

double Megabytes(std::int64_t bytes) { return 1e-6 * static_cast<double>(bytes); }

std::string NameOf(const std::string& workload_key) {
  auto workload = Workload::Parse(workload_key);
  return workload.ok() ? session::ShortName(*workload) : workload_key;
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
  sub->add_option("store", store_, "Record store")->required();
  if (run != &StoreSubcommands::Csv) sub->add_flag("--json", json_, "Print JSON");
  sub->callback([this, run] { run_ = run; });
  return sub;
}

void StoreSubcommands::Declare(CLI::App& app) {
  Add(app, "stats", "Trials and best times per task, and what the file holds",
      &StoreSubcommands::Stats);
  CLI::App* best = Add(app, "best", "The best configs of every task", &StoreSubcommands::Best);
  best->add_option("--top", top_, "How many of each task")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  CLI::App* merge = Add(app, "merge", "Merge stores into the first, proving that nothing is lost",
                        &StoreSubcommands::Merge);
  merge->add_option("from", from_, "Stores to merge into it")->required();
  CLI::App* split =
      Add(app, "split", "Cut a store into new ones; itself it stays", &StoreSubcommands::SplitUp);
  split->add_option("-o,--output", output_, "Folder of the new stores")->required();
  split->add_option("--by", by_, "What it is cut by")
      ->check(CLI::IsMember({"target", "device", "op", "job"}))
      ->capture_default_str();
  CLI::App* prune = Add(app, "prune", "Remove what is neither among the best nor for training",
                        &StoreSubcommands::Prune);
  prune->add_option("--best", prune_.best, "Fastest trials kept of each task, and ties with them")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  prune
      ->add_option("--training", prune_.training,
                   "Trials kept of each task for cost models (-1: all)")
      ->check(CLI::Range(std::int64_t{-1}, std::int64_t{1} << 40))
      ->capture_default_str();
  prune->add_flag("--dry-run", prune_.dry_run, "Only say what would be removed");
  Add(app, "check", "Check the file and every trial; exit code 1 if something is wrong",
      &StoreSubcommands::Check);
  CLI::App* backup = Add(app, "backup", "A consistent copy of a store, also while it is written to",
                         &StoreSubcommands::Backup);
  backup->add_option("output", output_, "File to write, which may not be there yet")->required();
  CLI::App* vacuum = Add(app, "vacuum", "Give free space back, or write a compact read-only copy",
                         &StoreSubcommands::Vacuum);
  vacuum->add_option("--into", output_, "Write a copy here instead");
  CLI::App* csv = Add(app, "export-csv", "Every trial as a line of CSV", &StoreSubcommands::Csv);
  csv->add_option("-o,--output", output_, "File (default: standard output)");
  csv->add_option("--task", filter_.workload_key, "Only this workload key");
  csv->add_option("--outcome", outcome_, "Only this outcome");
}

Result<int> StoreSubcommands::Stats() {
  TW_ASSIGN_OR_RETURN(auto summary, records::Summarize(*templates_, store_));
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
    PrintJson(out);
    return kExitDone;
  }
  for (const records::TaskSummary& task : summary.tasks) {
    PrintOut("{:<38} {:>6} trials {:>6} verified  best {:>10}\n", NameOf(task.workload_key),
             task.trials, task.verified, session::ShortValue(MetricOfText(task.target), task.best));
  }
  PrintOut("{} tasks, {} trials, {} jobs ({} unfinished), {:.1f} MB, {:.1f} MB of it free\n",
           summary.tasks.size(), summary.trials, summary.jobs, summary.unfinished_jobs,
           Megabytes(summary.file_bytes), Megabytes(summary.free_bytes));
  if (summary.trials > 0) {
    PrintOut("measured from {} to {}\n", records::UtcText(summary.oldest_unix_seconds),
             records::UtcText(summary.newest_unix_seconds));
  }
  return kExitDone;
}

Result<int> StoreSubcommands::Best() {
  TW_ASSIGN_OR_RETURN(auto list, records::BestOfStore(*templates_, store_, top_));
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
    PrintOut("{:<38} {:>10} +-{:.1f} % {} #{}{}{}{}\n", session::ShortName(candidate.task.workload),
             session::ShortValue(trial.metric, trial.value), 100 * trial.noise,
             candidate.template_key, candidate.config.index, trial.noisy() ? ", disturbed" : "",
             best.raced ? ", won its race" : "",
             best.tied.empty() ? "" : fmt::format(", tied with #{}", fmt::join(best.tied, " #")));
  }
  if (json_) PrintJson({{"best", out}});
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
    PrintOut("{}: {} trials, {} added, {} known; all {} are in {}, SHA-256 {} of both{}\n",
             report.path, report.trials, report.added, report.trials - report.added, report.trials,
             store_, report.sha256.substr(0, 16),
             report.refused == 0 ? "" : fmt::format("; {} rows refused", report.refused));
  }
  if (json_) PrintJson({{"into", store_}, {"merged", out}});
  return refused == 0 ? kExitDone : kExitFailed;
}

Result<int> StoreSubcommands::SplitUp() {
  auto by = records::ParseSplitBy(by_);
  if (!by.ok()) return by.status().WithContext("--by");
  TW_ASSIGN_OR_RETURN(auto parts, records::SplitStore(store_, output_, *by));
  Json out = Json::array();
  for (const records::SplitPart& part : parts) {
    out.push_back({{"store", part.path},
                   {"value", part.value},
                   {"trials", part.trials},
                   {"sha256", part.sha256}});
    if (!json_) PrintOut("{}: {} trials of '{}'\n", part.path, part.trials, part.value);
  }
  if (json_) PrintJson({{"by", by_}, {"parts", out}});
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
      "{}: {} of {} trials {}removed; kept: {} best, {} of races, {} for training, {} of "
      "unfinished jobs (some are several of these)\n",
      store_, report.removed, report.trials, prune_.dry_run ? "would be " : "", report.kept_best,
      report.kept_raced, report.kept_training, report.kept_unfinished);
  if (!prune_.dry_run && report.removed > 0) {
    PrintOut("`tilewright records vacuum {}` gives the space back\n", store_);
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
    PrintOut("{}: {} trials, {:.1f} MB\n", output_, report.trials, Megabytes(report.bytes));
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
