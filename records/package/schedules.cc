#include "records/package/schedules.h"

#include <set>

#include "records/sqlite.h"
#include "src/templates/registry.h"
#include "src/templates/text/schedule_text.h"

namespace tilewright::records {
namespace {

using KeyedTexts = std::vector<std::pair<std::string, std::string>>;

Result<KeyedTexts> ReadTexts(const Database& db, const char* sql) {
  TW_ASSIGN_OR_RETURN(auto query, Statement::Prepare(db, sql));
  KeyedTexts texts;
  while (true) {
    TW_ASSIGN_OR_RETURN(auto row, query.Step());
    if (!row) return texts;
    texts.emplace_back(query.Text(0), query.Text(1));
  }
}

}  // namespace

Result<KeyedTexts> ScheduleTextsOf(const Store& store) {
  return ReadTexts(Store::DatabaseOf(store),
                   "SELECT key, value FROM fact WHERE key >= 'schedule/' AND key < 'schedule0'"
                   " ORDER BY key");
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
                     ".fact WHERE key IN (SELECT DISTINCT template FROM main.trial"
                     " WHERE template >= 'schedule/' AND template < 'schedule0')")
                        .c_str());
}

Status CheckScheduleTexts(const Database& db) {
  TW_ASSIGN_OR_RETURN(auto facts, ReadTexts(db, "SELECT key, value FROM fact"));
  TW_ASSIGN_OR_RETURN(
      auto used, ReadTexts(db,
                           "SELECT DISTINCT template, '' FROM trial WHERE template >= 'schedule/'"
                           " AND template < 'schedule0'"));
  std::set<std::string> needed;
  for (const auto& [key, empty] : used) needed.insert(key);
  for (const auto& [key, text] : facts) {
    if (needed.erase(key) == 0) return Corrupt("its table 'fact' holds what no package holds");
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
