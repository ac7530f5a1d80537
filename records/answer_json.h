#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "records/lookup.h"

namespace tilewright::records {

/// Converts a lookup result to one element of the list of `tilewright query --json`; tw_answer_json
/// returns the same object.
///
/// workload: null for an AutoTVM task without an operator in Tilewright. asked: the workload key,
/// or the requested tuple. target: canonical text. Text from a store is kept even if it is not
/// UTF-8: see DumpJson.
nlohmann::ordered_json AnswerJson(const CatalogAnswer& answer, const Workload* workload,
                                  const std::string& asked, const std::string& target);

}  // namespace tilewright::records
