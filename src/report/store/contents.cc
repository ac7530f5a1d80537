#include "src/report/store/contents.h"

#include <fmt/format.h>

#include <map>

#include "records/package/package.h"
#include "records/store.h"
#include "src/base/json.h"
#include "src/base/printable.h"
#include "src/base/text/plural.h"
#include "src/report/store/record_tables.h"
#include "src/session/format.h"
#include "src/session/text_table.h"
#include "src/templates/device.h"

namespace tilewright::report {
namespace {

double Megabytes(std::int64_t bytes) { return 1e-6 * static_cast<double>(bytes); }

/// Returns the metric of a target's trials.
std::string MetricOfText(const std::string& target_text) {
  auto target = Target::Parse(target_text);
  return target.ok() ? MetricOf(*target) : "seconds";
}

/// Returns the table of the tasks of one target and device. Trials and configs of races are
/// verified or failed, unless the device does not verify.
std::string TasksText(const std::vector<const records::TaskSummary*>& tasks,
                      const StoreNames& names, int columns) {
  session::TextTable table({{"task", false, 16},
                            {"trials", true},
                            {"in races", true},
                            {"verified", true},
                            {"failed", true},
                            {"best", true}},
                           columns);
  const auto add = [&table](const std::string& name, const records::TaskSummary& task,
                            const std::string& best) {
    table.AddRow({name, std::to_string(task.searched()), std::to_string(task.raced),
                  std::to_string(task.verified), std::to_string(task.failed), best});
  };
  records::TaskSummary all;
  for (const records::TaskSummary* task : tasks) {
    add(Printable(names.Of(task->workload_key, task->target)), *task,
        session::ShortValue(MetricOfText(task->target), task->best));
    all.trials += task->trials;
    all.raced += task->raced;
    all.additional += task->additional;
    all.verified += task->verified;
    all.failed += task->failed;
  }
  if (tasks.size() > 1) add(Counted(std::ssize(tasks), "task"), all, "");
  return table.Take();
}

Json BestImportedJson(const records::ImportedRecord& record) {
  return {{"task", record.workload_key}, {"tuple", record.tuple}, {"target", record.target},
          {"template", record.task},     {"index", record.index}, {"value", record.cost},
          {"metric", "seconds"},         {"verified", false},     {"package", record.package},
          {"file", record.file},         {"line", record.line}};
}

/// Returns the table of the best trials of one target and device.
std::string BestText(const std::vector<const records::BestTrial*>& bests, const StoreNames& names,
                     int columns) {
  session::TextTable table({{"task", false, 16},
                            {"value", true},
                            {"noise", true},
                            {"config", true},
                            {"template", false, 8},
                            {"race"}},
                           columns);
  for (const records::BestTrial* best : bests) {
    const Trial& trial = best->record.trial;
    const Candidate& candidate = trial.candidate;
    table.AddRow(
        {Printable(names.Of(candidate.task.workload.Key(), candidate.task.target.ToString())),
         session::ShortValue(trial.metric, trial.value),
         fmt::format("+-{:.1f} %", 100 * trial.noise), fmt::format("#{}", candidate.config.index),
         Printable(candidate.template_key), best->raced ? "won" : "-"});
    if (trial.noisy()) table.AddLines("  disturbed: measured in noise");
    if (!best->tied.empty()) {
      table.AddLines(session::WrapText("  ",
                                       fmt::format("tied with #{}", fmt::join(best->tied, " #")),
                                       session::TextWidth(), 4));
    }
  }
  return table.Take();
}

}  // namespace

Result<StoreContents> StoreContents::Read(const TemplateRegistry& templates,
                                          const std::string& path) {
  TW_ASSIGN_OR_RETURN(auto summary, records::Summarize(templates, path));
  TW_ASSIGN_OR_RETURN(const auto store,
                      records::Store::Open(path, records::Store::Mode::kReadOnly));
  TW_ASSIGN_OR_RETURN(auto imported, records::SummarizeImported(store));
  return StoreContents{path, std::move(summary), std::move(imported)};
}

Json StoreContents::ToJson() const {
  Json out = {{"store", path},
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
                            {"in_races", task.raced},
                            {"additional", task.additional},
                            {"metric", metric},
                            {"best_" + metric, task.best},
                            {"outcomes", task.outcomes}});
  }
  out["imported"] = ImportedJson(imported);
  return out;
}

