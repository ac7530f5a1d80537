#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "records/row.h"
#include "records/sqlite.h"
#include "records/validation/rules.h"
#include "src/templates/registry.h"

namespace tilewright::records {

/// Validator of the rows of a store or a package's database, used before any row is used or copied.
/// `records check` reports its findings, merging and building packages skip invalid rows, and
/// reading a package fails on them. One object validates one attached database; it reads the
/// store's schedule texts first.
class RowValidator {
 public:
  /// Callback with the id of a row and the reason why it is invalid; returns false to stop.
  using Visit = std::function<bool(const std::string& id, const std::string& why)>;

  /// templates: borrowed; configs are looked up in their spaces. schema: of the attached database.
  /// Errors: those of reading.
  static Result<RowValidator> Create(const TemplateRegistry& templates, const Database& db,
                                     std::string_view schema);

  /// Returns the names of invalid schedule texts with the reasons: not a schedule, the text of
  /// another name, or different from the known one of that name.
  const std::map<std::string, std::string>& invalid_texts() const { return invalid_texts_; }

  /// Calls `wrong` for each invalid trial: a column has the wrong type, a value is implausible, its
  /// date is in the future, the config is not in its template's space, its schedule's text is
  /// invalid, or its id is not the hash of what it identifies. ids: SQL that selects the ids of the
  /// trials to validate; empty: all.
  /// Errors: those of reading.
  Status ForEachInvalid(std::string_view ids, const Visit& wrong);

 private:
  static constexpr std::size_t kMaxSpaces = 1024;  // rows are not in the order of their tasks
  RowValidator(const TemplateRegistry& templates, const Database& db, std::string_view schema)
      : templates_(templates), db_(&db), schema_(schema), texts_(schema_) {}
  Status ReadTexts();
  /// Returns the reason why the trial in the statement's row is invalid; empty if it is valid.
  Result<std::string> InvalidReason(const Statement& row);

  TemplateRegistry templates_;  // with the valid schedule texts of the store
  const Database* db_;
  std::string schema_, store_id_, columns_;
  TextCache texts_;
  SpaceCache spaces_{kMaxSpaces};
  std::map<std::string, std::string> invalid_texts_;
  MinSecondsCache min_seconds_;
  double latest_ = 0;
};

/// Calls `wrong` for each invalid imported record: a column has the wrong type, its cost is below
/// any device's time, or its digest is not that of its values. Stops if `wrong` returns false.
/// Errors: those of reading.
Status ForEachInvalidImported(
    const Database& db, std::string_view schema,
    const std::function<bool(std::int64_t id, const std::string& why)>& wrong);

/// Splits a job's name into its original name and the store of its run. own: id of the store that
/// contains the row.
std::pair<std::string, std::string> JobAndStore(std::string_view name, const std::string& own);

}  // namespace tilewright::records
