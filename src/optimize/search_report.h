#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/base/status.h"
#include "src/graph/quantize/passes.h"
#include "src/optimize/bound.h"
#include "src/optimize/network_formats.h"
#include "src/optimize/split.h"

namespace tilewright::optimize {

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
  std::string kernels;  ///< identity of its kernels and of those of float32 (Candidates::TagOf)
  double predicted_ratio = 1, predicted_noise = 0;
  double ratio = 1, spread = 0;  ///< time relative to the float32 library, of the latest race
  OutputError search;            ///< on the search part
  std::optional<OutputError> held_out;  ///< on the held-out part
  std::string refused;                  ///< why the user's program gave no score; empty if it did
  bool on_front = false;
};

/// Error of the int8 network with one calibration.
struct CalibrationError {
  Calibration calibration;
  double noise = 0;  ///< relative, of the outputs
};

/// Result of a search.
struct SearchReport {
  std::string network;  ///< name of the graph
  DataSplit split;
  Bound bound;
  std::string score;  ///< words of the user's program; empty: none
  /// Tried calibrations of int8; empty if no site can be int8.
  std::vector<CalibrationError> calibrations;
  Calibration calibration;    ///< the chosen one
  quantize::RangeMap ranges;  ///< that the int8 sites of the combinations have with it
  std::vector<SiteReport> sites;
  /// Measured combinations by time; the float32 library is one of them.
  std::vector<Combination> combinations;
  std::vector<std::pair<double, double>> predicted_front;  ///< time ratio, relative noise
  std::size_t chosen = 0;                                  ///< position in `combinations`
  double float32_seconds = 0, seconds = 0;                 ///< of the last race
  std::string reason;                                      ///< of the choice
  std::size_t steps_found = 0;                             ///< that an earlier run had done

  /// Returns false if no site can be int8.
  bool has_int8() const { return !calibrations.empty(); }
};

/// Returns the report as it is stored, without steps_found.
nlohmann::ordered_json StoredReport(const SearchReport& report);
/// Parses a stored report, which may come from anybody.
/// Errors: kCorrupt naming the member.
Result<SearchReport> ParseStoredReport(std::string_view text);

}  // namespace tilewright::optimize