std::string StoreContents::ToText(int columns) const {
  const StoreNames names(summary.tasks);
  std::map<std::string, std::vector<const records::TaskSummary*>> by_device;
  for (const records::TaskSummary& task : summary.tasks) {
    by_device[names.Heading(task.target, task.device)].push_back(&task);
  }
  std::string text;
  for (const auto& [heading, tasks] : by_device) {
    text +=
        session::WrapText("", Printable(heading)) + "\n" + TasksText(tasks, names, columns) + "\n";
  }
  text += ImportedText(imported, path, columns);
  if (!imported.empty()) text += "\n";
  text += session::WrapText("", Totals()) + "\n";
  if (summary.trials > 0) {
    text += fmt::format("measured from {} to {}\n", records::UtcText(summary.oldest_unix_seconds),
                        records::UtcText(summary.newest_unix_seconds));
  }
  return text;
}

std::string StoreContents::Totals() const {
  std::int64_t searched = 0, raced = 0, imports = 0;
  for (const records::TaskSummary& task : summary.tasks) {
    searched += task.searched();
    raced += task.raced;
  }
  for (const records::ImportedSummary& one : imported) imports += one.records;
  std::string text =
      fmt::format("{}, {}{}, {} ({} unfinished), ", Counted(std::ssize(summary.tasks), "task"),
                  Counted(searched, "trial"),
                  raced > 0 ? " and " + Counted(raced, "measurement") + " in races" : "",
                  Counted(summary.jobs, "job"), summary.unfinished_jobs);
  if (imports > 0) text += Counted(imports, "imported record") + ", ";
  text += fmt::format("{:.1f} MB", Megabytes(summary.file_bytes));
  constexpr double kPrinted = 0.05;
  const double free = Megabytes(summary.free_bytes);
  return free < kPrinted ? text : text + fmt::format(", {:.1f} MB of it free", free);
}

Result<StoreBest> StoreBest::Read(const TemplateRegistry& templates, const std::string& path,
                                  const records::Selection& selection, std::int64_t top) {
  StoreBest best;
  TW_ASSIGN_OR_RETURN(best.trials, records::BestOfStore(templates, path, top));
  std::erase_if(best.trials, [&selection](const records::BestTrial& one) {
    return !selection.Includes(one.record.trial.candidate);
  });
  TW_ASSIGN_OR_RETURN(auto summary, records::Summarize(templates, path));
  best.tasks = std::move(summary.tasks);
  TW_ASSIGN_OR_RETURN(const auto store,
                      records::Store::Open(path, records::Store::Mode::kReadOnly));
  TW_ASSIGN_OR_RETURN(best.imported, records::CheapestImported(store, top));
  std::erase_if(best.imported, [&selection](const records::ImportedRecord& record) {
    return !selection.Includes(record);
  });
  return best;
}

Json StoreBest::ToJson() const {
  Json out = Json::array(), cheapest = Json::array();
  for (const records::BestTrial& best : trials) {
    const Trial& trial = best.record.trial;
    const Candidate& candidate = trial.candidate;
    out.push_back({{"task", candidate.task.workload.Key()},
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
  }
  for (const records::ImportedRecord& record : imported) {
    cheapest.push_back(BestImportedJson(record));
  }
  return {{"best", std::move(out)}, {"imported", std::move(cheapest)}};
}

std::string StoreBest::ToText(int columns) const {
  const StoreNames names(tasks);
  std::map<std::string, std::vector<const records::BestTrial*>> by_device;
  for (const records::BestTrial& best : trials) {
    const Trial& trial = best.record.trial;
    by_device[names.Heading(trial.candidate.task.target.ToString(), trial.device.model)].push_back(
        &best);
  }
  std::string text;
  for (const auto& [heading, bests] : by_device) {
    text += (text.empty() ? "" : "\n") + session::WrapText("", Printable(heading)) + "\n" +
            BestText(bests, names, columns);
  }
  if (!text.empty() && !imported.empty()) text += "\n";
  ImportedListing others(/*results=*/false, columns,
                         [&text](const std::string& lines) { text += lines; });
  for (const records::ImportedRecord& record : imported) others.Add(record);
  others.Finish();
  return text;
}

}  // namespace tilewright::report
