#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/graph/quantize/passes.h"
#include "src/optimize/bound.h"
#include "src/optimize/network_formats.h"
#include "src/optimize/split.h"
#include "src/session/notes.h"
#include "src/session/session.h"

namespace tilewright::optimize {

struct SearchSettings {
  Bound bound;
  double budget_seconds = 600;  ///< no further combination is tried afterwards
  int reference_threads = 2;    ///< of the reference evaluator
  int max_combinations = 6;     ///< that are built and measured, besides the uniform ones
  std::string store;            ///< record store that keeps the steps; empty: none
  session::NoteSink note = session::IgnoreNote;
};

/// A site with what was found about it, by the positions of Site::formats.
struct SiteReport {
  Site site;
  Format chosen = Format::kFloat32;
  std::vector<double> seconds;  ///< in a library in which all sites have the format
  std::vector<double> noise;    ///< relative noise of the outputs if only this site has the format
  std::string why;
};

/// A combination of formats whose library was built and run.
struct Combination {
  Formats formats;
  double predicted_ratio = 1, predicted_noise = 0;
  double ratio = 1, spread = 0;  ///< time relative to the float32 library, of the latest race
  OutputError search;            ///< on the search part
  std::optional<OutputError> held_out;
  bool on_front = false;
};

struct SearchReport {
  DataSplit split;
  Bound bound;
  std::string calibrate_mode;
  std::vector<SiteReport> sites;
  /// Measured combinations by time; the float32 library is one of them.
  std::vector<Combination> combinations;
  std::vector<std::pair<double, double>> predicted_front;  ///< time ratio, relative noise
  std::size_t chosen = 0;                                  ///< position in `combinations`
  double float32_seconds = 0, seconds = 0;                 ///< of the last race
  std::string reason;                                      ///< of the choice
  std::size_t steps_found = 0;                             ///< that an earlier run had done
};

/// Searches the number format of each site of a network for the fastest library whose outputs keep
/// a bound on data that the search did not see, and writes that library.
///
/// request: of the float32 network (Session::Prepare), for a CPU. samples: all parts together.
/// Errors: those of SplitSamples, NetworkFormats and Compile; those of the record store.
Result<SearchReport> SearchFormats(session::CompileRequest request,
                                   std::vector<quantize::Sample> samples,
                                   const SearchSettings& settings, const std::string& library_path,
                                   CompiledModel& compiled);

}  // namespace tilewright::optimize
