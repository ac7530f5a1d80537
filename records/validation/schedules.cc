#include "records/validation/schedules.h"

#include <set>

#include "records/sqlite.h"
#include "src/templates/open/open_template.h"
#include "src/templates/registry.h"
#include "src/templates/template_keys.h"

namespace tilewright::records {
namespace {

Result<KeyedTexts> ReadTexts(const Database& db, const std::string& sql) {
  TW_ASSIGN_OR_RETURN(auto query, Statement::Prepare(db, sql));
  KeyedTexts texts;
  while (true) {
    TW_ASSIGN_OR_RETURN(auto row, query.Step());
    if (!row) return texts;
    texts.emplace_back(query.Text(0), query.Text(1));
  }
}

}  // namespace

std::string TextKeySql(const std::string& column) {
  return "((" + column + " >= 'schedule/' AND " + column + " < 'schedule0') OR (" + column +
         " >= 'open/' AND " + column + " < 'open0'))";
}

Result<KeyedTexts> ScheduleTextsOf(const Store& store) {
  return ReadTexts(Store::DatabaseOf(store),
                   "SELECT key, value FROM fact WHERE " + TextKeySql("key") + " ORDER BY key");
}

void ForEachSchedule(const KeyedTexts& texts, const std::string& source,
                     const std::function<Status(ScheduleText)>& add,
                     const std::function<void(const std::string& why)>& skipped) {
  for (const auto& [key, text] : texts) {
    if (IsOpenTaskKey(key)) continue;
    auto parsed = ParseScheduleText(text, source);
    const Status added = !parsed.ok() ? parsed.status()
                         : !AcceptScheduleKey(key, *parsed)
                             ? InvalidArgument("the text of " + key + " is another one's")
                             : add(*std::move(parsed));
    if (!added.ok() && skipped) skipped(added.message());
  }
}

void AddOpenTasks(const KeyedTexts& texts, const std::string& source, TemplateRegistry& templates,
                  const std::function<void(const std::string& why)>& skipped) {
  for (const auto& [key, text] : texts) {
    if (!IsOpenTaskKey(key)) continue;
    const Status added = AddOpenTaskText(templates, key, text, source);
    if (!added.ok() && skipped) skipped(added.message());
  }
}

Status StoreScheduleTexts(Store& store, const TemplateRegistry& templates) {
  for (const TemplateEntry& entry : templates.all()) {
    const std::string* text = templates.TextOf(entry.key);
    if (text == nullptr) continue;
    TW_ASSIGN_OR_RETURN(auto known, store.Fact(entry.key));
    if (known.has_value()) continue;
    TW_RETURN_IF_ERROR(store.SetFact(entry.key, *text));
  }
  return {};
}

Status CopyScheduleTexts(const Database& db, const std::string& source) {
  return db.Execute(("INSERT OR IGNORE INTO main.fact (key, value) SELECT key, value FROM " +
                     source +
                     ".fact WHERE key IN (SELECT DISTINCT template FROM main.trial WHERE " +
                     TextKeySql("template") + ")")
                        .c_str());
}

Status CheckScheduleTexts(const Database& db) {
  TW_ASSIGN_OR_RETURN(auto facts, ReadTexts(db, "SELECT key, value FROM fact"));
  TW_ASSIGN_OR_RETURN(auto used, ReadTexts(db, "SELECT DISTINCT template, '' FROM trial WHERE " +
                                                   TextKeySql("template")));
  std::set<std::string> needed;
  for (const auto& [key, empty] : used) needed.insert(key);
  for (const auto& [key, text] : facts) {
    if (needed.erase(key) == 0) return Corrupt("its table 'fact' holds what no package holds");
    if (IsOpenTaskKey(key)) {
      TW_ASSIGN_OR_RETURN(const auto task, ParseOpenTask(text, "its open task"));
      if (task.key == key) continue;
      return Corrupt("the text of its open task " + key + " is that of another one");
    }
    auto parsed = ParseScheduleText(text, "its schedule");
    if (!parsed.ok()) return Corrupt(parsed.status().message());
    if (!AcceptScheduleKey(key, *parsed) || parsed->text != text) {
      return Corrupt("the text of its schedule " + key + " is that of another one");
    }
  }
  if (needed.empty()) return {};
  return Corrupt("it has no text of the schedule " + *needed.begin() + ", which its trials name");
}

}  // namespace tilewright::records
