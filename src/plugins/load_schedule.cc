#include "src/plugins/load_schedule.h"

#include <algorithm>
#include <utility>

#include "records/package/schedules.h"
#include "src/templates/text/text_template.h"

namespace tilewright::plugins {
namespace {

/// Adds a parsed schedule to the registries and to the texts that workers receive.
Status AddParsed(ScheduleText schedule, Registries& registries) {
  if (std::ranges::count(registries.texts, schedule.text) == 0) {
    registries.texts.push_back(schedule.text);
  }
  return AddScheduleText(registries.templates, std::move(schedule));
}

}  // namespace

Status AddSchedule(std::string_view text, const std::string& name, Registries& registries) {
  TW_ASSIGN_OR_RETURN(auto parsed, ParseScheduleText(text, name));
  return AddParsed(std::move(parsed), registries);
}

void AddSchedulesOf(const Result<records::Store>& store, Registries& registries,
                    const std::function<void(const std::string&)>& left_out) {
  if (!store.ok()) return;
  const auto texts = records::ScheduleTextsOf(*store);
  if (!texts.ok()) return;
  for (const auto& [key, text] : *texts) {
    auto parsed = ParseScheduleText(text, store->path());
    const Status added = !parsed.ok() ? parsed.status()
                         : !AcceptScheduleKey(key, *parsed)
                             ? InvalidArgument("the text of " + key + " is another one's")
                             : AddParsed(*std::move(parsed), registries);
    if (!added.ok()) left_out(added.message());
  }
}

}  // namespace tilewright::plugins
