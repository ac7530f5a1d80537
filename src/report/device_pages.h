#pragma once

#include <vector>

#include "src/report/document.h"
#include "src/space/trial.h"
#include "src/templates/registry.h"

namespace tilewright::report {

/// What only some devices have, of a task whose candidates can be made today: for a VTA the
/// timeline of the winner's engines by the target's cycle model, its bytes by memory, and cycles
/// and bytes of many trials, of which the simulator tells both whatever was tuned for; for a GPU
/// what the winner and others ask of a multiprocessor (cost_model/gpu_features.h).
/// fastest: verified trials, the winner first. spread: of the whole search (TaskTrials::spread).
void FillDevicePages(const TemplateRegistry& templates, const std::vector<Trial>& fastest,
                     const std::vector<Trial>& spread, TaskPage& page);

}  // namespace tilewright::report
