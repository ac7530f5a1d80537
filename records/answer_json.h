#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "records/lookup.h"

namespace tilewright::records {

/// An answer as one element of what `tilewright query --json` lists, and as tw_answer_json gives
/// it.
///
/// workload: null for a task of AutoTVM's that we have no operator for. asked: its key, or the
/// tuple that was asked. target: as text. Text of a store that is no UTF-8 is kept: see DumpJson.
nlohmann::ordered_json AnswerJson(const CatalogAnswer& answer, const Workload* workload,
                                  const std::string& asked, const std::string& target);

}  // namespace tilewright::records
