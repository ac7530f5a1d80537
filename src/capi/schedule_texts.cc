#include "src/capi/schedule_texts.h"

#include <algorithm>
#include <utility>

#include "records/store.h"
#include "src/templates/text/text_template.h"

namespace tilewright::capi {

Result<std::optional<TemplateRegistry>> ScheduleTexts::AddedTo(
    const TemplateRegistry& templates, const std::vector<records::RecordSource*>& sources,
    const records::LookupRequest& request, std::uint64_t generation) {
  const std::lock_guard lock(mutex_);
  if (generation != generation_) known_.clear();
  generation_ = generation;
  known_.resize(std::max(known_.size(), sources.size()));
  std::optional<TemplateRegistry> all;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (!sources[i]->MayServe(request)) continue;
    if (!known_[i].has_value()) {
      const auto read = sources[i]->With([&](const records::Store& store) -> Status {
        Known known;
        TW_ASSIGN_OR_RETURN(known.texts, records::ScheduleTextsOf(store));
        records::AddOpenTasks(known.texts, sources[i]->name(), known.tasks);
        known_[i] = std::move(known);
        return {};
      });
      TW_RETURN_IF_ERROR(read);
      if (!known_[i].has_value()) continue;  // it cannot be opened at present
    }
    // If two texts share an older name, the name refers to the first one, and records of the other
    // one are skipped.
    records::ForEachSchedule(known_[i]->texts, sources[i]->name(), [&](ScheduleText schedule) {
      if (!all.has_value()) all = templates;
      return AddScheduleText(*all, std::move(schedule));
    });
    // Most sources have no open tasks.
    if (!known_[i]->tasks.all().empty()) {
      if (!all.has_value()) all = templates;
      all->AddTextsOf(known_[i]->tasks);
    }
  }
  return all;
}

}  // namespace tilewright::capi
