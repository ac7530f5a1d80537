#include "src/plugins/load_schedule.h"

#include <algorithm>
#include <utility>

#include "records/validation/schedules.h"
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
  records::ForEachSchedule(
      *texts, store->path(),
      [&](ScheduleText schedule) { return AddParsed(std::move(schedule), registries); }, left_out);
  records::AddOpenTasks(*texts, store->path(), registries.templates, left_out);
}

}  // namespace tilewright::plugins
