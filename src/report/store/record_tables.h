#pragma once

#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "records/autotvm/imported_summary.h"
#include "records/maintenance.h"
#include "records/store.h"
#include "src/session/text_table.h"
#include "src/target/target.h"
#include "src/tensor/workload.h"

namespace tilewright::report {

/// Names of a store's tasks, distinct within the store, and of the targets and devices that they
/// were measured for. An expression is called by its file.
class StoreNames {
 public:
  explicit StoreNames(const std::vector<records::TaskSummary>& tasks);
  /// Returns the name of a task of the store.
  std::string Of(const std::string& workload_key, const std::string& target) const;
  /// Returns "measured for llvm -mcpu=znver4 on AMD EPYC:". device: model.
  std::string Heading(const std::string& target, const std::string& device) const;
  /// Returns whether all tasks have one target and one device.
  bool has_one_device() const { return devices_.size() <= 1; }

 private:
  std::map<std::pair<std::string, std::string>, std::string> names_;
  std::map<std::string, std::string> targets_;             // names by text
  std::set<std::pair<std::string, std::string>> devices_;  // targets and devices
};

/// Returns "package cuda", or the file of a log.
std::string ImportedFrom(const std::string& package, const std::string& file);

/// Receives the lines of a table that grows, already printable.
using TableSink = std::function<void(const std::string&)>;

/// Table of trials, which is passed on in parts while it grows, with a heading before those of each
/// target and device if the store has several. The destructor passes on nothing.
class TrialListing {
 public:
  /// columns: maximum width; 0: no limit. names: outlives the table.
  TrialListing(const StoreNames& names, int columns, TableSink sink);
  void Add(const records::Record& record);
  /// Passes on the remaining rows.
  void Finish();

 private:
  session::TextTable MakeTable() const;

  const StoreNames& names_;
  int columns_;
  TableSink sink_;
  std::string heading_;
  session::TextTable table_;
  int waiting_ = 0;
};

/// Returns short texts for targets, but the whole text for those that have the same short text.
std::vector<std::string> TargetNames(const std::vector<std::string>& targets);

/// Table of imported records, with a line before the records of each file and target. Names are
/// distinct within some thousand records of them.
class ImportedListing {
 public:
  /// results: with a column for the result of the measurement. columns, sink: as for TrialListing.
  ImportedListing(bool results, int columns, TableSink sink);
  void Add(const records::ImportedRecord& record);
  void Finish();

 private:
  /// Cells of a record, without the name of its task.
  struct Row {
    std::string line, outcome, time, task, config, template_key;
    std::optional<Workload> workload;
  };
  session::TextTable MakeTable() const;
  void PassRows();

  bool results_;
  int columns_;
  TableSink sink_;
  std::string from_;
  std::vector<Row> rows_;
  session::TextTable table_;
};

/// Returns the imported records of a store by file and target as a table, and how to ask for them;
/// empty if there are none. store: its file.
std::string ImportedText(const std::vector<records::ImportedSummary>& imported,
                         const std::string& store, int columns);
/// Returns the same as an array.
nlohmann::ordered_json ImportedJson(const std::vector<records::ImportedSummary>& imported);

/// Returns a trial with all of its values, as `records list --json` prints it.
nlohmann::ordered_json TrialJson(const records::Record& record);
/// Returns the same of an imported record.
nlohmann::ordered_json ImportedTrialJson(const records::ImportedRecord& record);

}  // namespace tilewright::report
