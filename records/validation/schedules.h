#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "records/store.h"
#include "src/templates/text/schedule_text.h"

namespace tilewright::records {

/// Template keys and canonical texts, by key.
using KeyedTexts = std::vector<std::pair<std::string, std::string>>;

/// Returns an SQL condition for the keys of templates that are texts: schedules and open tasks.
std::string TextKeySql(const std::string& column);

/// Returns the text schedules (docs/schedules.md) and open tasks (docs/howto-open.md) that a store
/// keeps for its records as facts. A text may not match its key: see ForEachSchedule and
/// AddOpenTasks.
/// Errors: those of reading.
Result<KeyedTexts> ScheduleTextsOf(const Store& store);

/// Calls `add` for each text that is valid and matches its key. Other texts, and those that `add`
/// rejects, serve no record: `skipped`, if it is given, gets the reasons. source: for messages.
void ForEachSchedule(const KeyedTexts& texts, const std::string& source,
                     const std::function<Status(ScheduleText)>& add,
                     const std::function<void(const std::string& why)>& skipped = nullptr);

/// Adds the open tasks among the texts. Other texts than those of their keys serve no record:
/// `skipped`, if it is given, gets the reasons.
void AddOpenTasks(const KeyedTexts& texts, const std::string& source, TemplateRegistry& templates,
                  const std::function<void(const std::string& why)>& skipped = nullptr);

/// Stores the registry's texts for future records.
/// Errors: those of writing.
Status StoreScheduleTexts(Store& store, const TemplateRegistry& templates);

/// Copies the texts that trials of the main store refer to from an attached store.
/// Errors: those of writing.
Status CopyScheduleTexts(const Database& db, const std::string& source);

/// Checks that a package's database has exactly the texts that its trials refer to, each
/// with the matching key, and no other facts.
/// Errors: kCorrupt with the reason.
Status CheckScheduleTexts(const Database& db);

}  // namespace tilewright::records
