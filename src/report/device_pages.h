#pragma once

#include <vector>

#include "src/report/document.h"
#include "src/space/trial.h"
#include "src/templates/registry.h"

namespace tilewright::report {

/// Fills the device-specific parts of a task's page, from candidates that can still be lowered.
/// VTA: timeline of the winner's engines by the target's cycle model, its bytes by memory, and
/// cycles and bytes of many trials; the simulator computes both, whatever the metric of the job.
/// GPU: resources that the winner and others use of a multiprocessor (cost_model/gpu_features.h).
/// fastest: verified trials, the winner first. spread: of the whole search (TaskTrials::spread).
void FillDevicePages(const TemplateRegistry& templates, const std::vector<Trial>& fastest,
                     const std::vector<Trial>& spread, TaskPage& page);

}  // namespace tilewright::report
