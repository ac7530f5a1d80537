#pragma once

#include <string>
#include <string_view>

#include "search/report.h"
#include "src/tensor/workload.h"

// Names, times and values as tables show them.

namespace tilewright::session {

/// Short name of a workload for tables: "conv2d 64->128 3x3 s2 56x56".
std::string ShortName(const Workload& workload);
/// "12.3 ms", "45.6 us".
std::string ShortSeconds(double seconds);
/// A value of a metric: seconds as above, "455.3 kcycles", "1.234 MB"; "-" if there is none.
std::string ShortValue(std::string_view metric, double value);
/// "1h02m", "3m05s", "12s".
std::string ShortDuration(double seconds);

/// Title of the sum over the tasks of a job.
std::string AllTasksText(const search::NetworkTimes& times);
/// Share of a roofline: "61.5%"; "-" where either is not known.
std::string RooflineShareText(double bound, double value);

}  // namespace tilewright::session
