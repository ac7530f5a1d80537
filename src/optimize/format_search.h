#pragma once

#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/graph/quantize/passes.h"
#include "src/optimize/bound.h"
#include "src/optimize/score.h"
#include "src/optimize/search_report.h"
#include "src/session/notes.h"
#include "src/session/session.h"

namespace tilewright::optimize {

struct SearchSettings {
  Bound bound;
  ScoreProgram score;           ///< given if and only if the bound is one of the score
  double budget_seconds = 600;  ///< no further combination is tried afterwards
  int reference_threads = 2;    ///< of the reference evaluator
  int max_combinations = 6;     ///< that are built and measured, besides the uniform ones
  /// Seconds of measuring: of the times of sites, of a combination, of one in the last race.
  double times_seconds = 3, quick_seconds = 0.5, race_seconds = 1.5;
  std::string store;  ///< record store that keeps the steps; empty: none
  session::NoteSink note = session::IgnoreNote;
};

/// Searches the number format of each site of a network for the fastest library whose outputs keep
/// a bound on data that the search did not see, and writes that library.
///
/// request: of the float32 network (Session::Prepare), for a CPU. samples: all parts together.
/// Errors: those of SplitSamples, NetworkFormats and Compile; those of the record store and of
/// RunScore; kInvalidArgument for a score without a program, a program without a bound on its
/// score, or a score of the float32 library below the bound.
Result<SearchReport> SearchFormats(session::CompileRequest request,
                                   std::vector<quantize::Sample> samples,
                                   const SearchSettings& settings, const std::string& library_path,
                                   CompiledModel& compiled);

}  // namespace tilewright::optimize
