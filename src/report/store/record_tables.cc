#include "src/report/store/record_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "measure/supervisor/process_measurer.h"
#include "src/base/json.h"
#include "src/base/printable.h"
#include "src/base/shell/quote.h"
#include "src/session/format.h"
#include "src/session/names.h"
#include "src/target/short_target.h"

namespace tilewright::report {
namespace {

constexpr int kRowsAtOnce = 500;

// Names of this many imported records are told apart.
constexpr std::size_t kNamedAtOnce = 5000;

// Targets share tasks, so their numbers of tasks have no sum.
constexpr std::int64_t kUnknownTasks = -1;

void AddCounts(const records::ImportedSummary& one, records::ImportedSummary& sum) {
  sum.records += one.records;
  sum.tasks = kUnknownTasks;
  sum.failed += one.failed;
}

}  // namespace

StoreNames::StoreNames(const std::vector<records::TaskSummary>& tasks) {
  std::vector<std::string> targets;
  for (const records::TaskSummary& task : tasks) {
    targets.push_back(task.target);
    devices_.emplace(task.target, task.device);
  }
  const std::vector<std::string> target_names = TargetNames(targets);
  for (std::size_t i = 0; i < tasks.size(); ++i) targets_.emplace(targets[i], target_names[i]);
  std::vector<Workload> workloads(tasks.size());
  std::vector<session::NamedTask> named(tasks.size());
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    auto workload = Workload::Parse(tasks[i].workload_key);
    named[i].target = ShortTargetText(std::string_view(tasks[i].target));
    if (workload.ok()) {
      workloads[i] = *std::move(workload);
      named[i].workload = &workloads[i];
      named[i].name = session::ExpressionName(tasks[i].graph, workloads[i]);
    } else {
      named[i].name = tasks[i].workload_key;
    }
  }
  const std::vector<std::string> names = session::DistinctNames(named);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    names_.emplace(std::pair(tasks[i].workload_key, tasks[i].target), names[i]);
  }
}

std::string StoreNames::Of(const std::string& workload_key, const std::string& target) const {
  const auto name = names_.find({workload_key, target});
  if (name != names_.end()) return name->second;
  const auto workload = Workload::Parse(workload_key);
  return workload.ok() ? session::ShortName(*workload) : workload_key;
}

std::string StoreNames::Heading(const std::string& target, const std::string& device) const {
  const auto name = targets_.find(target);
  return "measured for " + (name == targets_.end() ? target : name->second) +
         (device.empty() ? "" : " on " + device) + ":";
}

std::string ImportedFrom(const std::string& package, const std::string& file) {
  return package.empty() ? file : "package " + package;
}

TrialListing::TrialListing(const StoreNames& names, int columns, TableSink sink)
    : names_(names), columns_(columns), sink_(std::move(sink)), table_(MakeTable()) {}

session::TextTable TrialListing::MakeTable() const {
  session::TextTable table({{"record"},
                            {"outcome"},
                            {"value", true},
                            {"task", false, 16},
                            {"config", true},
                            {"template", false, 8}});
  table.set_width(columns_);
  return table;
}

void TrialListing::Add(const records::Record& record) {
  constexpr std::size_t kIdShown = 8;
  const Trial& t = record.trial;
  const Task& task = t.candidate.task;
  const std::string heading = names_.Heading(task.target.ToString(), t.device.model);
  if (!names_.has_one_device() && heading != heading_) {
    sink_(table_.Take() + (heading_.empty() ? "" : "\n") +
          session::WrapText("", Printable(heading)) + "\n");
    table_ = MakeTable();
    waiting_ = 0;
    heading_ = heading;
  }
  table_.AddRow({record.id.substr(0, kIdShown), std::string(OutcomeName(t.outcome)),
                 session::ShortValue(t.metric, t.value),
                 Printable(names_.Of(task.workload.Key(), task.target.ToString())),
                 fmt::format("#{}", t.candidate.config.index),
                 Printable(t.candidate.template_key)});
  if (t.noisy()) table_.AddLines("  disturbed: measured in noise");
  if (t.outcome != Outcome::kOk) {
    if (!t.reason.empty()) {
      table_.AddLines(session::WrapText("  ", Printable(t.reason), session::TextWidth(), 4));
    }
    const std::string again = measure::ReproduceCommand(t.candidate);
    if (!again.empty()) table_.AddLines("  again: " + Printable(again));
  }
  if (++waiting_ < kRowsAtOnce) return;
  sink_(table_.Take());
  waiting_ = 0;
}

void TrialListing::Finish() { sink_(table_.Take()); }

ImportedListing::ImportedListing(bool results, int columns, TableSink sink)
    : results_(results), columns_(columns), sink_(std::move(sink)), table_(MakeTable()) {}

session::TextTable ImportedListing::MakeTable() const {
  std::vector<session::TextTable::Column> columns = {{"line", true}};
  if (results_) columns.push_back({"outcome"});
  columns.push_back({"time", true});
  columns.push_back({"task", false, 16});
  columns.push_back({"config", true});
  columns.push_back({"template", false, 8});
  session::TextTable table(std::move(columns));
  table.set_width(columns_);
  return table;
}

