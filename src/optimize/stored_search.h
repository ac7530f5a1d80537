#pragma once

#include <optional>
#include <string>
#include <vector>

#include "records/store.h"
#include "src/base/status.h"
#include "src/optimize/front.h"
#include "src/optimize/search_report.h"
#include "src/session/session.h"

namespace tilewright::optimize {

/// Returns the result of the latest complete run of a job; none if it has none, or is no job of
/// this module. Errors: those of the store; kCorrupt.
Result<std::optional<SearchReport>> StoredResult(const records::Store& store,
                                                 const records::Job& job);

/// Combination that a preference chooses from the result of an earlier search.
struct StoredChoice {
  std::string store, job;
  SearchReport report;
  std::size_t chosen = 0;  ///< position in report.combinations
  int other_jobs = 0;      ///< further jobs of this network, on other samples
  Graph graph;             ///< of the chosen combination, to be compiled
  FrontPreference preference;

  const Combination& combination() const { return report.combinations[chosen]; }
  /// Returns formats, time and error of the choice as one line.
  std::string ToString() const;
};

/// Chooses number formats from the stored search of the request's network, target and device that
/// completed a run last. Measures nothing. Takes the request's graph.
///
/// stores: paths, searched in order. preference: as for ParseFrontPreference.
/// Errors: kNotFound if there is no search, no combination keeps the preference, or the record
/// sources now choose other kernels than those that were measured; kInvalidArgument for another
/// preference; kCorrupt.
Result<StoredChoice> ChooseStored(session::CompileRequest& request,
                                  const std::vector<std::string>& stores,
                                  std::string_view preference);

}  // namespace tilewright::optimize
