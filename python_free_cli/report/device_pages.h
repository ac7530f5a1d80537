#pragma once

#include <vector>

#include "python_free_cli/report/document.h"
#include "src/space/trial.h"
#include "src/templates/registry.h"

namespace tilewright::report {

/// What only some devices have, of a task whose candidates can be made today: for a VTA the
/// timeline of the winner's engines by the target's cycle model, its bytes by memory, and cycles
/// and bytes of the fastest trials, of which the simulator tells both whatever was tuned for; for a
/// GPU what the winner asks of a multiprocessor (cost_model/gpu_features.h).
/// fastest: verified trials, the winner first. trials: of the task.
void FillDevicePages(const TemplateRegistry& templates, const std::vector<Trial>& fastest,
                     TaskPage& page);

}  // namespace tilewright::report
