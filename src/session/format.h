#pragma once

#include <string>
#include <string_view>

#include "search/report.h"
#include "src/tensor/workload.h"

// Names, times and values for tables.

namespace tilewright::session {

/// Returns a short name of a workload for tables: "conv2d 64->128 3x3 s2 56x56".
std::string ShortName(const Workload& workload);
/// Formats a time: "12.3 ms", "45.6 µs".
std::string ShortSeconds(double seconds);
/// Formats a value of a metric: seconds as above, "455.3 kcycles", "1.234 MB"; "-" for no value.
std::string ShortValue(std::string_view metric, double value);
/// Formats a duration: "1h02m", "3m05s", "12s".
std::string ShortDuration(double seconds);

/// Returns the title of the sum over the tasks of a job.
std::string AllTasksText(const search::NetworkTimes& times);
/// Formats the share of a roofline: "61.5%"; "-" if either value is unknown.
std::string RooflineShareText(double bound, double value);

}  // namespace tilewright::session