void ImportedListing::Add(const records::ImportedRecord& record) {
  const std::string from = "imported from " + ImportedFrom(record.package, record.file) +
                           ", not verified, for " + record.target + ":";
  if (from != from_ || rows_.size() >= kNamedAtOnce) PassRows();
  if (from != from_) {
    table_ = MakeTable();
    sink_((from_.empty() ? "" : "\n") + session::WrapText("", Printable(from)) + "\n");
    from_ = from;
  }
  Row row{std::to_string(record.line),
          records::AutotvmErrorName(record.error),
          record.error == 0 ? session::ShortSeconds(record.cost) : "-",
          record.tuple,
          fmt::format("#{}", record.index),
          Printable(record.task),
          {}};
  if (auto workload = Workload::Parse(record.workload_key); workload.ok()) {
    row.workload = *std::move(workload);
  }
  rows_.push_back(std::move(row));
}

void ImportedListing::PassRows() {
  std::vector<session::NamedTask> named;
  for (const Row& row : rows_) {
    named.push_back(row.workload ? session::NamedTask{&*row.workload}
                                 : session::NamedTask{nullptr, {}, row.task});
  }
  const std::vector<std::string> names = session::DistinctNames(named);
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const Row& row = rows_[i];
    std::vector<std::string> cells = {row.line};
    if (results_) cells.push_back(row.outcome);
    cells.insert(cells.end(), {row.time, Printable(names[i]), row.config, row.template_key});
    table_.AddRow(std::move(cells));
  }
  rows_.clear();
  sink_(table_.Take());
}

void ImportedListing::Finish() { PassRows(); }

std::vector<std::string> TargetNames(const std::vector<std::string>& targets) {
  std::map<std::string, std::set<std::string>> by_name;
  for (const std::string& target : targets) {
    by_name[ShortTargetText(std::string_view(target))].insert(target);
  }
  std::vector<std::string> names;
  for (const std::string& target : targets) {
    const std::string name = ShortTargetText(std::string_view(target));
    names.push_back(by_name[name].size() > 1 ? target : name);
  }
  return names;
}

std::string ImportedText(const std::vector<records::ImportedSummary>& imported,
                         const std::string& store, int columns) {
  if (imported.empty()) return {};
  // Records whose targets a query cannot tell apart are counted together.
  std::vector<records::ImportedSummary> shown;
  records::ImportedSummary all;
  for (const records::ImportedSummary& one : imported) {
    const std::string target = records::MatchedTargetText(one.target);
    const auto alike = std::ranges::find_if(shown, [&](const records::ImportedSummary& other) {
      return other.target == target && other.package == one.package && other.file == one.file;
    });
    if (alike != shown.end()) {
      AddCounts(one, *alike);
    } else {
      shown.push_back(one);
      shown.back().target = target;
    }
    AddCounts(one, all);
  }
  // A target that is cut or shortened would not be found by a query.
  session::TextTable table({{"imported from", false, 13},
                            {"target"},
                            {"records", true},
                            {"tasks", true},
                            {"failed", true}});
  table.set_width(columns);
  const auto add = [&table](const std::string& from, const records::ImportedSummary& row) {
    table.AddRow({Printable(from), Printable(row.target), std::to_string(row.records),
                  row.tasks == kUnknownTasks ? "" : std::to_string(row.tasks),
                  std::to_string(row.failed)});
  };
  for (const records::ImportedSummary& row : shown) add(ImportedFrom(row.package, row.file), row);
  if (shown.size() > 1) add("all", all);
  return table.Take() +
         session::WrapText("",
                           "Imported records are not verified; `query` and `compile` use them with "
                           "--rule autotvm and their target, for example:") +
         "\n" +
         Printable("  tilewright query MODEL.onnx --rule autotvm --target " +
                   ShellWord(shown.front().target) + " --records " + ShellWord(store)) +
         "\n";
}

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

Json TrialJson(const records::Record& record) {
  const Trial& t = record.trial;
  return {{"id", record.id},
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
}

Json ImportedTrialJson(const records::ImportedRecord& record) {
  Json flags = Json::array();
  for (const std::string_view flag : records::ImportedFlagNames(record.flags)) {
    flags.push_back(std::string(flag));
  }
  return {{"id", record.digest},
          {"imported", true},
          {"task", record.workload_key},
          {"tuple", record.tuple},
          {"target", record.target},
          {"template", record.task},
          {"index", record.index},
          {"outcome", records::AutotvmErrorName(record.error)},
          {"value", record.error == 0 ? Json(record.cost) : Json()},
          {"metric", "seconds"},
          {"verified", false},
          {"package", record.package},
          {"file", record.file},
          {"line", record.line},
          {"flags", std::move(flags)}};
}

}  // namespace tilewright::report
