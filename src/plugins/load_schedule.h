#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "records/store.h"
#include "src/base/status.h"
#include "src/plugins/registries.h"

namespace tilewright::plugins {

/// Adds the template of a schedule text, for workers too. name: name of the text in messages.
/// Errors: kInvalidArgument with name, line and column.
Status AddSchedule(std::string_view text, const std::string& name, Registries& registries);

/// Adds the schedule texts of a store, so that its records can be served. A text that does not
/// match its key is skipped; left_out receives the reason. An unreadable store adds nothing.
void AddSchedulesOf(const Result<records::Store>& store, Registries& registries,
                    const std::function<void(const std::string&)>& left_out);

}  // namespace tilewright::plugins
