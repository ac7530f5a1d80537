#pragma once

#include "src/report/document.h"
#include "src/tensor/workload.h"

namespace tilewright::report {

/// Fills in peaks and bound of a task on a simulated VTA. Peaks: one tile product, or one ALU
/// operation for each tile of the result, per cycle, and the bytes that a load moves per cycle.
/// Requires operations and bytes. If trials are compared by another metric, Roofline::peaks_of
/// states so.
void FillVtaRoofline(const Task& task, Roofline& roofline);

}  // namespace tilewright::report
