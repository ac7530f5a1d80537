#include "records/validation/row_validator.h"

#include <utility>

#include "records/copy.h"
#include "records/validation/schedules.h"
#include "src/templates/open/open_template.h"
#include "src/templates/template_keys.h"
#include "src/templates/text/text_template.h"

namespace tilewright::records {

std::pair<std::string, std::string> JobAndStore(std::string_view name, const std::string& own) {
  const std::size_t at = name.find('@');
  if (at == std::string_view::npos) return {std::string(name), own};
  return {std::string(name.substr(0, at)), std::string(name.substr(at + 1))};
}

Result<RowValidator> RowValidator::Create(const TemplateRegistry& templates, const Database& db,
                                          std::string_view schema) {
  RowValidator inspector(templates, db, schema);
  TW_ASSIGN_OR_RETURN(inspector.store_id_, StoreIdOf(db, schema));
  TW_ASSIGN_OR_RETURN(inspector.columns_, TrialColumnsIn(db, schema));
  inspector.latest_ = MaxPlausibleDate();
  TW_RETURN_IF_ERROR(inspector.ReadTexts());
  return inspector;
}

Status RowValidator::ReadTexts() {
  TW_ASSIGN_OR_RETURN(
      auto query,
      Statement::Prepare(*db_, "SELECT key, value, typeof(value) FROM " + schema_ + ".fact WHERE " +
                                   TextKeySql("key") + " ORDER BY key"));
  while (true) {
    TW_ASSIGN_OR_RETURN(auto row, query.Step());
    if (!row) return {};
    const std::string key(query.Text(0));
    std::string& wrong = invalid_texts_[key];
    if (IsOpenTaskKey(key)) {
      const Status added = query.Text(2) != "text"
                               ? InvalidArgument("its text is not a text")
                               : AddOpenTaskText(templates_, key, query.Text(1), "its text");
      wrong = added.message();
      if (added.ok()) invalid_texts_.erase(key);
      continue;
    }
    auto parsed = ParseScheduleText(query.Text(1), "its text");
    const std::string* known = templates_.TextOf(key);
    if (query.Text(2) != "text") {
      wrong = "its text is not a text";
    } else if (!parsed.ok()) {
      wrong = parsed.status().message();
    } else if (!AcceptScheduleKey(key, *parsed) || parsed->text != query.Text(1)) {
      wrong = "its text is that of another one";
    } else if (known != nullptr && *known != parsed->text) {
      wrong = "its text is not the one that is known here by this name";
    } else if (const Status added = AddScheduleText(templates_, *std::move(parsed)); !added.ok()) {
      wrong = added.message();
    }
    if (wrong.empty()) invalid_texts_.erase(key);
  }
}

Result<std::string> RowValidator::InvalidReason(const Statement& row) {
  constexpr int kIndexColumn = kTrialColumnCount, kJobColumn = kIndexColumn + 1;
  const auto record = ReadRow(*db_, row, texts_);
  if (!record.ok()) {
    if (record.status().code() != StatusCode::kCorrupt) return record.status();
    const std::string place = "trial " + std::string(row.Text(0)) + ": ";
    const std::string& message = record.status().message();
    return message.starts_with(place) ? message.substr(place.size()) : message;
  }
  const Trial& trial = record->trial;
  const double least = min_seconds_.Of(row.Int(2), row.Int(3), trial.candidate.task);
  if (std::string wrong = InvalidValuesReason(trial, least); !wrong.empty()) return wrong;
  if (trial.finished_unix_seconds > latest_) return std::string("its date is in the future");
  const std::string& key = trial.candidate.template_key;
  if (const auto text = invalid_texts_.find(key); text != invalid_texts_.end()) {
    return "its schedule: " + text->second;
  }
  if (std::string wrong = spaces_.InvalidReason(templates_, trial.candidate); !wrong.empty()) {
    return wrong;
  }
  if (row.Type(kIndexColumn) != 'I' || row.Int(kIndexColumn) != trial.candidate.config.index) {
    return std::string("its index differs from its config's");
  }
  if (row.Type(kJobColumn) != 'T') return std::string("its job has no name");
  const auto [job, store] = JobAndStore(row.Text(kJobColumn), store_id_);
  if (!store.empty() && !IsIdOf(record->id, store, job, trial)) {
    return std::string("its id is not the hash of what it identifies: it was changed");
  }
  return std::string();
}

Status RowValidator::ForEachInvalid(std::string_view ids, const Visit& wrong) {
  std::string sql = "SELECT " + columns_ + ", trial.config_index, job.name FROM " + schema_ +
                    ".trial AS trial LEFT JOIN " + schema_ + ".job AS job ON job.id = trial.job";
  if (!ids.empty()) sql += " WHERE trial.id IN (" + std::string(ids) + ")";
  TW_ASSIGN_OR_RETURN(auto query, Statement::Prepare(*db_, sql + " ORDER BY trial.rowid"));
  while (true) {
    TW_ASSIGN_OR_RETURN(auto row, query.Step());
    if (!row) return {};
    TW_ASSIGN_OR_RETURN(auto why, InvalidReason(query));
    if (!why.empty() && !wrong(std::string(query.Text(0)), why)) return {};
  }
}

}  // namespace tilewright::records
