#include "python_free_cli/record_tables.h"

#include <fmt/format.h>

#include <set>

#include "measure/supervisor/process_measurer.h"
#include "python_free_cli/print.h"
#include "src/base/printable.h"
#include "src/session/format.h"
#include "src/session/names.h"
#include "src/target/short_target.h"

namespace tilewright::cli {
namespace {

constexpr int kRowsAtOnce = 500;

// Names of this many imported records are told apart.
constexpr std::size_t kNamedAtOnce = 5000;

}  // namespace

StoreNames::StoreNames(const std::vector<records::TaskSummary>& tasks) {
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

std::string ImportedFrom(const std::string& package, const std::string& file) {
  return package.empty() ? file : "package " + package;
}

TrialTable::TrialTable(const StoreNames& names)
    : names_(names),
      table_({{"record"},
              {"outcome"},
              {"value", true},
              {"task", false, 24},
              {"config", true},
              {"template", false, 8}}) {}

void TrialTable::Add(const records::Record& record) {
  constexpr std::size_t kIdShown = 8;
  const Trial& t = record.trial;
  const Task& task = t.candidate.task;
  table_.AddRow({record.id.substr(0, kIdShown), std::string(OutcomeName(t.outcome)),
                 session::ShortValue(t.metric, t.value),
                 Printable(names_.Of(task.workload.Key(), task.target.ToString())),
                 fmt::format("#{}", t.candidate.config.index),
                 Printable(t.candidate.template_key)});
  if (t.noisy()) table_.AddLines("  disturbed: measured in noise");
  if (t.outcome != Outcome::kOk) {
    if (!t.reason.empty()) {
      table_.AddLines(session::WrapText("  ", Printable(t.reason), session::kTextWidth, 4));
    }
    const std::string again = measure::ReproduceCommand(t.candidate);
    if (!again.empty()) table_.AddLines("  again: " + Printable(again));
  }
  if (++waiting_ < kRowsAtOnce) return;
  PrintTable(table_);
  waiting_ = 0;
}

void TrialTable::Finish() { PrintTable(table_); }

ImportedTable::ImportedTable(bool results) : results_(results), table_(MakeTable()) {}

session::TextTable ImportedTable::MakeTable() const {
  std::vector<session::TextTable::Column> columns = {{"line", true}};
  if (results_) columns.push_back({"outcome"});
  columns.push_back({"time", true});
  columns.push_back({"task", false, 24});
  columns.push_back({"config", true});
  columns.push_back({"template", false, 8});
  return session::TextTable(std::move(columns));
}

void ImportedTable::Add(const records::ImportedRecord& record) {
  const std::string from = "imported from " + ImportedFrom(record.package, record.file) +
                           ", not verified, for " + record.target + ":";
  if (from != from_ || rows_.size() >= kNamedAtOnce) PrintRows();
  if (from != from_) {
    table_ = MakeTable();
    if (!from_.empty()) PrintOut("\n");
    PrintWrapped(Printable(from));
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

void ImportedTable::PrintRows() {
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
  PrintTable(table_);
}

void ImportedTable::Finish() { PrintRows(); }

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

void PrintImported(const std::vector<records::ImportedSummary>& imported) {
  if (imported.empty()) return;
  // A target that is cut or shortened would not be found by a query.
  session::TextTable table({{"imported from", false, 16},
                            {"target"},
                            {"records", true},
                            {"tasks", true},
                            {"failed", true}});
  for (const records::ImportedSummary& one : imported) {
    table.AddRow({Printable(ImportedFrom(one.package, one.file)),
                  Printable(records::MatchedTargetText(one.target)), std::to_string(one.records),
                  std::to_string(one.tasks), std::to_string(one.failed)});
  }
  PrintTable(table);
  PrintWrapped(
      "Imported records are not verified; `query` and `compile` use them with --rule autotvm.");
}

}  // namespace tilewright::cli
