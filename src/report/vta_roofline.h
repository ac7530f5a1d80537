#pragma once

#include "src/report/document.h"
#include "src/tensor/workload.h"

namespace tilewright::report {

/// Peaks and bound of a task on a simulated VTA: one tile product in each cycle, or one ALU
/// operation for each tile of the result, and the bytes that a load moves in one. Operations and
/// bytes are set. Where trials are compared by something else, Roofline::peaks_of says so.
void FillVtaRoofline(const Task& task, Roofline& roofline);

}  // namespace tilewright::report
