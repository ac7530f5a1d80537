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

/// Looks at the rows of a store, or of a package's database, before any of them is used or copied:
/// what `records check` finds, merging and building packages leave out, and a package is refused
/// for. One for each attached database; texts of schedules that the store has are looked at first.
class RowValidator {
 public:
  /// False ends the reading.
  using Visit = std::function<bool(const std::string& id, const std::string& why)>;

  /// templates: whose spaces configs are looked up in, and borrowed. schema: of the attached
  /// database.
  /// Errors: those of reading.
  static Result<RowValidator> Create(const TemplateRegistry& templates, const Database& db,
                                     std::string_view schema);

  /// Names of schedules whose texts are wrong, and why: no text of a schedule, another one's, or
  /// not the one that is known here by that name.
  const std::map<std::string, std::string>& invalid_texts() const { return invalid_texts_; }

  /// Calls `wrong` for each trial that may not be used: a column has the wrong type, a value makes
  /// no sense, its date is in the future, the config is not in its template's space, its schedule's
  /// text is wrong, or its id is not the hash of what it identifies.
  /// ids: SQL that selects the ids of the trials to look at; empty: all.
  /// Errors: those of reading.
  Status ForEachInvalid(std::string_view ids, const Visit& wrong);

 private:
  static constexpr std::size_t kMaxSpaces = 1024;  // rows are not in the order of their tasks
  RowValidator(const TemplateRegistry& templates, const Database& db, std::string_view schema)
      : templates_(templates), db_(&db), schema_(schema), texts_(schema_) {}
  Status ReadTexts();
  /// Why the trial in the statement's row may not be used; empty if it may.
  Result<std::string> InvalidReason(const Statement& row);

  TemplateRegistry templates_;  // with the sound texts of the store
  const Database* db_;
  std::string schema_, store_id_, columns_;
  TextCache texts_;
  SpaceCache spaces_{kMaxSpaces};
  std::map<std::string, std::string> invalid_texts_;
  MinSecondsCache min_seconds_;
  double latest_ = 0;
};

/// Calls `wrong` for each imported record that may not be used: a column has the wrong type, its
/// cost is below any device's time, or its digest is not that of its values. False ends the
/// reading. Errors: those of reading.
Status ForEachInvalidImported(
    const Database& db, std::string_view schema,
    const std::function<bool(std::int64_t id, const std::string& why)>& wrong);

/// A job's own name, and the store it was run in. own: of the store that has the row.
std::pair<std::string, std::string> JobAndStore(std::string_view name, const std::string& own);

}  // namespace tilewright::records
