#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "records/autotvm/imported_summary.h"
#include "records/maintenance.h"
#include "records/store.h"
#include "src/session/text_table.h"
#include "src/target/target.h"
#include "src/tensor/workload.h"

namespace tilewright::cli {

/// Names of a store's tasks, distinct within the store. An expression is called by its file.
class StoreNames {
 public:
  explicit StoreNames(const std::vector<records::TaskSummary>& tasks);
  /// Returns the name of a task of the store.
  std::string Of(const std::string& workload_key, const std::string& target) const;

 private:
  std::map<std::pair<std::string, std::string>, std::string> names_;
};

/// Returns "package cuda", or the file of a log.
std::string ImportedFrom(const std::string& package, const std::string& file);

/// `records list` as text: a table of trials, printed in parts while it grows. The destructor does
/// not print.
class TrialTable {
 public:
  explicit TrialTable(const StoreNames& names);
  void Add(const records::Record& record);
  /// Prints the remaining rows.
  void Finish();

 private:
  const StoreNames& names_;
  session::TextTable table_;
  int waiting_ = 0;
};

/// Returns short texts for targets, but the whole text for those that have the same short text.
std::vector<std::string> TargetNames(const std::vector<std::string>& targets);

/// Table of imported records, with a line before the records of each file and target. Names are
/// distinct within some thousand records of them.
class ImportedTable {
 public:
  /// results: with a column for the result of the measurement.
  explicit ImportedTable(bool results);
  void Add(const records::ImportedRecord& record);
  void Finish();

 private:
  /// Cells of a record, without the name of its task.
  struct Row {
    std::string line, outcome, time, task, config, template_key;
    std::optional<Workload> workload;
  };
  session::TextTable MakeTable() const;
  void PrintRows();

  bool results_;
  std::string from_;
  std::vector<Row> rows_;
  session::TextTable table_;
};

/// Prints the imported records of a store by file and target; nothing if there are none.
void PrintImported(const std::vector<records::ImportedSummary>& imported);

}  // namespace tilewright::cli
